#include "iou_module/policy/known_hosts.h"

#include <utility>

#include "fabric_emul/session/keys.h"
#include "iou_module/hosts/host_rights_text.h"

namespace splitnic::iou {

std::string KnownHost::key_text() const {
  const auto* found = key();
  return found == nullptr ? "" : fabric::session::base64_of(found->bytes);
}

std::optional<std::uint32_t> KnownHost::user() const {
  const auto* found = std::get_if<UserId>(&who);
  if (found == nullptr) return std::nullopt;
  return found->value;
}

KnownHosts::KnownHosts(const std::optional<HostsFile>& file,
                       const std::vector<fabric::session::PublicKey>& allowed, HostRights rights,
                       std::vector<control::Cidr> addresses, std::size_t hosts_max)
    : has_file_(file.has_value()),
      others_(std::move(rights)),
      addresses_(std::move(addresses)),
      hosts_max_(hosts_max) {
  if (file) {
    for (const HostEntry& entry : file->hosts) add(entry.who, entry.rights);
  }
  for (const fabric::session::PublicKey& key : allowed) {
    if (find(key) == nullptr) add(key, others_);
  }
}

void KnownHosts::add(const Credential& who, const HostRights& rights) {
  by_credential_.emplace(who, all_.size());
  for (const lan::MacAddress& mac : rights.macs) by_mac_.emplace(mac, all_.size());
  if (!rights.name.empty()) names_.insert(rights.name);
  all_.push_back({who, rights, rights_text(rights)});
}

const KnownHost* KnownHosts::find(const Credential& who) const {
  const auto found = by_credential_.find(who);
  return found == by_credential_.end() ? nullptr : &all_[found->second];
}

const KnownHost* KnownHosts::owner_of(const lan::MacAddress& mac) const {
  const auto found = by_mac_.find(mac);
  return found == by_mac_.end() ? nullptr : &all_[found->second];
}

std::optional<std::vector<std::uint32_t>> KnownHosts::users() const {
  if (!has_file_) return std::nullopt;
  std::vector<std::uint32_t> users;
  for (const KnownHost& host : all_) {
    if (const auto user = host.user()) users.push_back(*user);
  }
  return users;
}

HostChanges changes_between(const KnownHosts& before, const KnownHosts& after) {
  HostChanges changes;
  for (const KnownHost& host : after.all()) {
    const KnownHost* old = before.find(host.who);
    if (old == nullptr) {
      changes.added.push_back(&host);
    } else if (old->rights != host.rights) {
      changes.changed.push_back(&host);
    }
  }
  for (const KnownHost& host : before.all()) {
    if (after.find(host.who) == nullptr) changes.removed.push_back(&host);
  }
  return changes;
}

std::string text_of(const KnownHosts& after, const HostChanges& changes) {
  const std::size_t hosts = after.all().size();
  return std::to_string(hosts) + (hosts == 1 ? " host: " : " hosts: ") +
         std::to_string(changes.added.size()) + " added, " +
         std::to_string(changes.removed.size()) + " removed, " +
         std::to_string(changes.changed.size()) + " changed";
}

}  // namespace splitnic::iou
