#include "control/daemon/daemon.h"

#include <malloc.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/memory_reserve.h"
#include "control/config/version.h"
#include "control/daemon/config_reload.h"
#include "control/daemon/machine_key.h"
#include "control/sd_notify.h"
#include "fabric_emul/session/secret.h"

namespace splitnic::control {
namespace {

constexpr base::Duration kRetryEvery = std::chrono::seconds(1);
constexpr base::Duration kServeFor = std::chrono::milliseconds(20);
// More than what all queues allocate in small pieces in an iteration. [M-1]
constexpr std::size_t kMemoryReserve = 8 << 20;

// A reader of stderr that is gone ends no program, and memory with keys and the frames of users
// never becomes a core file: the limit of core files would not do, as a core_pattern that is a pipe
// takes a core whatever it is, unless it is 1, which a service with a limit of 0 must not set
// [L-14]. All threads share one heap, since glibc opens a file of /proc when it shrinks that of
// another thread, which the sandbox refuses [M-9].
void prepare_process() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that must not grow takes no more, as a full disk
  ::mallopt(M_ARENA_MAX, 1);
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) base::log_warn("a crash may leave a core file");
}

// Without the key the payload CRC stays on, which costs speed and nothing else.
std::optional<fabric::SipKey> key_for(fabric::PayloadCrcMode mode) {
  if (mode == fabric::PayloadCrcMode::kOn) return std::nullopt;
  base::OsRandom random;
  const auto key = machine_key(kMachineKeyFolder, boot_id(), random);
  if (key) return *key;
  base::log_warn("the payload CRC stays on, also between programs of this machine: " +
                 key.error().text());
  return std::nullopt;
}

// Of all threads. The control thread may come to it when the others, which are joined before, have
// ended: so it shares it [F-52].
struct StartGate {
  explicit StartGate(std::ptrdiff_t others) : begun(others) {}
  void wait_for_all() {
    begun.count_down();
    go.wait();
  }
  std::latch begun;  // the control thread, and one of each queue but the main thread's
  std::latch go{1};
};

base::Status with_advice(base::Status status) {
  if (status) return status;
  return status.error().within("the sandbox, which --no-sandbox leaves out");
}

}  // namespace

Daemon::Daemon(std::string program, const CommonOptions& common)
    : common_(common),
      process_{std::move(program), base::OsRandom().next() | 1, key_for(common.port.payload_crc)},
      allowed_(processors_of_this_thread()) {
  prepare_process();
  base::hold_memory_reserve(kMemoryReserve);
  if (!common.keys.are_given()) return;
  if (auto locked = fabric::session::lock_secrets(); !locked) {
    base::log_warn(locked.error().text());
  }
}

base::Status Daemon::start() {
  if (auto opened = worker(0).open_wake_latency(); !opened) return opened;
  auto control = ControlThread::open(
      common_.control_path, worker(0).commands(),
      [this](const Request& request, ReplyFunction reply) {
        worker(0).admin().handle(request, std::move(reply));
      },
      announced_reload_handler());
  if (!control) return control.error();
  control_ = *std::move(control);
  worker(0).admin().set_text_thread(
      [this](std::function<void()> function) { control_->post(std::move(function)); });
  if (auto serving = serve_metrics(); !serving) return serving;
  if (auto opened = open(); !opened) return opened;
  std::vector<Admin::Other> others;
  for (std::size_t i = 0; i < workers(); ++i) {
    worker(i).admin().set_commands(worker(i).commands());
    if (i == 0) continue;
    if (auto opened = worker(i).open_wake_latency(); !opened) return opened;
    others.push_back({&worker(i).commands(), &worker(i).admin()});
  }
  worker(0).admin().set_others(std::move(others));
  return give_up_privileges();
}

// The service manager waits until the settings are read, or are refused because the program waits
// for something. Before it has heard that the program is up, it hears of no reload.
ReloadHandler Daemon::announced_reload_handler() {
  ReloadHandler handler = reload_handler();
  if (!handler) return {};
  return [this, handler = std::move(handler)](const ReplyFunction& reply) {
    if (is_announced_) notify_reloading();
    if (!is_up_) {
      Reply refused = refuse_reload(ReplyStatus::kFailed, "the program is starting: try again");
      if (is_announced_) notify_ready();
      return reply(std::move(refused));
    }
    handler([reply](Reply done) {
      notify_ready();
      reply(std::move(done));
    });
  };
}

