#include "iou_module/policy/host_entry_parser.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/node_name.h"
#include "control/config/toml_field.h"
#include "control/config/values.h"
#include "control/daemon/common_options.h"
#include "fabric_emul/session/keys.h"
#include "fabric_emul/verbs/verbs.h"
#include "iou_module/hosts/nic_settings.h"
#include "lan_bridge/frame/vlan_id.h"
#include "messaging/cfgutil/qos_map.h"
#include "messaging/connection.h"

namespace splitnic::iou {
namespace {

using fabric::session::parse_public_key;

constexpr std::size_t kBlocksMax = 64;
constexpr std::uint64_t kPartitionMax = 0xFFFF;
constexpr std::uint64_t kFramesMax = 1'000'000'000;
// The largest number is no user: chown(2) takes it for "leave as it is".
constexpr std::uint64_t kUserMax = std::numeric_limits<std::uint32_t>::max() - 1;
constexpr std::uint64_t kMemoryMin = std::uint64_t{1} << 20, kMemoryMax = std::uint64_t{64} << 30;
constexpr std::uint64_t kRateMin = 64'000, kRateMax = 1'000'000'000'000;

std::string blank_for_unprintable(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c == '\x7F'; }, '?');
  return text.substr(0, 2 * base::kNodeNameMax);
}

// A host while its fields are read, with the places of those that are checked together.
class Draft {
 public:
  Draft(const control::TomlValue& table, const UnitFacts& unit, TakenByHosts& taken)
      : table_(table), unit_(unit), taken_(taken) {
    rights().name = table.name;
  }

  base::Result<HostEntry> read();

 private:
  using Read = base::Status (Draft::*)(const control::TomlField& field);
  struct Field {
    std::string_view name;
    Read read;
  };
  static const std::array<Field, 18> kFields;

  base::Status read_field(const control::TomlValue& value);
  base::Status check_together() const;
  base::Status take(const Credential& who, const control::TomlField& field);

  base::Status read_key(const control::TomlField& field);
  base::Status read_uid(const control::TomlField& field);
  base::Status read_lid(const control::TomlField& field);
  base::Status read_nic(const control::TomlField& field);
  base::Status read_partition(const control::TomlField& field);
  base::Status read_sl(const control::TomlField& field);
  base::Status read_macs(const control::TomlField& field);
  base::Status read_vlans(const control::TomlField& field);
  base::Status read_pvid(const control::TomlField& field);
  base::Status read_memory(const control::TomlField& field);
  base::Status read_rate(const control::TomlField& field);
  base::Status read_from(const control::TomlField& field);
  template <auto kMember>
  base::Status read_flag(const control::TomlField& field) {
    const auto flag = field.flag();
    if (!flag) return flag.error();
    rights().*kMember = *flag;
    return {};
  }
  template <auto kMember, std::uint64_t kMin, std::uint64_t kMax>
  base::Status read_number(const control::TomlField& field) {
    const auto number = field.number(kMin, kMax, "a whole number");
    if (!number) return number.error();
    using Number = std::remove_reference_t<decltype(rights().*kMember)>;
    rights().*kMember = static_cast<Number>(*number);
    return {};
  }

  HostRights& rights() { return entry_.rights; }
  std::string context() const { return "[hosts." + table_.name + "]"; }
  std::string place() const {
    return context() + " in line " + std::to_string(table_.name_at.line);
  }
  base::Error error_of(std::string_view field, const std::string& why) const;
  bool has(std::string_view field) const {
    return std::ranges::find(table_.inside, field, &control::TomlValue::name) !=
           table_.inside.end();
  }

  const control::TomlValue& table_;
  const UnitFacts& unit_;
  TakenByHosts& taken_;
  HostEntry entry_;
};

const std::array<Draft::Field, 18> Draft::kFields = {{
    {"key", &Draft::read_key},
    {"uid", &Draft::read_uid},
    {"lid", &Draft::read_lid},
    {"nic", &Draft::read_nic},
    {"partition", &Draft::read_partition},
    {"sl", &Draft::read_sl},
    {"macs", &Draft::read_macs},
    {"mac_count", &Draft::read_number<&HostRights::mac_count, 0, Filter::kEntriesMax>},
    {"vlans", &Draft::read_vlans},
    {"pvid", &Draft::read_pvid},
    {"sniff", &Draft::read_flag<&HostRights::may_sniff>},
    {"forge", &Draft::read_flag<&HostRights::may_forge>},
    {"queues", &Draft::read_number<&HostRights::queues_max, 1, messaging::kQueuesMax>},
    {"memory", &Draft::read_memory},
    {"rate", &Draft::read_rate},
    {"frames", &Draft::read_number<&HostRights::frames_per_second, 0, kFramesMax>},
    {"group_frames", &Draft::read_number<&HostRights::group_frames_per_second, 0, kFramesMax>},
    {"from", &Draft::read_from},
}};

