// Workers: started, kept, shared out, and every way to die.
#include "jit/client/worker_pool.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <sstream>

#include "base/interrupt.h"
#include "tests/unit/base/forked_child.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/jit/client/pool_fixture.h"

namespace tarsia::jit {
namespace {

TEST(WorkerPool, compiles_and_keeps_the_worker) {
  WorkerPool pool(settings());
  EXPECT_EQ(pool.started(), 0u);
  EXPECT_EQ(compile(pool, "compile a"),
            "\x7f"
            "ELF op compile a");
  EXPECT_EQ(compile(pool, "compile b"),
            "\x7f"
            "ELF op compile b");
  EXPECT_EQ(pool.started(), 1u);
}

TEST(WorkerPool, failures_are_results) {
  WorkerPool pool(settings());
  MapParts parts;
  const CompileResult result = pool.compile(request("fail"), parts);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.diagnostics.at(0).message, "no");
  EXPECT_EQ(compile(pool, "compile"),
            "\x7f"
            "ELF op compile");
  EXPECT_EQ(pool.started(), 1u);
}

TEST(WorkerPool, parts_go_both_ways) {
  WorkerPool pool(settings());
  MapParts parts;
  EXPECT_EQ(pool.compile(request("parts"), parts).module,
            "\x7f"
            "ELF parts are right");
  EXPECT_EQ(parts.map.size(), 6u);
}

TEST(WorkerPool, a_time_limit_ends_the_worker_and_the_next_compile_gets_another) {
  WorkerPool pool(settings());
  compile(pool, "compile");
  const pid_t worker = pool.idle_pids().at(0);
  const std::string message = message_of<CompileTimeout>([&] { compile(pool, "spin", 300ms); });
  EXPECT_NE(message.find("0.3 s"), std::string::npos) << message;
  EXPECT_NE(::kill(worker, 0), 0) << "the worker goes on";
  EXPECT_EQ(compile(pool, "compile"),
            "\x7f"
            "ELF op compile");
  EXPECT_EQ(pool.started(), 2u);
}

TEST(WorkerPool, a_crash_is_told_with_its_signal_and_last_words) {
  WorkerPool pool(settings());
  EXPECT_NE(message_of<CompilerCrashed>([&] { compile(pool, "crash"); }).find("signal 11"),
            std::string::npos);
  const std::string words = message_of<CompilerCrashed>([&] { compile(pool, "abort"); });
  EXPECT_NE(words.find("signal 6"), std::string::npos) << words;
  EXPECT_NE(words.find("Assertion failed"), std::string::npos) << words;
  EXPECT_NE(message_of<CompilerCrashed>([&] { compile(pool, "exit 3"); }).find("code 3"), std::string::npos);
  EXPECT_NE(message_of<CompilerCrashed>([&] { compile(pool, "exit 0"); }).find("left"), std::string::npos);
  EXPECT_EQ(compile(pool, "compile"),
            "\x7f"
            "ELF op compile");
}

TEST(WorkerPool, a_worker_that_is_not_usable_any_more_answers_and_is_replaced) {
  WorkerPool pool(settings(1));
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(compile(pool, "spoil"),
              "\x7f"
              "ELF op spoil");
    EXPECT_EQ(compile(pool, "compile a"),
              "\x7f"
              "ELF op compile a");
  }
  EXPECT_EQ(pool.started(), 4u);
}

