#include "iou_module/hosts_reload.h"

#include <string>
#include <utility>

#include "base/event.h"
#include "base/log.h"
#include "fabric_emul/session/keys.h"
#include "iou_module/command_line_rights.h"

namespace splitnic::iou {

base::Result<HostsReload::Known> HostsReload::load() {
  if (options_.hosts_path.empty()) return Known();
  unit_.nics = options_.lan.size();
  unit_.has_vouched_lids = options_.has_vouched_lids();
  if (options_.common.keys.are_given()) {
    const auto own = fabric::session::read_key_file(options_.common.keys.key_file);
    if (!own) return own.error().within("--key-file");
    unit_.public_key = fabric::session::public_key_of(*own);
  }
  auto known = read();
  if (!known) return known.error();
  known_ = *std::move(known);
  return known_;
}

base::Result<HostsReload::Known> HostsReload::read() const {
  const auto file = read_hosts_file(options_.hosts_path, unit_);
  if (!file) return file.error();
  return Known(std::make_shared<KnownHosts>(*file, options_.common.keys.peers,
                                            command_line_rights(options_)));
}

void HostsReload::start(std::vector<Post> queues) {
  queues_ = std::move(queues);
  is_serving_.store(true, std::memory_order_release);
}

control::Reply HostsReload::refusal(control::ReplyStatus status, const std::string& why) const {
  base::log_error({base::EventKind::kReloadFailed}, "the hosts file is not reloaded: " + why);
  return {status, why};
}

void HostsReload::reload(const control::ReplyFunction& reply) {
  using Status = control::ReplyStatus;
  if (options_.hosts_path.empty()) {
    return reply(refusal(Status::kRefused, "there is none: start splitnic-iou with --hosts FILE"));
  }
  if (!is_serving_.load(std::memory_order_acquire)) {
    return reply(refusal(Status::kFailed, "the program is starting: try again"));
  }
  auto known = read();
  if (!known) {
    return reply(refusal(Status::kFailed, known.error().text() + "; nothing has changed"));
  }
  const std::string text = text_of(**known, changes_between(*known_, **known));
  const auto left = std::make_shared<std::atomic<std::size_t>>(queues_.size());
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    const auto done = [left, reply, text] {
      if (left->fetch_sub(1) == 1) reply({Status::kOk, text + "\n"});
    };
    if (queues_[i](*known, done)) continue;
    return reply(refusal(Status::kFailed,
                         "queue " + std::to_string(i) + " is busy or stopping: reload once more"));
  }
  known_ = *std::move(known);
  base::log_info({base::EventKind::kReloaded},
                 "hosts file " + options_.hosts_path + " reloaded: " + text);
}

}  // namespace splitnic::iou
