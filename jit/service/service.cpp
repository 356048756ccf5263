// The service's loop: connections, each with one request at most, and workers.
#include "jit/service/service.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <map>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "jit/protocol_server.h"
#include "jit/service/figures.h"
#include "jit/service/listener.h"
#include "jit/service/peer.h"
#include "jit/service_protocol.h"

namespace tarsia::jit {
namespace {

using namespace std::chrono_literals;

constexpr auto k_message_time = 200ms;  // a client that stops in the middle of a message is let go
constexpr auto k_answer_time =
    2s;  // of a worker that is asked whether it is well, on a machine with much to do
constexpr auto k_start_time = 20s;
constexpr auto k_start_again = 5s;               // after a worker could not be started
constexpr auto k_keep_warm = k_worker_idle / 2;  // by itself an idle worker leaves

constexpr auto k_look_again = 1s;         // at what nothing reports
constexpr auto k_no_descriptors = 100ms;  // then it is looked again whether a descriptor is free

constexpr std::size_t k_most_known = 10'000;  // processes whose last turn is known

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Worker {
  std::unique_ptr<WorkerProcess> process;
  bool lent = false;
  bool open = false;       ///< it has compiled without being confined
  bool words_end = false;  ///< nothing more will come on its standard error
  Clock::time_point used = Clock::now();
};

struct Connection {
  Channel channel;
  Peer peer;
  enum { quiet, waiting, served, over } state = quiet;
  LeaseRequest wanted{};
  std::uint64_t number = 0;  ///< the order of requests
  Clock::time_point since = Clock::now();
  Worker* worker = nullptr;
  pid_t pid() const { return peer.pid(); }
};

}  // namespace

class Service::Loop {
 public:
  explicit Loop(ServiceSettings settings) : m_settings(std::move(settings)), m_listener(m_settings.socket) {
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    if (m_settings.workers == 0) m_settings.workers = cores;
    if (m_settings.per_client == 0) m_settings.per_client = m_settings.workers;
    // More than that, and those that cannot be started now, are started while it runs.
    while (m_workers.size() < std::min(m_settings.workers, cores) && start_worker()) {
    }
  }

  void run(int stop) {
    while (wait(stop)) {
      std::erase_if(m_workers, [](const Worker& one) { return !one.process; });
      look_after_connections();
      keep_workers();
      while (lend_one()) {
      }
      std::erase_if(m_connections, [](const Connection& one) { return one.state == Connection::over; });
    }
  }

 private:
  /// Waits for something to do, and does what concerns one connection or worker. False once it is to stop.
  bool wait(int stop) {
    const bool accepts = Clock::now() >= m_accept_after;
    std::vector<pollfd> watched{{stop, POLLIN, 0}, {accepts ? m_listener.fd() : -1, POLLIN, 0}};
    std::vector<Connection*> connections;
    std::vector<Worker*> workers;
    for (Connection& one : m_connections) {
      watched.push_back({one.channel.fd(), POLLIN, 0});
      watched.push_back({one.peer.ended_fd(), POLLIN, 0});
      connections.push_back(&one);
    }
    for (Worker& one : m_workers) {
      watched.push_back({one.words_end ? -1 : one.process->words_fd(), POLLIN, 0});
      // What a lent worker says is its client's to read.
      watched.push_back({one.lent ? -1 : one.process->channel().fd(), POLLIN, 0});
      workers.push_back(&one);
    }
    auto longest = std::chrono::milliseconds(accepts ? k_look_again : k_no_descriptors);
    if (may_start()) longest = {};
    if (::poll(watched.data(), watched.size(), static_cast<int>(longest.count())) < 0 && errno != EINTR)
      raise_errno("the service cannot wait for its sockets", errno);
    if (watched[0].revents != 0) return false;
    if (watched[1].revents != 0) accept();
    for (std::size_t i = 0; i < connections.size(); ++i) {
      if (watched[2 + 2 * i].revents != 0) hear(*connections[i]);
      // Its last message came first.
      if (watched[3 + 2 * i].revents != 0 && connections[i]->state != Connection::over) drop(*connections[i]);
    }
    for (std::size_t i = 0; i < workers.size(); ++i) {
      const std::size_t at = 2 + 2 * connections.size() + 2 * i;
      if (workers[i]->process == nullptr) continue;
      if (watched[at].revents != 0) workers[i]->words_end = !workers[i]->process->drain();
      if (watched[at + 1].revents != 0 && !workers[i]->lent) end(*workers[i], m_figures.crashed);
    }
    return true;
  }

