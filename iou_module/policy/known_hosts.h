// The hosts that an I/O unit knows: those of the hosts file and the keys of --allow-key, by
// credential and by address; what holds for all others; and how many may be attached. It never
// changes, so all queues share one; a reload makes another.
// Thread: any. docs/hosts_file.md
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/config/ip_address.h"
#include "iou_module/policy/hosts_file.h"
#include "iou_module/policy/iou_options.h"

namespace splitnic::iou {

struct KnownHost {
  Credential who;
  HostRights rights;
  std::string rights_text;  // in short, for people
  // "" or nothing: it has the other one.
  std::string key_text() const;
  std::optional<std::uint32_t> user() const;
  const fabric::session::PublicKey* key() const {
    return std::get_if<fabric::session::PublicKey>(&who);
  }
};

class KnownHosts {
 public:
  // Without a file, hosts that are not known may attach, too. `rights` are those of hosts that are
  // not in the file. Datagrams of other `addresses` are refused; none: all may come. `hosts_max` is
  // --max-hosts.
  KnownHosts(const std::optional<HostsFile>& file,
             const std::vector<fabric::session::PublicKey>& allowed, HostRights rights = {},
             std::vector<control::Cidr> addresses = {}, std::size_t hosts_max = kMaxHostsDefault);
  KnownHosts(const KnownHosts&) = delete;
  KnownHosts& operator=(const KnownHosts&) = delete;

  bool admits_others() const { return !has_file_; }
  const std::vector<KnownHost>& all() const { return all_; }
  const HostRights& rights_of_others() const { return others_; }
  const std::vector<control::Cidr>& addresses() const { return addresses_; }
  std::size_t hosts_max() const { return hosts_max_; }
  // Null: it is not known.
  const KnownHost* find(const Credential& who) const;
  // The host whose rights list this address; null: none.
  const KnownHost* owner_of(const lan::MacAddress& mac) const;
  // Returns true if the file gives this name to a host.
  bool names(const std::string& name) const { return names_.contains(name); }
  // Users that may attach over shm; nothing: the default ones.
  std::optional<std::vector<std::uint32_t>> users() const;

 private:
  void add(const Credential& who, const HostRights& rights);

  bool has_file_;
  HostRights others_;
  std::vector<control::Cidr> addresses_;
  std::size_t hosts_max_;
  std::vector<KnownHost> all_;
  std::map<Credential, std::size_t> by_credential_;
  std::map<lan::MacAddress, std::size_t> by_mac_;
  std::set<std::string> names_;
};

// The entries point into the lists.
struct HostChanges {
  std::vector<const KnownHost*> added;    // of `after`
  std::vector<const KnownHost*> removed;  // of `before`
  std::vector<const KnownHost*> changed;  // of `after`: other rights, or another name
};
HostChanges changes_between(const KnownHosts& before, const KnownHosts& after);
// "3 hosts: 1 added, 0 removed, 1 changed"
std::string text_of(const KnownHosts& after, const HostChanges& changes);

}  // namespace splitnic::iou