bool Daemon::passes_later(const base::Error& error) {
  switch (error.errno_value()) {
    case ENODEV:
    case ENXIO:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL:
      return true;
    default:
      return false;
  }
}

void Daemon::announce_ready() {
  is_announced_ = true;
  notify_ready();
}

// Returns false if a stop was requested.
bool Daemon::wait_to_retry(const base::Error& error, bool is_first) {
  if (is_first) {
    base::log_warn(error.text() + "; waiting for that to change");
    announce_ready();
  }
  const auto until = std::chrono::steady_clock::now() + kRetryEvery;
  return serve_until([until] { return std::chrono::steady_clock::now() >= until; });
}

// Serves clients and signals meanwhile. Returns false if a stop was requested.
bool Daemon::serve_until(const std::function<bool()>& is_over) {
  auto alive_at = std::chrono::steady_clock::now();
  while (!control_->stop_requested() && !is_over()) {
    if (std::chrono::steady_clock::now() >= alive_at) {
      notify_alive();
      alive_at += kRetryEvery;
    }
    control_->serve_for(kServeFor);
    worker(0).commands().run();
  }
  return !control_->stop_requested();
}

base::Status Daemon::open_uplinks(Uplinks& uplinks, const Lookups& lookups,
                                  Uplinks::Endpoints& at) {
  at.resize(lookups.size());
  int attempts = 0;
  base::Status opened = when_possible([&]() -> base::Status {
    const bool needs_all = attempts++ < kAttemptsForAll;
    auto found =
        resolve_missing(lookups, at, [&](std::size_t peer) { return uplinks.is_open(peer); });
    const bool has_any = std::ranges::any_of(at, [](const auto& one) { return one.has_value(); });
    if (!found && (needs_all || !has_any)) return found;
    return uplinks.open(at, needs_all);
  });
  if (opened) uplinks.warn_of_missing();
  return opened;
}

base::Status Daemon::resolve_missing(const Lookups& lookups, Uplinks::Endpoints& at,
                                     const std::function<bool(std::size_t)>& is_reached) {
  base::Status all;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (is_reached(i)) continue;
    at[i].reset();
    if (auto found = resolved(*lookups[i]); found)
      at[i] = *std::move(found);
    else if (all)
      all = found.error();
  }
  return all;
}

base::Result<std::unique_ptr<NameLookup>> Daemon::open_lookup(const Endpoint& endpoint) const {
  if (!has_sandbox()) return NameLookup::open(endpoint, std::nullopt);
  const KeyOptions& keys = common_.keys;
  std::vector<std::string> secrets{keys.key_file, keys.psk_file, keys.key_log};
  std::erase(secrets, "");
  return NameLookup::open(endpoint, secrets);
}

base::Result<Endpoint> Daemon::resolved(NameLookup& lookup) {
  lookup.request();
  std::optional<NameLookup::Found> found;
  const auto is_found = [&] { return (found = lookup.take()).has_value(); };
  if (!serve_until(is_found)) {
    return base::Error("stopped while the name of " + lookup.text() + " was looked up");
  }
  if (!*found) return found->error();
  return (*found)->front();
}

base::Status Daemon::serve_metrics() {
  if (!common_.metrics) return {};
  return control_->serve_metrics(*common_.metrics, [this](std::function<void(Snapshot)> done) {
    return worker(0).commands().post(
        [this, done = std::move(done)] { worker(0).admin().take_snapshot(done); });
  });
}

sandbox::Needs Daemon::all_needs() const {
  sandbox::Needs all = needs();
  const auto removes_in_folder_of = [&all](const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path();
    all.files.push_back({folder.empty() ? "." : folder, sandbox::FileRight::kRemove});
  };
  removes_in_folder_of(common_.control_path);
  if (common_.metrics && !common_.metrics->path.empty())
    removes_in_folder_of(common_.metrics->path);
  return all;
}