  void accept() {
    for (pid_t peer = -1;;) {
      UniqueFd socket = m_listener.accept(peer);
      if (!socket) {
        if (errno == EMFILE || errno == ENFILE) m_accept_after = Clock::now() + k_no_descriptors;
        return;
      }
      m_connections.push_back({Channel(std::move(socket)), Peer(peer)});
    }
  }

  /// What nobody reports: leases and silences that last too long, and processes that are stopped. These would
  /// keep others waiting for ever, and go on without the service once they can.
  void look_after_connections() {
    if (Clock::now() - m_looked < k_look_again) return;
    m_looked = Clock::now();
    const bool others_wait = std::ranges::any_of(
        m_connections, [](const Connection& one) { return one.state == Connection::waiting; });
    for (Connection& one : m_connections) {
      const auto age = Clock::now() - one.since;
      if ((one.state == Connection::served && age > m_settings.longest_lease) ||
          (one.state == Connection::quiet && age > m_settings.longest_silence) ||
          (others_wait && one.state != Connection::over && one.peer.stopped_for(m_settings.longest_stop)))
        drop(one);
    }
  }

  void hear(Connection& one) {
    char start[4] = {};
    if (::recv(one.channel.fd(), start, sizeof start, MSG_PEEK | MSG_DONTWAIT) == 4 &&
        std::string_view(start, 4) == "GET ")
      return answer_http(one);
    try {
      Message message;
      if (one.channel.receive(message, Clock::now() + k_message_time) != Channel::Status::ok)
        return drop(one);
      if (message.type == frame_type(ServiceMessage::lease) && one.state == Connection::quiet)
        return queue(one, decode_lease_request(message.payload));
      if (message.type == frame_type(ServiceMessage::give_back) && one.state == Connection::served)
        return take_back(one, decode_leased_worker(message.payload));
      if (message.type == frame_type(ServiceMessage::end_worker) && one.state == Connection::served)
        return end_for(one);
      if (message.type != frame_type(ServiceMessage::end_worker)) throw Error("a message out of turn");
    } catch (const Error& error) {
      log().info("process {} is sent away: {}", one.pid(), error.what());
      ++m_figures.refused;
      drop(one);
    }
  }