TEST(WorkerPool, a_worker_that_writes_much_is_not_blocked_and_its_tail_is_kept) {
  WorkerPool pool(settings());
  const std::string words = message_of<CompilerCrashed>([&] { compile(pool, "words"); });
  EXPECT_NE(words.find("line 199999 of many"), std::string::npos);
  EXPECT_LT(words.size(), 20'000u);
}

TEST(WorkerPool, a_killed_worker_is_told) {
  const TemporaryDir dir;
  ::setenv("TEST_WORKER_LOG", (dir / "log").c_str(), 1);
  WorkerPool pool(settings());
  std::thread killer([&] {
    wait_until([&] { return !workers_at(dir / "log", "spin").empty(); });
    ::kill(workers_at(dir / "log", "spin").at(0), SIGKILL);
  });
  EXPECT_NE(message_of<CompilerCrashed>([&] { compile(pool, "spin"); }).find("signal 9"), std::string::npos);
  killer.join();
  ::unsetenv("TEST_WORKER_LOG");
  EXPECT_EQ(pool.started(), 1u);
}

TEST(WorkerPool, memory_has_a_limit) {
  if (compiler_memory_limit() == 0) GTEST_SKIP() << "no memory limit under sanitizers";
  PoolSettings small = settings();
  small.program = [] {
    WorkerProgram program = stand_in_worker();
    program.memory_bytes = std::uint64_t{512} << 20;
    return program;
  };
  WorkerPool pool(std::move(small));
  EXPECT_NE(message_of<ResourceLimit>([&] { compile(pool, "memory"); }).find("TARSIA_COMPILER_MEMORY_MB"),
            std::string::npos);
  message_of<ResourceLimit>([&] { compile(pool, "exit 87"); });
  EXPECT_EQ(compile(pool, "compile"),
            "\x7f"
            "ELF op compile");
}

TEST(WorkerPool, garbage_on_the_socket_is_a_crash) {
  WorkerPool pool(settings());
  message_of<CompilerCrashed>([&] { compile(pool, "garble"); });
  EXPECT_EQ(compile(pool, "compile"),
            "\x7f"
            "ELF op compile");
}

TEST(WorkerPool, workers_that_cannot_be_used_are_told) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer makes vfork a fork, which cannot tell why exec failed";
#endif
  PoolSettings absent = settings();
  absent.program = [] { return WorkerProgram{.path = "/nonexistent/tarsia-compiler"}; };
  WorkerPool none(std::move(absent));
  message_of<NotFound>([&] { compile(none, "compile"); });
  message_of<NotFound>([&] { compile(none, "compile"); });

  PoolSettings dying = settings();
  dying.program = [] { return stand_in_worker({"die"}); };
  WorkerPool dead(std::move(dying));
  EXPECT_NE(message_of<CompilerCrashed>([&] { compile(dead, "compile"); }).find("libfoo.so.1 is missing"),
            std::string::npos);

  PoolSettings strange = settings();
  strange.program = [] { return stand_in_worker({"stranger"}); };
  WorkerPool stranger(std::move(strange));
  message_of<Unsupported>([&] { compile(stranger, "compile"); });

  PoolSettings silent = settings();
  silent.program = [] { return stand_in_worker({"mute"}); };
  silent.start_timeout = 100ms;
  WorkerPool mute(std::move(silent));
  message_of<CompilerCrashed>([&] { compile(mute, "compile"); });
}

TEST(WorkerPool, runs_as_many_as_it_may_and_no_more) {
  const TemporaryDir dir;
  ::setenv("TEST_WORKER_LOG", (dir / "log").c_str(), 1);
  const Waiters waiters;
  WorkerPool pool(settings(3));
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      const InterruptScope scope(waiters.check());
      compile(pool, "until " + (dir / "gate"));
    });
  }
  // Three wait for their workers, and three for a worker.
  waiters.come(6);
  wait_until([&] { return workers_at(dir / "log", "until").size() >= 3; });
  EXPECT_EQ(workers_at(dir / "log", "until").size(), 3u);
  EXPECT_EQ(pool.started(), 3u);
  write_file(dir / "gate", "");
  for (std::thread& thread : threads) thread.join();
  ::unsetenv("TEST_WORKER_LOG");
  EXPECT_EQ(workers_at(dir / "log", "until").size(), 6u);
  EXPECT_EQ(pool.started(), 3u);
  EXPECT_EQ(pool.idle_pids().size(), 3u);
}

