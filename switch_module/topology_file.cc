#include "switch_module/topology_file.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "control/config/text_file.h"
#include "control/config/toml_field.h"
#include "control/config/values.h"
#include "fabric_emul/routing/routing.h"
#include "fabric_emul/session/keys.h"
#include "fabric_emul/switching/lid_numbers.h"
#include "fabric_emul/switching/queue_lid.h"
#include "fabric_emul/switching/switch_lanes.h"
#include "switch_module/taken_lids.h"
#include "switch_module/topology_network.h"
#include "switch_module/topology_partitions.h"
#include "switch_module/topology_places.h"

namespace splitnic::fabric_switch {
namespace {

using control::TomlField;
using control::TomlValue;
using fabric::Lid;
using fabric::PortPlace;
using fabric::Topology;
using fabric::session::PublicKey;

std::string line_of(const control::TomlPlace& at) { return " in line " + std::to_string(at.line); }

// Reads the name of a kind to `to`.
template <class Kind>
base::Status read_kind(const TomlField& field, const std::string& kinds,
                       std::optional<Kind> (*parse)(std::string_view), Kind& to) {
  const auto text = field.text(kinds);
  if (!text) return text.error();
  const auto kind = parse(*text);
  if (!kind) return field.is_not(kinds);
  to = *kind;
  return {};
}

// Names, LIDs, keys and places occur once.
class TopologyReader {
 public:
  base::Result<TopologyFile> read(const TomlValue& file);

 private:
  struct Entry {
    Lid lid;
    std::uint8_t lmc = 0;
    std::vector<PortPlace> at;  // of queue 0, 1, ...
    fabric::SlToLane lanes = fabric::kLaneOfSl;
  };

  base::Status read_tables(const TomlValue& tables, bool are_nodes);
  base::Result<Entry> read_entry(const TomlValue& table, bool is_node);
  base::Status read_cables(const TomlValue& cables);
  base::Result<Lid> read_lid(const TomlField& field);
  base::Status read_key(const TomlField& field, const std::string& name);
  static base::Result<fabric::SlToLane> read_lanes(const TomlField& field);
  void add_node(const std::string& name, const Entry& entry);
  base::Status check_routing() const;
  base::Status check_tables_per() const;
  base::Status check_lids_of_queues() const;
  base::Status number_nodes(const TomlValue* prefix);
  bool has_lid(bool is_node) const {
    return !is_node || topology_.lids_from == fabric::GivenBy::kFile;
  }

