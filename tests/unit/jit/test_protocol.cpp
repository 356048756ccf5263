// The protocol: every field survives the trip, frames arrive whole, lies are refused.
#include "jit/protocol.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <type_traits>

#include "base/error.h"
#include "jit/protocol_server.h"
#include "jit/service_protocol.h"
#include "tests/unit/base/changed.h"

namespace tarsia::jit {
namespace {

using namespace std::chrono_literals;

std::array<unsigned char, 32> digest(unsigned char first) {
  std::array<unsigned char, 32> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(first + 37 * i);
  return bytes;
}

CompileRequest full_request() {
  CompileRequest request;
  request.name = "näme";
  request.files = {{"a.cu", "text\n"}, {"sub/b.c", std::string("nul\0ff\xff", 7)}};
  request.headers = {{"h.h", ""}};
  request.cuda = true;
  request.options.functions = {"f", "ns::g"};
  request.options.defines = {{"A", std::nullopt}, {"B", ""}, {"C", "1"}};
  request.options.archs = {"sm_80", "sm_90"};
  request.cuda_parts = {{"/cuda/include"}, "/n.so", "/r.so", "id", 13};
  request.cuda_parts.libdevice = "/d.bc";
  request.cuda_parts.nvjitlink = "/l.so";
  request.cuda_parts.clang_identity = "both";
  request.host_cpu = "x86-64-v3";
  request.timeout_ms = 1234;
  request.complete_line = 3;
  request.complete_column = 14;
  return request;
}

/// All options have the values that were sent.
void expect_same(CompileOptions got, const CompileOptions& sent) {
  int rows = 0, compared = 0;
  for_each_option(sent, [&](const OptionRow& row, const auto& wanted) {
    ++rows;
    for_each_option(got, [&](const OptionRow& other, const auto& value) {
      if constexpr (std::is_same_v<decltype(value), decltype(wanted)>) {
        if (other.field != row.field) return;
        EXPECT_EQ(value, wanted) << row.field;
        ++compared;
      }
    });
  });
  EXPECT_EQ(compared, rows);
}

TEST(Protocol, request_survives) {
  const CompileRequest sent = full_request();
  const CompileRequest got = decode_request(encode(sent));
  EXPECT_EQ(got.name, sent.name);
  EXPECT_EQ(got.complete_line, 3);
  EXPECT_EQ(got.complete_column, 14);
  ASSERT_EQ(got.files.size(), 2u);
  EXPECT_EQ(got.files[1].name, "sub/b.c");
  EXPECT_EQ(got.files[1].text, sent.files[1].text);
  ASSERT_EQ(got.headers.size(), 1u);
  EXPECT_EQ(got.headers[0].name, "h.h");
  EXPECT_TRUE(got.cuda);
  expect_same(got.options, sent.options);
  EXPECT_EQ(got.cuda_parts.include_dirs, sent.cuda_parts.include_dirs);
  EXPECT_EQ(got.cuda_parts.nvrtc, "/n.so");
  EXPECT_EQ(got.cuda_parts.cudart, "/r.so");
  EXPECT_EQ(got.cuda_parts.nvrtc_identity, "id");
  EXPECT_EQ(got.cuda_parts.major, 13);
  EXPECT_EQ(got.cuda_parts.libdevice, "/d.bc");
  EXPECT_EQ(got.cuda_parts.nvjitlink, "/l.so");
  EXPECT_EQ(got.cuda_parts.clang_identity, "both");
  EXPECT_EQ(got.host_cpu, "x86-64-v3");
  EXPECT_EQ(got.timeout_ms, 1234u);
}

TEST(Protocol, each_option_survives_alone) {
  const CompileOptions defaults;
  int count = 0;
  for_each_option(defaults, [&](const OptionRow& row, const auto&) {
    CompileRequest sent;
    for_each_option(sent.options, [&](const OptionRow& other, auto& value) {
      if (other.field == row.field) value = changed(value);
    });
    SCOPED_TRACE(row.field);
    expect_same(decode_request(encode(sent)).options, sent.options);
    ++count;
  });
  EXPECT_GE(count, 15);
}

TEST(Protocol, result_survives_and_leaves_its_module_to_the_descriptor) {
  CompileResult sent;
  sent.ok = true;
  sent.stage = Stage::link;
  sent.diagnostics = {{"a.cu", 3, 4, Severity::warning, "not utf-8: \xff"}};
  sent.dependencies = {{"/x.h", digest(200), false, {1, 2, 3, -4, 5}}, {"/y.h", {}, true}};
  sent.module = "ELF";
  sent.missing_functions = {"nope"};
  sent.exportable_functions = {"f", "ns::g"};
  sent.cacheable = false;
  sent.timings = {{"host", 1.5}};
  const CompileResult got = decode_result(encode(sent));
  EXPECT_TRUE(got.ok);
  EXPECT_EQ(got.stage, Stage::link);
  ASSERT_EQ(got.diagnostics.size(), 1u);
  EXPECT_EQ(format(got.diagnostics[0]), format(sent.diagnostics[0]));
  ASSERT_EQ(got.dependencies.size(), 2u);
  EXPECT_EQ(got.dependencies[0].path, "/x.h");
  EXPECT_EQ(got.dependencies[0].content, digest(200));
  EXPECT_FALSE(got.dependencies[0].absent);
  EXPECT_EQ(got.dependencies[0].stamp, (FileStamp{1, 2, 3, -4, 5}));
  EXPECT_TRUE(got.dependencies[1].absent);
  EXPECT_EQ(got.module, "");
  EXPECT_EQ(got.missing_functions, sent.missing_functions);
  EXPECT_EQ(got.exportable_functions, sent.exportable_functions);
  EXPECT_FALSE(got.cacheable);
  EXPECT_EQ(got.timings, sent.timings);
}

TEST(Protocol, small_messages_survive) {
  const Hello hello = decode_hello(encode(Hello{k_protocol_version, "build", {{"clang", "22"}}}));
  EXPECT_EQ(hello.build_id, "build");
  EXPECT_EQ(hello.compilers.at("clang"), "22");
  const FindPart find = decode_find_part(encode(FindPart{PartKind::device, digest(1)}));
  EXPECT_EQ(find.kind, PartKind::device);
  EXPECT_EQ(find.key, digest(1));
  const KeepPart keep = decode_keep_part(encode(KeepPart{PartKind::host, digest(2)}));
  EXPECT_EQ(keep.kind, PartKind::host);
  EXPECT_EQ(keep.key, digest(2));
  const Part part = decode_part(encode(Part{true, 5'000'000'000, 7}));
  EXPECT_TRUE(part.found);
  EXPECT_EQ(part.offset, 5'000'000'000u);
  EXPECT_EQ(part.size, 7u);
  EXPECT_EQ(decode_strings(encode(std::vector<std::string>{"sm_90"})), std::vector<std::string>{"sm_90"});
  EXPECT_TRUE(decode_strings(encode(std::vector<std::string>{})).empty());
}

TEST(Protocol, a_payload_cut_anywhere_is_an_error) {
  const std::string payload = encode(full_request());
  for (std::size_t size = 0; size < payload.size(); ++size) {
    EXPECT_THROW(decode_request(payload.substr(0, size)), Error) << size;
  }
}

TEST(Protocol, a_payload_that_nests_without_end_is_an_error) {
  for (const char* brackets : {"\x91", "\x81\xa1x", "\xdc\x0\x1", "\xdf\x0\x0\x0\x1\x01"}) {
    const std::string_view one(brackets, brackets[0] == '\x91' ? 1 : brackets[0] == '\xdf' ? 6 : 3);
    std::string payload;
    for (int i = 0; i < 2'000'000; ++i) payload += one;
    EXPECT_THROW(decode_request(payload), Error);
    EXPECT_THROW(decode_result(payload), Error);
    EXPECT_THROW(decode_lease_request(payload), Error);
  }
}

TEST(Protocol, another_version_is_told_before_its_fields_are_read) {
  const std::string other = "\x81\xa8protocol\x63";  // {"protocol": 99}
  EXPECT_EQ(decode_hello(other).protocol, 99u);
}

class Pair : public ::testing::Test {
 protected:
  std::pair<UniqueFd, UniqueFd> ends = make_socket_pair();
  Channel near{std::move(ends.first)};
  Channel far{std::move(ends.second)};
};

TEST_F(Pair, large_frames_and_descriptors_arrive) {
  const std::string payload(40 << 20, 'x');
  const UniqueFd blob = make_memfd("blob", "content");
  std::thread sender([&] {
    const int fd = blob.get();
    EXPECT_EQ(near.send(MessageType::keep_part, payload, {&fd, 1}), Channel::Status::ok);
    EXPECT_EQ(near.send(MessageType::ping, {}), Channel::Status::ok);
  });
  Message message;
  EXPECT_EQ(far.receive(message), Channel::Status::ok);
  EXPECT_EQ(message.type, MessageType::keep_part);
  EXPECT_TRUE(message.payload == payload);
  ASSERT_EQ(message.descriptors.size(), 1u);
  EXPECT_EQ(read_descriptor(message.descriptors[0].get(), 100), "content");
  EXPECT_NE(::fcntl(message.descriptors[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(far.receive(message), Channel::Status::ok);
  EXPECT_EQ(message.type, MessageType::ping);
  EXPECT_TRUE(message.descriptors.empty());
  sender.join();
}

TEST_F(Pair, waiting_ends_at_the_deadline) {
  Message message;
  EXPECT_EQ(far.receive(message, Clock::now() + 30ms), Channel::Status::timed_out);
  // A peer that does not read: the socket's buffer fills, and the deadline holds for sending as well.
  EXPECT_EQ(near.send(MessageType::compile, std::string(16 << 20, 'x'), {}, Clock::now() + 30ms),
            Channel::Status::timed_out);
}

TEST_F(Pair, a_closed_end_is_told_without_a_signal) {
  far = Channel(UniqueFd());
  EXPECT_EQ(near.send(MessageType::ping, {}), Channel::Status::closed);
  Message message;
  EXPECT_EQ(near.receive(message), Channel::Status::closed);
}

TEST_F(Pair, a_frame_cut_short_is_an_end_and_no_message) {
  const char head[] = {100, 0, 0, 0, 9, 'x'};
  ASSERT_EQ(::write(near.fd(), head, sizeof head), static_cast<ssize_t>(sizeof head));
  near = Channel(UniqueFd());
  Message message;
  EXPECT_EQ(far.receive(message), Channel::Status::closed);
}

TEST_F(Pair, lengths_and_types_that_lie_are_refused) {
  const unsigned char huge[] = {0xff, 0xff, 0xff, 0xff, 9};
  ASSERT_EQ(::write(near.fd(), huge, sizeof huge), 5);
  Message message;
  EXPECT_THROW(far.receive(message), Error);
  std::tie(ends.first, ends.second) = make_socket_pair();
  const char unknown[] = {0, 0, 0, 0, 77};
  ASSERT_EQ(::write(ends.first.get(), unknown, sizeof unknown), 5);
  Channel other(std::move(ends.second));
  EXPECT_THROW(other.receive(message), Error);
  EXPECT_THROW(near.send(MessageType::ping, std::string(std::size_t{k_max_frame} + 1, 'x')), Error);
}

TEST_F(Pair, signals_lose_nothing) {
  static std::atomic<int> s_handled{0};
  struct sigaction action{}, before{};
  action.sa_handler = [](int) { ++s_handled; };  // without SA_RESTART
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  const pthread_t target = ::pthread_self();
  std::atomic<bool> stop{false};
  std::thread pest([&] {
    while (!stop) {
      const int handled = s_handled;
      ::pthread_kill(target, SIGUSR1);
      while (s_handled == handled) std::this_thread::yield();  // so that the other thread goes on between two
    }
  });
  const std::string payload(1 << 20, 'y');
  std::thread sender([&] {
    for (int i = 0; i < 50; ++i) near.send(MessageType::compile, payload);  // more than the socket holds
  });
  for (int i = 0; i < 50; ++i) {
    Message message;
    ASSERT_EQ(far.receive(message, Clock::now() + 10s), Channel::Status::ok);
    EXPECT_TRUE(message.payload == payload);
  }
  stop = true;
  pest.join();
  sender.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

struct EchoHandler final : Handler {
  CompileResult compile(const CompileRequest& request, PartStore& parts) override {
    if (request.name == "throw") throw Error("handler says no");
    // As the real one: host and device slices are compiled at the same time.
    std::vector<std::thread> threads;
    std::atomic<int> found{0};
    for (unsigned char t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 50; ++i) {
          if (parts.find(PartKind::host, digest(t)) == "part " + std::to_string(t)) ++found;
          parts.keep(PartKind::device, digest(t), "made " + std::to_string(t));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CompileResult result;
    result.ok = found == 200;
    result.module = "module of " + request.name;
    return result;
  }
  std::vector<std::string> archs() override { return {"sm_75"}; }
};

TEST_F(Pair, serve_answers_compiles_whose_threads_share_the_parts) {
  const pid_t worker = ::fork();
  if (worker == 0) {
    near = Channel(UniqueFd());
    EchoHandler handler;
    ::_exit(serve(UniqueFd(::dup(far.fd())), {.build_id = "b"}, handler));
  }
  far = Channel(UniqueFd());
  Message message;
  ASSERT_EQ(near.receive(message), Channel::Status::ok);
  EXPECT_EQ(decode_hello(message.payload).build_id, "b");

  const auto expect_started = [&] {
    ASSERT_EQ(near.receive(message), Channel::Status::ok);
    EXPECT_EQ(message.type, MessageType::started);
  };
  near.send(MessageType::query_archs, {});
  expect_started();
  ASSERT_EQ(near.receive(message), Channel::Status::ok);
  EXPECT_EQ(decode_strings(message.payload), std::vector<std::string>{"sm_75"});

  near.send(MessageType::compile, encode(CompileRequest{.name = "throw"}));
  expect_started();
  ASSERT_EQ(near.receive(message), Channel::Status::ok);
  CompileResult result = decode_result(message.payload);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.stage, Stage::worker);
  EXPECT_EQ(result.diagnostics.at(0).message, "handler says no");

  near.send(MessageType::compile, encode(CompileRequest{.name = "x"}));
  expect_started();
  int kept = 0;
  for (;;) {
    ASSERT_EQ(near.receive(message, Clock::now() + 20s), Channel::Status::ok);
    if (message.type == MessageType::result) break;
    if (message.type == MessageType::keep_part) {
      const KeepPart keep = decode_keep_part(message.payload);
      EXPECT_EQ(read_descriptor(message.descriptors.at(0).get(), 100), "made " + std::to_string(keep.key[0]));
      ++kept;
      continue;
    }
    const FindPart find = decode_find_part(message.payload);
    const std::string bytes = "..part " + std::to_string(find.key[0]);
    const UniqueFd blob = make_memfd("part", bytes);
    const int fd = blob.get();
    near.send(MessageType::part, encode(Part{true, 2, bytes.size() - 2}), {&fd, 1});
  }
  EXPECT_EQ(kept, 200);
  EXPECT_TRUE(decode_result(message.payload).ok);
  EXPECT_EQ(read_descriptor(message.descriptors.at(0).get(), 100), "module of x");

  near = Channel(UniqueFd());
  int state = -1;
  EXPECT_EQ(::waitpid(worker, &state, 0), worker);
  EXPECT_EQ(state, 0);
}

}  // namespace
}  // namespace tarsia::jit
