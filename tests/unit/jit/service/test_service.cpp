// A service and its clients: who gets which worker, and what happens when either goes.
#include "jit/service/service.h"
#include "jit/unix_address.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "jit/client/service_client.h"
#include "jit/service/figures.h"
#include "jit/service/listener.h"
#include "tests/unit/base/forked_child.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/jit/client/pool_fixture.h"

namespace tarsia::jit {
namespace {

using testing::HasSubstr;

struct ServiceTest : testing::Test {
  TemporaryDir dir;
  std::string socket = dir / "socket";
  int stop[2] = {-1, -1};
  std::unique_ptr<Service> service;
  std::thread thread;

  void SetUp() override { ASSERT_EQ(::pipe2(stop, O_CLOEXEC), 0); }
  void TearDown() override { finish(); }
  void start(ServiceSettings settings) {
    settings.socket = socket;
    if (!settings.program) settings.program = [] { return stand_in_worker(); };
    service = std::make_unique<Service>(std::move(settings));
    thread = std::thread([this] { service->run(stop[0]); });
  }
  void finish() {
    if (!thread.joinable()) return;
    EXPECT_EQ(::write(stop[1], "", 1), 1);
    thread.join();
    service.reset();
  }
  PoolSettings with_service(unsigned max_workers = 2) {
    PoolSettings all = settings(max_workers);
    all.program = [this] {
      WorkerProgram program = stand_in_worker();
      program.service = socket;
      return program;
    };
    return all;
  }
  std::unique_ptr<WorkerProcess> borrow() {
    return borrow_worker(socket, stand_in_worker(), request("compile"));
  }
  std::string metrics() {
    const UniqueFd peer = connect_only();
    EXPECT_EQ(write_all(peer.get(), "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), 0);
    std::string text;
    read_all(peer.get(), text, 1 << 20);
    return text;
  }
  UniqueFd connect_only() {
    const UnixAddress address(socket);
    UniqueFd peer(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(peer.get(), address.get(), UnixAddress::size()), 0);
    return peer;
  }
  bool says(const std::string& line) { return metrics().find(line) != std::string::npos; }
};

TEST_F(ServiceTest, pools_compile_with_its_workers_and_start_none) {
  start({.workers = 1});
  WorkerPool a(with_service()), b(with_service());
  for (WorkerPool* pool : {&a, &b, &a})
    EXPECT_EQ(compile(*pool, "compile x"),
              "\x7f"
              "ELF op compile x");
  EXPECT_EQ(a.started() + b.started(), 0u);
  wait_until([&] { return says("tarsia_service_leases_total 3\n"); });
  EXPECT_THAT(metrics(), HasSubstr("tarsia_service_workers_started_total 1\n"));
}

TEST_F(ServiceTest, its_socket_is_this_users_and_goes_with_it) {
  start({.workers = 1});
  struct stat status{};
  ASSERT_EQ(::stat(socket.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_THROW(Service({.socket = socket, .program = [] { return stand_in_worker(); }}), Error);
  finish();
  EXPECT_NE(::stat(socket.c_str(), &status), 0);
}

TEST_F(ServiceTest, a_socket_that_is_left_behind_is_replaced_and_a_file_is_not) {
  {
    const UnixAddress address(socket);
    const UniqueFd left(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(::bind(left.get(), address.get(), UnixAddress::size()), 0);
  }
  start({.workers = 1});
  EXPECT_TRUE(borrow());
  finish();
  std::ofstream(socket) << "a file";
  EXPECT_THROW(Service({.socket = socket, .program = [] { return stand_in_worker(); }}), Error);
  EXPECT_EQ(read_file(socket), "a file");
}

TEST_F(ServiceTest, a_crash_is_told_and_the_worker_replaced) {
  start({.workers = 1});
  WorkerPool pool(with_service());
  EXPECT_THAT(message_of<CompilerCrashed>([&] { compile(pool, "crash"); }), HasSubstr("signal 11"));
  EXPECT_EQ(compile(pool, "compile"),
            "\x7f"
            "ELF op compile");
  EXPECT_EQ(pool.started(), 0u);
  EXPECT_THAT(metrics(), HasSubstr("tarsia_service_crashed_total 1\n"));
}

TEST_F(ServiceTest, a_time_limit_ends_the_worker) {
  start({.workers = 1});
  WorkerPool pool(with_service());
  EXPECT_THROW(compile(pool, "spin", 100ms), CompileTimeout);
  EXPECT_EQ(compile(pool, "compile"),
            "\x7f"
            "ELF op compile");
  EXPECT_EQ(pool.started(), 0u);
}

TEST_F(ServiceTest, a_client_that_goes_loses_its_worker) {
  start({.workers = 1});
  pid_t its = -1;
  {
    const auto lent = borrow();
    ASSERT_TRUE(lent);
    its = lent->pid();
  }
  wait_until([&] { return ::kill(its, 0) != 0; });
  const auto next = borrow();
  ASSERT_TRUE(next);
  EXPECT_NE(next->pid(), its);
}

TEST_F(ServiceTest, a_worker_that_is_given_back_in_mid_exchange_is_lent_to_nobody) {
  start({.workers = 1});
  auto lent = borrow();
  ASSERT_TRUE(lent);
  const pid_t its = lent->pid();
  ASSERT_EQ(lent->channel().send(MessageType::compile, encode(request("compile"))), Channel::Status::ok);
  lent->give_back();
  const auto next = borrow();
  ASSERT_TRUE(next);
  EXPECT_NE(next->pid(), its);
}

TEST_F(ServiceTest, beyond_its_queue_it_is_busy_and_clients_start_their_own) {
  start({.workers = 1, .queue = 1, .queue_per_client = 1});
  const auto lent = borrow();
  ASSERT_TRUE(lent);
  std::unique_ptr<WorkerProcess> second;
  std::thread waiter([&] { second = borrow(); });
  wait_until([&] { return says("tarsia_service_waiting 1\n"); });
  EXPECT_FALSE(borrow());
  WorkerPool pool(with_service());
  EXPECT_EQ(compile(pool, "compile"),
            "\x7f"
            "ELF op compile");
  EXPECT_EQ(pool.started(), 1u);
  EXPECT_THAT(metrics(), HasSubstr("tarsia_service_busy_total 2\n"));
  lent->give_back();
  waiter.join();
  EXPECT_TRUE(second);
}

TEST_F(ServiceTest, one_process_has_no_more_than_its_share) {
  start({.workers = 2, .per_client = 1});
  const auto lent = borrow();
  ASSERT_TRUE(lent);
  std::unique_ptr<WorkerProcess> second;
  std::thread waiter([&] { second = borrow(); });
  wait_until([&] { return says("tarsia_service_waiting 1\n"); });
  EXPECT_THAT(metrics(), HasSubstr("tarsia_service_workers{state=\"idle\"} 1\n"));
  EXPECT_EQ(in_forked_child([&] { return borrow() ? "lent" : "none"; }), "lent");
  lent->give_back();
  waiter.join();
  EXPECT_TRUE(second);
}

TEST_F(ServiceTest, the_process_that_has_fewer_comes_first) {
  start({.workers = 2});
  auto a = borrow(), b = borrow();
  ASSERT_TRUE(a && b);
  std::unique_ptr<WorkerProcess> third;
  std::thread waiter([&] { third = borrow(); });
  wait_until([&] { return says("tarsia_service_waiting 1\n"); });
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    ::alarm(60);
    const auto its = borrow();
    const bool sent = ::write(told[1], its ? "y" : "n", 1) == 1;
    ::pause();
    ::_exit(sent ? 0 : 1);
  }
  wait_until([&] { return says("tarsia_service_waiting 2\n"); });
  a->give_back();
  char answer = 0;
  EXPECT_EQ(::read(told[0], &answer, 1), 1);  // it asked later, and has none
  EXPECT_EQ(answer, 'y');
  EXPECT_FALSE(third);
  b->give_back();
  waiter.join();
  EXPECT_TRUE(third);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  ::close(told[0]);
  ::close(told[1]);
}

TEST_F(ServiceTest, another_build_gets_none) {
  start({.workers = 1});
  WorkerProgram program = stand_in_worker();
  program.build_id = "another";
  EXPECT_FALSE(borrow_worker(socket, program, request("compile")));
}

TEST_F(ServiceTest, what_is_no_message_does_no_harm) {
  start({.workers = 1});
  for (const std::string& bytes : {std::string("\xff\xff\xff\xff\xff"), std::string("\1\0\0\0\x40x", 6),
                                   std::string("\0\0\0\0\x44", 5), std::string("GET ")}) {
    const UniqueFd peer = connect_only();
    ASSERT_EQ(write_all(peer.get(), bytes), 0);
  }
  const auto lent = borrow();
  EXPECT_TRUE(lent);
}

TEST_F(ServiceTest, when_it_ends_in_the_middle_of_a_compile_the_client_goes_on_by_itself) {
  start({.workers = 1});
  WorkerPool pool(with_service());
  std::string module;
  std::thread client([&] { module = compile(pool, "until " + dir / "go"); });
  wait_until([&] { return says("tarsia_service_workers{state=\"lent\"} 1\n"); });
  finish();
  std::ofstream(dir / "go") << "";
  client.join();
  EXPECT_THAT(module, HasSubstr("ELF"));
  EXPECT_EQ(pool.started(), 1u);
}

TEST_F(ServiceTest, a_lease_that_lasts_too_long_is_withdrawn_and_the_client_goes_on_by_itself) {
  start({.workers = 1, .longest_lease = 0s});
  WorkerPool pool(with_service());
  std::string module;
  std::thread client([&] { module = compile(pool, "until " + dir / "go"); });
  wait_until([&] { return pool.started() == 1; });
  std::ofstream(dir / "go") << "";
  client.join();
  EXPECT_THAT(module, HasSubstr("ELF"));
}

TEST_F(ServiceTest, a_stopped_process_keeps_a_worker_only_while_nobody_waits) {
  start({.workers = 1, .longest_stop = 0s});
  const pid_t stopped = ::fork();
  if (stopped == 0) {
    ::alarm(60);
    const auto its = borrow();
    ::raise(SIGSTOP);
    Message message;
    const auto status = its->channel().receive(message);
    ::_exit(status == Channel::Status::closed && its->bury().end == WorkerProcess::End::withdrawn ? 0 : 1);
  }
  int state = 0;
  ASSERT_EQ(::waitpid(stopped, &state, WUNTRACED), stopped);
  ASSERT_TRUE(WIFSTOPPED(state));
  EXPECT_TRUE(says("tarsia_service_workers{state=\"lent\"} 1\n"));
  EXPECT_TRUE(borrow());
  ::kill(stopped, SIGCONT);
  ASSERT_EQ(::waitpid(stopped, &state, 0), stopped);
  EXPECT_EQ(state, 0);
}

TEST_F(ServiceTest, a_forked_child_that_inherited_a_lease_does_not_keep_it) {
  start({.workers = 1});
  auto lent = borrow();
  ASSERT_TRUE(lent);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    for (;;) ::pause();
  }
  lent.reset();
  EXPECT_TRUE(borrow());
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0);  // it has the descriptors still
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(ServiceTest, the_end_of_a_process_ends_its_lease_whoever_has_its_descriptors) {
  start({.workers = 1});
  int told[2];
  ASSERT_EQ(::pipe2(told, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    const auto its = borrow();
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      ::alarm(60);
      for (;;) ::pause();
    }
    const bool sent = its && ::write(told[1], &grandchild, sizeof grandchild) == sizeof grandchild;
    ::kill(sent ? ::getpid() : 0, SIGKILL);
  }
  pid_t grandchild = 0;
  ASSERT_EQ(::read(told[0], &grandchild, sizeof grandchild), static_cast<ssize_t>(sizeof grandchild));
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(borrow());
  EXPECT_EQ(::kill(grandchild, SIGKILL), 0);
  ::close(told[0]);
  ::close(told[1]);
}

TEST_F(ServiceTest, a_connection_that_asks_for_nothing_is_let_go) {
  start({.workers = 1, .longest_silence = 1ms});
  const UniqueFd peer = connect_only();
  char byte;
  EXPECT_EQ(::read(peer.get(), &byte, 1), 0);
}

TEST_F(ServiceTest, of_many_that_want_one_path_one_has_it) {
  {
    const UnixAddress address(socket);
    const UniqueFd left(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(::bind(left.get(), address.get(), UnixAddress::size()), 0);
  }
  std::vector<std::unique_ptr<Listener>> have(8);
  std::vector<std::thread> threads;
  for (auto& one : have)
    threads.emplace_back([&] {
      try {
        one = std::make_unique<Listener>(socket);
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("already"));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::ranges::count_if(have, [](const auto& one) { return one != nullptr; }), 1);
}

TEST_F(ServiceTest, the_end_of_one_leaves_anothers_socket_in_its_place) {
  auto first = std::make_unique<Listener>(socket);
  ASSERT_EQ(::unlink(socket.c_str()), 0);
  const Listener second(socket);
  first.reset();
  EXPECT_TRUE(connect_only());
}

TEST_F(ServiceTest, where_no_socket_can_be_clients_start_their_own) {
  for (const std::string& path : {dir / std::string(200, 'x'), dir / "no/folder", dir.path()}) {
    socket = path;
    WorkerPool pool(with_service());
    EXPECT_THAT(compile(pool, "compile"), HasSubstr("ELF"));
    EXPECT_EQ(pool.started(), 1u);
    EXPECT_THROW(Listener{path}, Error);
  }
}

TEST_F(ServiceTest, without_a_service_clients_start_their_own) {
  WorkerPool pool(with_service());
  EXPECT_EQ(compile(pool, "compile"),
            "\x7f"
            "ELF op compile");
  EXPECT_EQ(pool.started(), 1u);
}

}  // namespace
}  // namespace tarsia::jit