  Topology topology_;
  std::map<std::string, PublicKey> keys_;
  std::map<std::string, control::TomlPlace> names_;
  TakenLids lids_;
  std::map<PublicKey, control::TomlPlace> taken_keys_;
  TopologyPlaces places_;
  std::optional<TomlField> routing_, per_, lids_from_;
  bool has_queues_ = false;  // a node has several
};

base::Result<Lid> TopologyReader::read_lid(const TomlField& field) {
  const auto number = field.number(1, fabric::kPortLidMax, "a LID");
  if (!number) return number.error();
  const Lid lid(static_cast<std::uint16_t>(*number));
  if (auto taken = lids_.take(field, lid); !taken) return taken.error();
  return lid;
}

base::Status TopologyReader::read_key(const TomlField& field, const std::string& name) {
  const auto text = field.text("a public key in base64");
  if (!text) return text.error();
  const auto key = fabric::session::parse_public_key(*text);
  if (!key) return field.is_not(std::string(fabric::session::kPublicKeyForm));
  const auto [taken, is_new] = taken_keys_.try_emplace(*key, field.at());
  if (!is_new) return field.error("it is taken" + line_of(taken->second));
  keys_.emplace(name, *key);
  return {};
}

// A lane for each service level, from 0.
base::Result<fabric::SlToLane> TopologyReader::read_lanes(const TomlField& field) {
  fabric::SlToLane lanes{};
  std::size_t count = 0;
  const auto read = field.each(lanes.size(), [&](const TomlField& element) -> base::Status {
    const auto lane = element.number(0, fabric::kDataLanes - 1, "a lane");
    if (!lane) return lane.error();
    lanes.at(count++) = static_cast<std::uint8_t>(*lane);
    return {};
  });
  if (!read) return read.error();
  if (count < lanes.size()) {
    return field.error("there are " + std::to_string(count) + " of " +
                       std::to_string(lanes.size()) + " service levels");
  }
  return lanes;
}

// Each queue is a node with the key of the whole.
void TopologyReader::add_node(const std::string& name, const Entry& entry) {
  has_queues_ |= entry.at.size() > 1;
  const auto key = keys_.find(name);
  for (std::uint32_t queue = 0; queue < entry.at.size(); ++queue) {
    const std::string queue_name = fabric::name_of_queue(name, queue);
    topology_.nodes.push_back(
        {queue_name, fabric::lid_of_queue(entry.lid, queue), entry.at[queue], {}, entry.lmc});
    if (key != keys_.end()) keys_.try_emplace(queue_name, key->second);
  }
}

base::Result<TopologyReader::Entry> TopologyReader::read_entry(const TomlValue& table,
                                                               bool is_node) {
  const std::string context = (is_node ? "[nodes." : "[switches.") + table.name + "]";
  if (!control::is_node_name(table.name)) {
    return control::error_at(table.name_at, "'" + table.name + "' is not a name of 1 to 64 " +
                                                "letters, digits, '.', '_' and '-'");
  }
  const auto [taken, is_new] = names_.try_emplace(table.name, table.name_at);
  if (!is_new) {
    return control::error_at(table.name_at, table.name + " is taken" + line_of(taken->second));
  }
  if (table.kind != TomlValue::Kind::kTable) {
    return TomlField(table, context).is_not("a table");
  }
  Entry entry;
  std::optional<TomlField> lmc;
  for (const TomlValue& value : table.inside) {
    const TomlField field(value, context + " " + value.name);
    if (value.name == "lid" && !has_lid(is_node)) {
      return field.error("the subnet manager gives it: leave out lid, or lids = \"manager\"");
    } else if (value.name == "lid") {
      const auto lid = read_lid(field);
      if (!lid) return lid.error();
      entry.lid = *lid;
    } else if (value.name == "key") {
      if (auto read = read_key(field, table.name); !read) return read.error();
    } else if (value.name == "lanes" && !is_node) {
      const auto lanes = read_lanes(field);
      if (!lanes) return lanes.error();
      entry.lanes = *lanes;
    } else if (value.name == "lmc" && is_node) {
      const auto number = field.number(0, fabric::kLmcMax, "a LID mask control");
      if (!number) return number.error();
      entry.lmc = static_cast<std::uint8_t>(*number);
      lmc.emplace(field);
    } else if (value.name == "at" && is_node) {
      auto places = places_.take_all(value, field);
      if (!places) return places.error();
      entry.at = *std::move(places);
    } else {
      return control::error_at(value.name_at, context + ": there is no field " + value.name);
    }
  }
  if (entry.lid == Lid() && has_lid(is_node))
    return control::error_at(table.name_at, context + ": lid is missing");
  if (is_node && entry.at.empty())
    return control::error_at(table.name_at, context + ": at is missing");
  if (lmc && has_lid(is_node)) {
    if (auto rest = lids_.take_rest(*lmc, {entry.lid, entry.lmc}); !rest) return rest.error();
  }
  return entry;
}

base::Status TopologyReader::read_tables(const TomlValue& tables, bool are_nodes) {
  const std::size_t max = are_nodes ? kNodesMax : kSwitchesMax;
  if (tables.inside.size() > max) {
    return control::error_at(tables.name_at,
                             "more than " + std::to_string(max) + " in " + "[" + tables.name + "]");
  }
  for (const TomlValue& table : tables.inside) {
    const auto entry = read_entry(table, are_nodes);
    if (!entry) return entry.error();
    if (are_nodes) {
      add_node(table.name, *entry);
    } else {
      topology_.switches.push_back({table.name, entry->lid, entry->lanes});
    }
  }
  return {};
}

// "SWITCH:PORT - SWITCH:PORT"
base::Status TopologyReader::read_cables(const TomlValue& cables) {
  constexpr std::string_view kBetween = " - ";
  constexpr const char* kForm = "'SWITCH:PORT - SWITCH:PORT'";
  return TomlField(cables, "cables")
      .each(kSwitchesMax * fabric::kSwitchPortsMax, [&](const TomlField& field) -> base::Status {
        const auto text = field.text(kForm);
        if (!text) return text.error();
        const std::string_view ends = *text;
        const std::size_t between = ends.find(kBetween);
        if (between == std::string_view::npos) return field.is_not(kForm);
        const auto a = places_.take(field, ends.substr(0, between));
        if (!a) return a.error();
        const auto b = places_.take(field, ends.substr(between + kBetween.size()));
        if (!b) return b.error();
        if (a->of_switch == b->of_switch) return field.error("both ends are at the same switch");
        topology_.cables.push_back({*a, *b});
        return {};
      });
}

// Other subnets name nodes by network addresses, which have LIDs in them.
base::Status TopologyReader::number_nodes(const TomlValue* prefix) {
  if (topology_.lids_from == fabric::GivenBy::kFile) return {};
  if (prefix != nullptr) {
    return lids_from_->error("a subnet with a prefix has its LIDs in the file: leave out one");
  }
  if (auto numbered = fabric::number_nodes(topology_); !numbered) {
    return lids_from_->error(numbered.error().text());
  }
  return {};
}

// A manager keeps all tables of the subnet.
base::Status TopologyReader::check_tables_per() const {
  if (topology_.tables_per == fabric::TablesPer::kSwitch ||
      topology_.switches.size() <= kSwitchesPerInputMax) {
    return {};
  }
  return per_->error("there are " + std::to_string(topology_.switches.size()) +
                     " switches, and per_input is for " + std::to_string(kSwitchesPerInputMax) +
                     " at most");
}

// The routing finds routes, or the topology is not what it is for.
base::Status TopologyReader::check_routing() const {
  using fabric::RoutingKind;
  const bool is_layered = topology_.routing == RoutingKind::kLayered;
  if (!is_layered && topology_.routing != RoutingKind::kFatTree) return {};
  if (is_layered && topology_.pins_vl) {
    return routing_->error("layered sets the lanes of cells, and pin_vl keeps them: leave out one");
  }
  const auto tables = fabric::make_routing(topology_.routing)->tables(fabric::graph_of(topology_));
  if (tables) return {};
  return routing_->error(tables.error().text());
}

// The LIDs beyond are those of queues.
base::Status TopologyReader::check_lids_of_queues() const {
  if (!has_queues_) return {};
  return lids_.check_below(Lid(fabric::kNodeLids),
                           ", as it must be where nodes have several queues");
}

base::Result<TopologyFile> TopologyReader::read(const TomlValue& file) {
  const TomlValue* partitions = nullptr;
  NetworkFields network;
  const auto lids = std::ranges::find(file.inside, "lids", &TomlValue::name);
  if (lids != file.inside.end()) {
    auto read = read_kind(lids_from_.emplace(*lids, lids->name), "file or manager",
                          fabric::parse_given_by, topology_.lids_from);
    if (!read) return read.error();
  }
  for (const TomlValue& value : file.inside) {
    const bool is_table = value.kind == TomlValue::Kind::kTable;
    base::Status read;
    if (value.name == "lids") continue;
    if (value.name == "cables") {
      read = read_cables(value);
    } else if (value.name == "routing") {
      read = read_kind(routing_.emplace(value, value.name), std::string(fabric::kRoutingNames),
                       fabric::parse_routing, topology_.routing);
    } else if (value.name == "tables") {
      read = read_kind(per_.emplace(value, value.name), "per_switch or per_input",
                       fabric::parse_tables_per, topology_.tables_per);
    } else if (value.name == "policy") {
      read = read_kind(TomlField(value, value.name), "file or manager", fabric::parse_given_by,
                       topology_.policy_from);
    } else if (value.name == "pin_vl") {
      const auto flag = TomlField(value, "pin_vl").flag();
      if (!flag) return flag.error();
      topology_.pins_vl = *flag;
    } else if (is_table && (value.name == "switches" || value.name == "nodes")) {
      read = read_tables(value, value.name == "nodes");
    } else if (is_table && value.name == "partitions") {
      partitions = &value;
    } else if (value.name == "prefix") {
      network.prefix = &value;
    } else if (is_table && value.name == "routes") {
      network.routes = &value;
    } else if (is_table && value.name == "remotes") {
      network.remotes = &value;
    } else {
      return control::error_at(
          value.name_at,
          "there are only cables, routing, tables, lids, policy, pin_vl, prefix, [switches.NAME], "
          "[nodes.NAME], [partitions.NAME], [routes] and [remotes] in this file");
    }
    if (!read) return read.error();
  }
  std::set<std::string_view> switches;
  for (const Topology::Switch& one : topology_.switches) switches.insert(one.name);
  if (auto checked = places_.check(switches); !checked) return checked.error();
  if (auto checked = check_lids_of_queues(); !checked) return checked.error();
  if (auto numbered = number_nodes(network.prefix); !numbered) return numbered.error();
  if (partitions != nullptr) {
    if (auto read = read_partitions(*partitions, topology_); !read) return read.error();
  }
  if (auto read = read_network(network, topology_); !read) return read.error();
  if (topology_.switches.empty()) return control::error_at({1, 1}, "there is no switch");
  if (auto checked = check_tables_per(); !checked) return checked.error();
  if (auto checked = check_routing(); !checked) return checked.error();
  return TopologyFile{std::move(topology_), std::move(keys_)};
}

}  // namespace

base::Result<TopologyFile> parse_topology(std::string_view text) {
  if (text.size() > kTopologyBytesMax) return control::too_long(kTopologyBytesMax);
  const auto parsed = control::parse_toml(text, control::TomlStrings::kAscii);
  if (!parsed) return parsed.error();
  return TopologyReader().read(*parsed);
}

base::Result<TopologyFile> read_topology(const std::string& path) {
  const auto text = control::read_text_file(path, kTopologyBytesMax);
  if (!text) return text.error().within(path);
  auto file = parse_topology(text->bytes);
  if (!file) return file.error().within(path);
  if (!file->keys.empty() && !text->untrusted.empty()) {
    return base::Error(text->untrusted).within(path);
  }
  return file;
}

}  // namespace splitnic::fabric_switch