  void answer_http(Connection& one) {
    std::string body = prometheus_text(figures());
    try {
      if (m_settings.more_figures) body += m_settings.more_figures();
    } catch (const Error& error) {
      log().info("the service lacks some figures: {}", error.what());
    }
    const std::string text = http_answer(body);
    static_cast<void>(::send(one.channel.fd(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    ::shutdown(one.channel.fd(), SHUT_WR);
    char rest[4096];  // unread bytes would make the kernel reset the connection, and the answer with it
    while (::recv(one.channel.fd(), rest, sizeof rest, MSG_DONTWAIT) > 0) {
    }
    one.state = Connection::over;
  }

  void say(Connection& one, ServiceMessage type, const std::string& payload, int descriptor = -1) {
    const std::size_t count = descriptor >= 0 ? 1 : 0;
    if (one.channel.send(frame_type(type), payload, {&descriptor, count}, Clock::now() + k_message_time) !=
        Channel::Status::ok)
      drop(one);
  }

  void refuse(Connection& one, const std::string& why) {
    say(one, ServiceMessage::busy, why);
    drop(one);
  }

  void queue(Connection& one, LeaseRequest wanted) {
    if (wanted.build_id != m_build_id) {
      ++m_figures.refused;
      return refuse(one, "it belongs to another build of Tarsia");
    }
    std::size_t waiting = 0, of_this = 0;
    for (const Connection& other : m_connections) {
      if (other.state != Connection::waiting) continue;
      ++waiting;
      of_this += other.pid() == one.pid() ? 1 : 0;
    }
    if (waiting >= m_settings.queue || of_this >= m_settings.queue_per_client) {
      ++m_figures.busy;
      return refuse(one, "it is busy: " + std::to_string(waiting) + " requests wait");
    }
    one.state = Connection::waiting;
    one.wanted = std::move(wanted);
    one.number = ++m_requests;
    one.since = Clock::now();
    say(one, ServiceMessage::queued, {});
  }

  /// Whether a worker can take the request as it is. A confined one cannot be confined again, and one that
  /// has compiled without that is no longer to be trusted with others' files.
  static bool suits(const Worker& worker, const LeaseRequest& wanted) {
    if (!wanted.isolated) return !worker.process->is_confined();
    if (worker.open) return false;
    const CompileRequest asked{.cuda = wanted.cuda, .cuda_parts = wanted.cuda_parts};
    return worker.process->suits(&asked);
  }

  std::size_t lent_to(pid_t pid) const {
    return static_cast<std::size_t>(std::ranges::count_if(m_connections, [&](const Connection& one) {
      return one.state == Connection::served && one.pid() == pid;
    }));
  }

  /// The request whose turn it is; null if none may have a worker now.
  Connection* next() {
    Connection* best = nullptr;
    std::size_t best_has = 0;
    for (Connection& one : m_connections) {
      if (one.state != Connection::waiting) continue;
      const std::size_t has = lent_to(one.pid());
      if (has >= m_settings.per_client) continue;
      const auto rank = std::tuple(has, m_last_served[one.pid()], one.number);
      if (best == nullptr || rank < std::tuple(best_has, m_last_served[best->pid()], best->number))
        best = &one, best_has = has;
    }
    return best;
  }

  bool lend_one() {
    Connection* const one = next();
    if (one == nullptr) return false;
    Worker* free = nullptr;
    for (Worker& worker : m_workers) {
      if (!worker.process || worker.lent) continue;
      // The one used last: its memory is warm.
      const bool better =
          free == nullptr || (suits(worker, one->wanted) && !suits(*free, one->wanted)) ||
          (suits(worker, one->wanted) == suits(*free, one->wanted) && worker.used > free->used);
      if (better) free = &worker;
    }
    if (free == nullptr) return false;
    if (!suits(*free, one->wanted)) {
      end(*free, m_figures.ended);
      std::erase_if(m_workers, [](const Worker& worker) { return !worker.process; });
      if (!start_worker()) return false;
      free = &m_workers.back();
    }
    free->lent = true;
    free->open |= !one->wanted.isolated;
    m_figures.waited.add(seconds_since(one->since));
    ++m_figures.leases;
    one->state = Connection::served;
    one->since = Clock::now();
    one->worker = free;
    if (m_last_served.size() > k_most_known) m_last_served.clear();
    m_last_served[one->pid()] = ++m_requests;
    const LeasedWorker lent{free->process->pid(), m_memory_bytes, free->process->is_confined(),
                            free->process->cuda()};
    say(*one, ServiceMessage::leased, encode(lent), free->process->channel().fd());
    return true;
  }

  void take_back(Connection& one, const LeasedWorker& state) {
    Worker& worker = *one.worker;
    m_figures.lent.add(seconds_since(one.since));
    one.worker = nullptr;
    one.state = Connection::over;
    worker.lent = false;
    worker.used = Clock::now();
    worker.process->set_confined(state.confined, state.cuda);
    if (worker.process->resident_bytes() > m_settings.max_resident_bytes || !answers(worker))
      end(worker, m_figures.ended);
  }

  /// Whether nothing is left of the last exchange.
  static bool answers(Worker& worker) {
    try {
      const Deadline soon = Clock::now() + k_answer_time;
      Channel& channel = worker.process->channel();
      Message answer;
      return channel.send(MessageType::ping, {}, {}, soon) == Channel::Status::ok &&
             channel.receive(answer, soon) == Channel::Status::ok && answer.type == MessageType::pong;
    } catch (const Error&) {
      return false;
    }
  }

  /// The worker of a client that gave it up, or whose worker has ended.
  void end_for(Connection& one) {
    WorkerProcess& process = *one.worker->process;
    pollfd watched{process.channel().fd(), POLLRDHUP, 0};
    if (::poll(&watched, 1, 0) == 0) process.kill();  // else it ends by itself, and tells how
    const WorkerProcess::Death death = process.bury();
    if (death.end == WorkerProcess::End::crashed) ++m_figures.crashed;
    m_figures.lent.add(seconds_since(one.since));
    one.worker->process.reset();
    one.worker = nullptr;
    one.state = Connection::quiet;
    say(one, ServiceMessage::worker_ended,
        encode(WorkerEnd{static_cast<int>(death.end), death.how, death.last_words}));
    one.state = Connection::over;
  }

  /// A client that is gone, or does not keep to the protocol. Nobody knows what its worker is at.
  void drop(Connection& one) {
    if (one.worker != nullptr) {
      m_figures.lent.add(seconds_since(one.since));
      end(*one.worker, m_figures.ended);
    }
    one.worker = nullptr;
    one.state = Connection::over;
  }

  static void end(Worker& worker, std::uint64_t& counter) {
    ++counter;
    worker.process.reset();
  }

  void keep_workers() {
    for (Worker& one : m_workers) {
      if (one.lent || Clock::now() - one.used < k_keep_warm) continue;
      one.used = Clock::now();
      if (!answers(one)) end(one, m_figures.crashed);
    }
    std::erase_if(m_workers, [](const Worker& one) { return !one.process; });
    // One at a time: who wants to be served, or to stop it, waits for no more than that.
    if (may_start()) start_worker();
    // Nobody else starts one for them.
    if (!m_workers.empty()) return;
    for (Connection& one : m_connections)
      if (one.state == Connection::waiting) refuse(one, "its compilers cannot be started");
  }

  bool may_start() const { return m_workers.size() < m_settings.workers && Clock::now() >= m_start_after; }

  bool start_worker() {
    try {
      const WorkerProgram program = m_settings.program();
      m_memory_bytes = program.memory_bytes;
      m_build_id = program.build_id;
      m_workers.push_back({WorkerProcess::start(program, Clock::now() + k_start_time)});
      ++m_figures.started;
      return true;
    } catch (const Error& error) {
      if (m_figures.started == 0) throw;
      log().warn("a compiler cannot be started: {}", error.what());
      m_start_after = Clock::now() + k_start_again;
      return false;
    }
  }

  ServiceFigures figures() {
    ServiceFigures now = m_figures;
    for (const Worker& one : m_workers)
      if (one.process) ++(one.lent ? now.workers_lent : now.workers_idle);
    std::map<pid_t, bool> clients;
    for (const Connection& one : m_connections) {
      if (one.state == Connection::waiting) ++now.waiting;
      if (one.state == Connection::waiting || one.state == Connection::served) clients[one.pid()] = true;
    }
    now.clients = clients.size();
    return now;
  }

  ServiceSettings m_settings;
  Listener m_listener;
  std::list<Worker> m_workers;
  std::list<Connection> m_connections;
  std::map<pid_t, std::uint64_t> m_last_served;
  std::uint64_t m_requests = 0;
  std::uint64_t m_memory_bytes = 0;
  std::string m_build_id;
  Clock::time_point m_looked{};
  Clock::time_point m_start_after{}, m_accept_after{};
  ServiceFigures m_figures;
};

Service::Service(ServiceSettings settings) : m_loop(std::make_unique<Loop>(std::move(settings))) {}
Service::~Service() = default;

void Service::run(int stop) {
  m_loop->run(stop);
}

}  // namespace tarsia::jit
