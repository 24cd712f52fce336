#include "switch_module/topology_partitions.h"

#include <algorithm>
#include <map>

#include "control/config/toml_field.h"
#include "control/config/values.h"
#include "switch_module/topology_file.h"

namespace splitnic::fabric_switch {
namespace {

using control::TomlField;
using control::TomlValue;
using fabric::PartitionKey;
using fabric::Topology;

// An id occurs once, and a node once in a partition.
class PartitionReader {
 public:
  explicit PartitionReader(Topology& topology) : topology_(topology) {}
  base::Status read(const TomlValue& tables);

 private:
  base::Status read_partition(const TomlValue& table);
  base::Result<PartitionKey> read_id(const TomlField& field);
  base::Status read_members(const TomlField& field, PartitionKey key);

  Topology& topology_;
  std::map<PartitionKey, control::TomlPlace> taken_;
};

base::Result<PartitionKey> PartitionReader::read_id(const TomlField& field) {
  const auto number =
      field.number(fabric::kFullMember + 1, 0xFFFF, "the key of the full members of a partition");
  if (!number) return number.error();
  const PartitionKey key(static_cast<std::uint16_t>(*number));
  const auto [taken, is_new] = taken_.try_emplace(key, field.at());
  if (!is_new) {
    return field.error(text_of(key) + " is taken in line " + std::to_string(taken->second.line));
  }
  return key;
}

base::Status PartitionReader::read_members(const TomlField& field, PartitionKey key) {
  return field.each(kNodesMax, [&](const TomlField& element) -> base::Status {
    const auto name = element.text("the name of a node");
    if (!name) return name.error();
    const auto node = std::ranges::find(topology_.nodes, *name, &Topology::Node::name);
    if (node == topology_.nodes.end() || !control::is_node_name(*name))
      return element.error("there is no [nodes." + *name + "]");
    const bool is_member = std::ranges::any_of(
        node->partitions, [&](PartitionKey other) { return number_of(other) == number_of(key); });
    if (is_member) return element.error(*name + " is given twice");
    if (node->partitions.size() == fabric::PartitionTable::kKeysMax) {
      return element.error(*name + " is a member of more than " +
                           std::to_string(fabric::PartitionTable::kKeysMax));
    }
    node->partitions.push_back(key);
    return {};
  });
}

base::Status PartitionReader::read_partition(const TomlValue& table) {
  const std::string context = "[partitions." + table.name + "]";
  if (!control::is_node_name(table.name)) {
    return control::error_at(table.name_at, "'" + table.name + "' is not a name of 1 to 64 " +
                                                "letters, digits, '.', '_' and '-'");
  }
  if (table.kind != TomlValue::Kind::kTable) return TomlField(table, context).is_not("a table");
  const auto id = std::ranges::find(table.inside, "id", &TomlValue::name);
  if (id == table.inside.end()) {
    return control::error_at(table.name_at, context + ": id is missing");
  }
  const auto key = read_id(TomlField(*id, context + " id"));
  if (!key) return key.error();
  for (const TomlValue& value : table.inside) {
    const TomlField field(value, context + " " + value.name);
    base::Status read;
    if (value.name == "members") {
      read = read_members(field, *key);
    } else if (value.name == "limited") {
      read = read_members(field, as_limited_member(*key));
    } else if (value.name != "id") {
      return control::error_at(value.name_at, context + ": there is no field " + value.name);
    }
    if (!read) return read.error();
  }
  return {};
}

base::Status PartitionReader::read(const TomlValue& tables) {
  if (tables.inside.size() > kPartitionsMax) {
    return control::error_at(tables.name_at,
                             "more than " + std::to_string(kPartitionsMax) + " in [partitions]");
  }
  for (const TomlValue& table : tables.inside) {
    if (auto read = read_partition(table); !read) return read.error();
  }
  // The queues of a node follow it, and have its keys.
  const Topology::Node* first = nullptr;
  for (Topology::Node& node : topology_.nodes) {
    if (first != nullptr && node.name.starts_with(first->name + "#")) {
      node.partitions = first->partitions;
      continue;
    }
    if (node.partitions.empty()) node.partitions.push_back(fabric::kDefaultPartition);
    first = &node;
  }
  return {};
}

}  // namespace

base::Status read_partitions(const control::TomlValue& tables, fabric::Topology& topology) {
  return PartitionReader(topology).read(tables);
}

}  // namespace splitnic::fabric_switch