base::Status Daemon::give_up_privileges() {
  if (!common_.is_sandboxed) {
    base::log_warn("--no-sandbox: the program keeps its privileges while it runs");
  } else if (!sandbox::kIsBuilt) {
    base::log_info("this build, for tests, has no sandbox");
  }
  return has_sandbox() ? with_advice(sandbox::give_up_privileges(all_needs())) : base::Status();
}

base::Status Daemon::filter_calls() const {
  return has_sandbox() ? with_advice(sandbox::filter_calls(all_needs())) : base::Status();
}

int Daemon::run() {
  // It ends before the workers, whose queue it closes, also when start() throws [F-52].
  struct EndOfControl {
    std::unique_ptr<ControlThread>& control;
    ~EndOfControl() { control.reset(); }
  } const end{control_};
  if (auto started = start(); !started) {
    if (control_ && control_->stop_requested()) return 0;
    base::log_error(process_.program + ": " + started.error().text());
    return 1;
  }
  run_workers();
  return has_failed_ ? 1 : 0;
}

// Every thread has begun before the system calls are filtered, since its beginning takes some that
// are not allowed later, and does its work after that.
void Daemon::run_workers() {
  const auto queues = static_cast<std::uint32_t>(workers());
  const Processors bound = processors_to_bind(common_, queues);
  const bool never_sleeps = may_busy_poll(common_, allowed_.size(), queues);
  Heartbeats heartbeats(queues);
  const auto gate = std::make_shared<StartGate>(queues);
  const auto begin = [&](std::uint32_t queue) {
    worker(queue).begin_thread(processor_of_queue(bound, queue));
  };
  std::vector<std::thread> threads;
  threads.reserve(queues);
  base::Status ready = control_->start([gate] { gate->wait_for_all(); });
  std::uint32_t created = ready ? 1 : 0;
  try {
    for (std::uint32_t i = 1; i < queues && ready; ++i) {
      threads.emplace_back([&, i] {
        begin(i);
        gate->wait_for_all();
        run_worker(i, never_sleeps, heartbeats);
      });
      ++created;
    }
  } catch (const std::exception& error) {
    ready = base::Error(std::string("creating a data thread: ") + error.what() +
                        ": raise the limit of threads, or give a smaller --queues");
  }
  begin(0);
  gate->begun.count_down(queues - created);
  gate->begun.wait();
  if (ready) ready = filter_calls();
  if (ready) {
    if (const std::string what = summary(); !what.empty()) {
      base::log_info(version_text(process_.program) + " is up as " + common_.name() +
                     (queues == 1 ? "" : ", with " + std::to_string(queues) + " queues") + ": " +
                     what);
    }
    announce_ready();
    is_up_ = true;
  } else {
    fail(ready.error());
  }
  gate->go.count_down();
  run_worker(0, never_sleeps, heartbeats);
  notify_stopping();
  for (std::thread& thread : threads) thread.join();
}

// Runs in the data thread of the queue.
void Daemon::run_worker(std::size_t queue, bool never_sleeps, Heartbeats& heartbeats) {
  if (const auto ended = worker(queue).run(*control_, never_sleeps, heartbeats); !ended) {
    fail(ended.error());
  }
}

// Several queues find the same interface deleted: one line.
void Daemon::fail(const base::Error& error) {
  if (!has_failed_.exchange(true)) base::log_error(process_.program + ": " + error.text());
  control_->request_stop();
}

void Daemon::report_fewer(std::size_t queues, const base::Error& why) {
  base::log_warn("queue " + std::to_string(queues) + ": " + why.text() +
                 "; continuing with fewer queues");
}

std::uint32_t Daemon::queues_at(const Endpoint& endpoint, std::uint32_t queues) {
  for (std::uint32_t i = 1; i < queues; ++i) {
    if (const auto at = endpoint.of_queue(i); !at) {
      report_fewer(i, at.error());
      return i;
    }
  }
  return queues;
}

}  // namespace splitnic::control
