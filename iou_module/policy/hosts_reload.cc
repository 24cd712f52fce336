#include "iou_module/policy/hosts_reload.h"

#include <optional>
#include <string>
#include <utility>

#include "base/event.h"
#include "base/log.h"
#include "fabric_emul/session/keys.h"
#include "iou_module/policy/command_line_rights.h"

namespace splitnic::iou {
namespace {

// Those with what --grant is now. Only --max-hosts 1 of the start gives the rights of a host that
// is alone: one of a reload may come while several hosts are attached, and they stay.
HostRights rights_with_grants(IouOptions options, const IouOptions& read) {
  options.grants_sniff = read.grants_sniff;
  options.grants_forge = read.grants_forge;
  return command_line_rights(options);
}

}  // namespace

HostsReload::HostsReload(const IouOptions& options)
    : options_(options), settings_(settings_of(options)) {}

HostsReload::Settings HostsReload::settings_of(const IouOptions& options) const {
  return {options.common.keys.peers, rights_with_grants(options_, options), options.allow,
          options.max_hosts};
}

base::Result<HostsReload::Known> HostsReload::load() {
  unit_.nics = options_.lan.size();
  unit_.has_vouched_lids = options_.has_vouched_lids();
  if (options_.common.keys.are_given()) {
    const auto own = fabric::session::read_key_file(options_.common.keys.key_file);
    if (!own) return own.error().within("--key-file");
    unit_.public_key = fabric::session::public_key_of(*own);
  }
  auto known = read(settings_);
  if (!known) return known.error();
  known_ = *std::move(known);
  return options_.hosts_path.empty() ? Known() : known_;
}

base::Result<HostsReload::Known> HostsReload::read(const Settings& settings) const {
  for (const fabric::session::PublicKey& key : settings.allowed) {
    if (!unit_.public_key) break;
    const auto good = fabric::session::check_key_of_host(key, *unit_.public_key);
    if (!good) return good.error().within("--allow-key " + fabric::session::base64_of(key.bytes));
  }
  std::optional<HostsFile> file;
  if (!options_.hosts_path.empty()) {
    auto read = read_hosts_file(options_.hosts_path, unit_);
    if (!read) return read.error();
    file = *std::move(read);
  }
  return Known(std::make_shared<KnownHosts>(file, settings.allowed, settings.rights,
                                            settings.addresses, settings.hosts_max));
}

void HostsReload::start(std::vector<Queue> queues) {
  queues_ = std::move(queues);
  is_serving_.store(true, std::memory_order_release);
}

bool HostsReload::refuse(const control::ReplyFunction& reply, control::ReplyStatus status,
                         const std::string& why) const {
  const std::string what =
      options_.hosts_path.empty() ? "nothing is reloaded: " : "the hosts file is not reloaded: ";
  base::log_error({base::EventKind::kReloadFailed}, what + why);
  reply({status, why});
  return false;
}

std::string HostsReload::text_of_change(const KnownHosts& after, const Config& config) const {
  const bool has_options = config.changes != nullptr && !config.changes->are_none();
  std::string text;
  if (!options_.hosts_path.empty()) text = text_of(after, changes_between(*known_, after));
  if (config.changes != nullptr && (has_options || text.empty())) {
    text += (text.empty() ? "" : "; ") + control::text_of(*config.changes);
  }
  return text;
}

bool HostsReload::reload(const control::ReplyFunction& reply, const Config& config) {
  using Status = control::ReplyStatus;
  if (options_.hosts_path.empty() && config.options == nullptr) {
    return refuse(
        reply, Status::kRefused,
        "there is no file to read: start splitnic-iou with --hosts FILE or --config FILE");
  }
  if (!is_serving_.load(std::memory_order_acquire)) {
    return refuse(reply, Status::kFailed, "the program is starting: try again");
  }
  Settings settings = config.options == nullptr ? settings_ : settings_of(*config.options);
  auto known = read(settings);
  if (!known) {
    return refuse(reply, Status::kFailed, known.error().text() + "; nothing has changed");
  }
  const std::string text = text_of_change(**known, config);
  const auto handover = std::make_shared<HostsHandover>(queues_, *known, ++lists_, [reply, text] {
    reply({Status::kOk, text + "\n"});
  });
  if (const auto busy = handover->begin()) {
    return refuse(reply, Status::kFailed,
                  "queue " + std::to_string(*busy) +
                      " is busy or stopping; nothing has changed: reload once more");
  }
  settings_ = std::move(settings);
  known_ = *std::move(known);
  base::log_info({base::EventKind::kReloaded},
                 options_.hosts_path.empty()
                     ? "reloaded: " + text
                     : "hosts file " + options_.hosts_path + " reloaded: " + text);
  return true;
}

}  // namespace splitnic::iou