TEST(WorkerPool, a_worker_inherits_nothing_but_its_socket) {
  const TemporaryDir dir;
  write_file(dir / "secret", "");
  const int leak = ::open((dir / "secret").c_str(), O_RDONLY);  // without O_CLOEXEC
  WorkerPool pool(settings());
  const std::string text = compile(pool, "limits");
  ::close(leak);
  EXPECT_EQ(text.find("secret"), std::string::npos) << text;
  EXPECT_NE(text.find("fd 0 /dev/null\nfd 1 /dev/null\nfd 2 pipe:"), std::string::npos) << text;
  EXPECT_NE(text.find("fd 3 socket:"), std::string::npos) << text;
  EXPECT_NE(text.find("group 1"), std::string::npos) << text;
  EXPECT_NE(text.find("\n500\n"), std::string::npos) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool cores = line.rfind("Max core file size", 0) == 0;
    EXPECT_TRUE(!cores || line.find(" 0 ") != std::string::npos) << line;
  }
}

TEST(WorkerPool, workers_end_with_their_parent_in_the_middle_of_a_compile) {
  const TemporaryDir dir;
  const std::string log = dir / "log";
  const pid_t parent = ::fork();
  if (parent == 0) {
    ::setenv("TEST_WORKER_LOG", log.c_str(), 1);
    WorkerPool pool(settings());
    // The thread that starts the worker ends before the one that uses it.
    std::thread([&] { compile(pool, "compile"); }).join();
    compile(pool, "spin");
    ::_exit(0);
  }
  ASSERT_TRUE(wait_until([&] { return !workers_at(log, "spin").empty(); }));
  const ProcessEnd end(workers_at(log, "spin").at(0));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(end.comes());
}

TEST(WorkerPool, a_forked_child_has_workers_of_its_own) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer allows no threads in a forked child";
#endif
  const TemporaryDir dir;
  ::setenv("TEST_WORKER_LOG", (dir / "log").c_str(), 1);
  WorkerPool pool(settings());
  compile(pool, "compile");
  const pid_t parents = pool.idle_pids().at(0);
  const std::string text = "until " + (dir / "gate");
  std::thread busy([&] {
    EXPECT_EQ(compile(pool, text),
              "\x7f"
              "ELF op " +
                  text);
  });
  wait_until([&] { return !workers_at(dir / "log", "until").empty(); });
  const std::string said = in_forked_child([&] {
    // Both slots are free here, though one was taken when we were forked.
    bool good = pool.idle_pids().empty();
    std::thread other([&] {
      good = compile(pool, "compile x") ==
                 "\x7f"
                 "ELF op compile x" &&
             good;
    });
    const bool mine = compile(pool, "compile y") ==
                      "\x7f"
                      "ELF op compile y";
    other.join();
    for (pid_t pid : pool.idle_pids()) good = good && pid != parents;
    return good && mine ? "workers of its own" : "others";
  });
  EXPECT_EQ(said, "workers of its own");
  write_file(dir / "gate", "");
  busy.join();
  ::unsetenv("TEST_WORKER_LOG");
  EXPECT_EQ(compile(pool, "compile"),
            "\x7f"
            "ELF op compile");
  EXPECT_EQ(pool.started(), 1u);
}

TEST(WorkerPool, survives_a_program_that_ignores_its_children) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  {
    WorkerPool pool(settings());
    message_of<CompilerCrashed>([&] { compile(pool, "crash"); });
    EXPECT_EQ(compile(pool, "compile"),
              "\x7f"
              "ELF op compile");
  }
  std::signal(SIGCHLD, before);
}

TEST(WorkerPool, architectures_are_asked_from_the_worker) {
  ::setenv("TEST_WORKER_ARCHS", "sm_80 sm_90", 1);
  WorkerPool pool(settings());
  EXPECT_EQ(pool.archs(), (std::vector<std::string>{"sm_80", "sm_90"}));
  ::unsetenv("TEST_WORKER_ARCHS");
}

TEST(WorkerPool, leaves_no_process_and_no_descriptor) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  {
    WorkerPool pool(settings());
    compile(pool, "compile");
  }
  const auto before = descriptors();
  for (int i = 0; i < 3; ++i) {
    WorkerPool pool(settings());
    compile(pool, "compile");
    message_of<CompilerCrashed>([&] { compile(pool, "crash"); });
    message_of<CompileTimeout>([&] { compile(pool, "spin", 20ms); });
    compile(pool, "compile");
  }
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

}  // namespace
}  // namespace tarsia::jit