base::Result<HostEntry> Draft::read() {
  if (!base::is_node_name(table_.name)) {
    return control::error_at(table_.name_at,
                             "'" + blank_for_unprintable(table_.name) +
                                 "' is not a name of 1 to 64 letters, digits, '.', '_' and '-'");
  }
  if (table_.kind != control::TomlValue::Kind::kTable) {
    return control::error_at(table_.at, context() + " is not a table");
  }
  for (const control::TomlValue& value : table_.inside) {
    if (auto read = read_field(value); !read) return read.error();
  }
  if (auto checked = check_together(); !checked) return checked.error();
  return std::move(entry_);
}

base::Status Draft::read_field(const control::TomlValue& value) {
  const auto* field = std::ranges::find(kFields, value.name, &Field::name);
  if (field != kFields.end()) {
    return (this->*field->read)(control::TomlField(value, context() + " " + value.name));
  }
  std::string names;
  for (const Field& known : kFields) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return control::error_at(value.name_at, context() + ": '" + blank_for_unprintable(value.name) +
                                              "' is not a field of a host: these are " + names);
}

base::Error Draft::error_of(std::string_view field, const std::string& why) const {
  const auto at = std::ranges::find(table_.inside, field, &control::TomlValue::name);
  return control::TomlField(*at, context() + " " + std::string(field)).error(why);
}

base::Status Draft::check_together() const {
  const HostRights& r = entry_.rights;
  const int credentials = int{has("key")} + int{has("uid")} + int{has("lid")};
  if (credentials != 1) {
    return control::error_at(table_.name_at,
                             context() + (credentials > 1 ? " has more than one of key, uid and lid"
                                                          : " has none of key, uid and lid"));
  }
  if (!has("key") && has("from")) {
    return error_of("from",
                    "only a host that is known by its key has an address here: leave the "
                    "field out");
  }
  if (r.macs.empty() && r.mac_count == 0) {
    return error_of("mac_count", "without macs the host could have no address");
  }
  if (r.vlans && r.pvid && *r.pvid != 0 && !r.vlans->test(*r.pvid)) {
    return error_of("pvid", std::to_string(*r.pvid) + " is not one of its vlans");
  }
  return {};
}

base::Status Draft::take(const Credential& who, const control::TomlField& field) {
  const auto [at, is_new] = taken_.credentials.try_emplace(who, place());
  if (!is_new) return field.error(at->second + " has the same");
  entry_.who = who;
  return {};
}

base::Status Draft::read_key(const control::TomlField& field) {
  const auto text = field.text("a public key in base64");
  if (!text) return text.error();
  const auto key = parse_public_key(*text);
  if (!key) return field.is_not(std::string(fabric::session::kPublicKeyForm));
  if (!unit_.public_key) return field.error("--key-file is missing: the I/O unit has no key");
  if (const auto good = fabric::session::check_key_of_host(*key, *unit_.public_key); !good) {
    return field.error(good.error().text());
  }
  return take(*key, field);
}

base::Status Draft::read_uid(const control::TomlField& field) {
  const auto user = field.number(0, kUserMax, "the number of a user");
  if (!user) return user.error();
  return take(UserId{static_cast<std::uint32_t>(*user)}, field);
}

base::Status Draft::read_lid(const control::TomlField& field) {
  const auto lid = field.number(1, fabric::kPortLidMax, "a LID");
  if (!lid) return lid.error();
  if (!unit_.has_vouched_lids) {
    return field.error("the I/O unit is attached to no switch with keys, which would prove it");
  }
  return take(NodeLid{static_cast<std::uint16_t>(*lid)}, field);
}

