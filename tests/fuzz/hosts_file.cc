#include "iou_module/policy/hosts_file.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/node_name.h"
#include "fabric_emul/session/keys.h"
#include "iou_module/policy/known_hosts.h"
#include "tests/fuzz/targets.h"

namespace splitnic::fuzz {
namespace {

void check_rights(const iou::HostRights& rights, const iou::UnitFacts& unit) {
  CHECK(base::is_node_name(rights.name));
  CHECK(rights.nics.size() <= unit.nics);
  for (const std::uint32_t nic : rights.nics) CHECK(nic < unit.nics);
  CHECK(rights.macs.size() <= 256 && rights.mac_count <= 256);
  CHECK(!rights.macs.empty() || rights.mac_count > 0);
  for (const lan::MacAddress& mac : rights.macs) CHECK((mac[0] & 1U) == 0);
  CHECK(!rights.vlans || rights.vlans->any());
  if (rights.pvid && *rights.pvid != 0) CHECK(!rights.vlans || rights.vlans->test(*rights.pvid));
  CHECK(rights.queues_max >= 1 && rights.queues_max <= 8);
  if (rights.memory_max) {
    CHECK(*rights.memory_max >= 1U << 20 && *rights.memory_max <= std::uint64_t{64} << 30);
  }
  CHECK(rights.from.size() <= 64);
  CHECK(!rights.sl || *rights.sl <= 15);
  CHECK(rights.bits_per_second == 0 || rights.bits_per_second >= 64'000);
  CHECK(rights.bits_per_second <= 1'000'000'000'000);
  CHECK(rights.frames_per_second <= 1'000'000'000);
  CHECK(rights.group_frames_per_second <= 1'000'000'000);
  std::set<std::uint16_t> partitions;
  for (const fabric::PartitionKey key : rights.partitions) {
    CHECK(fabric::number_of(key) != 0 && partitions.insert(fabric::number_of(key)).second);
  }
}

// The unit knows keys and users here, and no switch vouches for LIDs. An address is checked only
// with a key.
void check_credential(const iou::HostEntry& host, const iou::UnitFacts& unit) {
  CHECK(!std::holds_alternative<iou::NodeLid>(host.who));
  if (const auto* key = std::get_if<fabric::session::PublicKey>(&host.who)) {
    return CHECK(*key != unit.public_key);
  }
  CHECK(std::get<iou::UserId>(host.who).value != UINT32_MAX && host.rights.from.empty());
}

}  // namespace

// An accepted file is in range, and no two hosts have the same; an error names a place.
void hosts_file(base::Bytes in) {
  static const iou::UnitFacts kUnit{fabric::session::public_key_of(fabric::session::Secret()), 2};
  const auto parsed = iou::parse_hosts_file(base::as_text(in), kUnit);
  if (!parsed) {
    const std::string why = parsed.error().text();
    CHECK(why.starts_with("line ") || in.size() > iou::kHostsFileBytesMax);
    CHECK(why.size() < 4096);
    return;
  }
  CHECK(parsed->hosts.size() <= iou::kHostsInFileMax);
  std::set<std::string> names;
  std::set<iou::Credential> credentials;
  std::set<lan::MacAddress> macs;
  for (const iou::HostEntry& host : parsed->hosts) {
    check_rights(host.rights, kUnit);
    check_credential(host, kUnit);
    CHECK(names.insert(host.rights.name).second);
    CHECK(credentials.insert(host.who).second);
    for (const lan::MacAddress& mac : host.rights.macs) CHECK(macs.insert(mac).second);
  }
  const iou::KnownHosts known(*parsed, {});
  const iou::HostChanges none = iou::changes_between(known, known);
  CHECK(none.added.empty() && none.removed.empty() && none.changed.empty());
}

}  // namespace splitnic::fuzz
