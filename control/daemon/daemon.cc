#include "control/daemon/daemon.h"

#include <utility>

#include "base/log.h"
#include "control/daemon/data_loop.h"
#include "control/identity.h"
#include "control/sd_notify.h"

namespace splitnic::control {
namespace {

fabric::AdapterLimits with_options(fabric::AdapterLimits limits, const CommonOptions& common) {
  limits.predicts_headers = common.predicts_headers;
  return limits;
}

}  // namespace

Daemon::Daemon(std::string program, const CommonOptions& common,
               const fabric::AdapterLimits& limits)
    : common_(common),
      carriers_(program, common.capture_path, clock_),
      adapter_(with_options(limits, common), random_),
      program_(std::move(program)),
      instance_(random_.next() | 1) {}

base::Result<fabric::Port*> Daemon::add_port(fabric::Underlay& underlay, fabric::PortConfig config,
                                             const std::string& role, bool is_shm) {
  config.eui64 = fabric::Eui64(node_eui64(common_.name(), role));
  config.instance = instance_;
  config.crc_head_only = is_shm;
  return adapter_.add_port(underlay, config);
}

base::Status Daemon::start() {
  auto control = ControlThread::start(common_.control_path, commands_,
                                      [this](const Request& request, ReplyFunction reply) {
                                        admin().handle(request, std::move(reply));
                                      });
  if (!control) return control.error();
  control_ = *std::move(control);
  return open();
}

int Daemon::run() {
  if (auto started = start(); !started) {
    base::log_error(program_ + ": " + started.error().text());
    control_.reset();
    return 1;
  }
  notify_ready();
  DataLoop loop(*this, adapter_, carriers_, *control_, commands_, clock_,
                may_busy_poll(common_, processors_of_this_thread()));
  const base::Status ended = loop.run();
  if (!ended) base::log_error(program_ + ": " + ended.error().text());
  notify_stopping();
  control_.reset();
  stop(clock_.now());
  return ended ? 0 : 1;
}

}  // namespace splitnic::control