base::Status Draft::read_nic(const control::TomlField& field) {
  return field.each(control::kNicsMax, [&](const control::TomlField& element) -> base::Status {
    const auto number = element.number(0, control::kNicsMax - 1, "the number of a NIC");
    if (!number) return number.error();
    const auto nic = static_cast<std::uint32_t>(*number);
    if (nic >= unit_.nics) {
      return element.error("there is no NIC " + std::to_string(nic) + ": the I/O unit has " +
                           std::to_string(unit_.nics) + ", numbered from 0");
    }
    if (std::ranges::find(rights().nics, nic) != rights().nics.end()) {
      return element.error(std::to_string(nic) + " is given twice");
    }
    rights().nics.push_back(nic);
    return {};
  });
}

base::Status Draft::read_partition(const control::TomlField& field) {
  return field.each(fabric::PartitionTable::kKeysMax,
                    [&](const control::TomlField& element) -> base::Status {
                      const std::string what = "a partition";
                      const auto number = element.number(1, kPartitionMax, what);
                      if (!number) return number.error();
                      const fabric::PartitionKey key(static_cast<std::uint16_t>(*number));
                      if (fabric::number_of(key) == 0)
                        return element.is_not(what + " with a number");
                      const bool is_there =
                          std::ranges::any_of(rights().partitions, [&](fabric::PartitionKey other) {
                            return fabric::number_of(other) == fabric::number_of(key);
                          });
                      if (is_there) return element.error(fabric::text_of(key) + " is given twice");
                      rights().partitions.push_back(key);
                      return {};
                    });
}

base::Status Draft::read_sl(const control::TomlField& field) {
  const auto sl = field.number(0, messaging::QosMap::kServiceLevelMax, "a service level");
  if (!sl) return sl.error();
  rights().sl = static_cast<std::uint8_t>(*sl);
  return {};
}

base::Status Draft::read_macs(const control::TomlField& field) {
  return field.each(Filter::kEntriesMax, [&](const control::TomlField& element) -> base::Status {
    const auto text = element.text("a MAC address like 02:00:00:00:00:01");
    if (!text) return text.error();
    const auto mac = control::parse_mac(*text);
    if (!mac) return element.error(mac.error().text());
    const auto [at, is_new] = taken_.macs.try_emplace(*mac, place());
    if (!is_new) return element.error(*text + " is given twice, first by " + at->second);
    rights().macs.push_back(*mac);
    return {};
  });
}

base::Status Draft::read_vlans(const control::TomlField& field) {
  VlanSet& vlans = rights().vlans.emplace();
  return field.each(vlans.size(), [&](const control::TomlField& element) -> base::Status {
    const auto id = element.number(0, lan::kVlanIdMax, "a VLAN id");
    if (!id) return id.error();
    if (vlans.test(*id)) return element.error(std::to_string(*id) + " is given twice");
    vlans.set(*id);
    return {};
  });
}

base::Status Draft::read_pvid(const control::TomlField& field) {
  const auto id = field.number(0, lan::kVlanIdMax, "a VLAN id");
  if (!id) return id.error();
  rights().pvid = static_cast<std::uint16_t>(*id);
  return {};
}

base::Status Draft::read_memory(const control::TomlField& field) {
  const auto bytes = field.size(1024, kMemoryMin, kMemoryMax, "a size from \"1M\" to \"64G\"");
  if (!bytes) return bytes.error();
  rights().memory_max = *bytes;
  return {};
}

base::Status Draft::read_rate(const control::TomlField& field) {
  const std::string what = "a rate from \"64K\" to \"1T\" bits per second, or 0";
  const auto bits = field.size(1000, 0, kRateMax, what);
  if (!bits) return bits.error();
  if (*bits > 0 && *bits < kRateMin) return field.is_not(what);
  rights().bits_per_second = *bits;
  return {};
}

base::Status Draft::read_from(const control::TomlField& field) {
  return field.each(kBlocksMax, [&](const control::TomlField& element) -> base::Status {
    const auto text = element.text("an address block like 192.0.2.0/24 or fd00::/8");
    if (!text) return text.error();
    const auto block = control::parse_cidr(*text);
    if (!block) return element.error(block.error().text());
    if (std::ranges::find(rights().from, *block) != rights().from.end()) {
      return element.error(*text + " is given twice");
    }
    rights().from.push_back(*block);
    return {};
  });
}

}  // namespace

base::Result<HostEntry> parse_host_entry(const control::TomlValue& table, const UnitFacts& unit,
                                         TakenByHosts& taken) {
  return Draft(table, unit, taken).read();
}

}  // namespace splitnic::iou
