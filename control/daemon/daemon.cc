#include "control/daemon/daemon.h"

#include <sys/resource.h>

#include <csignal>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "control/daemon/machine_key.h"
#include "control/sd_notify.h"

namespace splitnic::control {
namespace {

// A reader of stderr that is gone ends no program, and memory with the frames of users never
// becomes a core file. [L-14]
void prepare_process() {
  std::signal(SIGPIPE, SIG_IGN);
  constexpr rlim_t kNoCoreAtAll = 1;  // 0 would allow a core_pattern that is a pipe: core(5)
  const rlimit cores{kNoCoreAtAll, kNoCoreAtAll};
  if (::setrlimit(RLIMIT_CORE, &cores) != 0) base::log_warn("the limit of core files stays");
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

}  // namespace

Daemon::Daemon(std::string program, const CommonOptions& common)
    : common_(common),
      process_{std::move(program), base::OsRandom().next() | 1, key_for(common.port.payload_crc)},
      allowed_(processors_of_this_thread()) {
  prepare_process();
}

base::Status Daemon::start() {
  auto control = ControlThread::start(common_.control_path, worker(0).commands(),
                                      [this](const Request& request, ReplyFunction reply) {
                                        worker(0).admin().handle(request, std::move(reply));
                                      });
  if (!control) return control.error();
  control_ = *std::move(control);
  if (auto opened = open(); !opened) return opened;
  std::vector<Admin::Other> others;
  for (std::size_t i = 1; i < workers(); ++i) {
    others.push_back({&worker(i).commands(), &worker(i).admin()});
  }
  worker(0).admin().set_others(std::move(others));
  return {};
}

int Daemon::run() {
  if (auto started = start(); !started) {
    base::log_error(process_.program + ": " + started.error().text());
    control_.reset();
    return 1;
  }
  notify_ready();
  run_workers();
  control_.reset();
  return has_failed_ ? 1 : 0;
}

void Daemon::run_workers() {
  const auto queues = static_cast<std::uint32_t>(workers());
  const Processors bound = processors_to_bind(common_, queues);
  const bool never_sleeps = may_busy_poll(common_, allowed_.size(), queues);
  std::vector<std::thread> threads;
  try {
    for (std::size_t i = 1; i < queues; ++i) {
      threads.emplace_back([&, i] { run_worker(i, bound, never_sleeps); });
    }
  } catch (const std::system_error& error) {
    base::log_error(process_.program + ": creating a data thread: " + error.what() +
                    ": raise the limit of threads, or give a smaller --queues");
    has_failed_ = true;
    control_->request_stop();
  }
  run_worker(0, bound, never_sleeps);
  notify_stopping();
  for (std::thread& thread : threads) thread.join();
}

// Runs in the data thread of the queue.
void Daemon::run_worker(std::size_t queue, const Processors& bound, bool never_sleeps) {
  const auto processor = processor_of_queue(bound, static_cast<std::uint32_t>(queue));
  const base::Status ended = worker(queue).run(*control_, processor, never_sleeps);
  if (ended) return;
  // Several queues find the same interface deleted: one line.
  if (!has_failed_.exchange(true)) {
    base::log_error(process_.program + ": " + ended.error().text());
  }
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
