#include "switch_module/topology_network.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "control/config/ip_address.h"
#include "control/config/toml_field.h"
#include "control/config/values.h"
#include "fabric_emul/switching/network_layer.h"

namespace splitnic::fabric_switch {
namespace {

using control::TomlField;
using control::TomlValue;
using fabric::NetworkAddress;
using fabric::NetworkPrefix;
using fabric::Topology;

constexpr unsigned kSubnetBits = 64;

NetworkAddress network_address_from(const control::IpAddress& address) {
  NetworkAddress out;
  const auto bytes = address.to_v6().to_bytes();
  std::memcpy(out.bytes.data(), bytes.data(), bytes.size());
  return out;
}

std::optional<NetworkPrefix> parse_prefix(const std::string& text) {
  const auto block = control::parse_cidr(text);
  if (!block || !block->network.is_v6()) return std::nullopt;
  return NetworkPrefix{network_address_from(block->network), block->prefix_bits};
}

// Prefixes and names occur once, a route is by a switch or node of the file, and a remote has a
// route by a switch.
class NetworkReader {
 public:
  explicit NetworkReader(Topology& topology) : topology_(topology) {}
  base::Status read(const NetworkFields& fields);

 private:
  base::Status read_subnet(const TomlValue& value);
  base::Status read_route(const TomlValue& value);
  base::Result<std::vector<std::string>> read_routers(const TomlValue& value,
                                                      const TomlField& field);
  base::Status read_remote(const TomlValue& value);
  bool is_switch(const std::string& name) const;
  bool is_in_partition(const std::string& name) const;
  bool is_taken(const std::string& name) const;

  Topology& topology_;
  Topology::Network network_;
};

base::Status NetworkReader::read_subnet(const TomlValue& value) {
  const TomlField field(value, "prefix");
  constexpr const char* kForm = "a prefix of 64 bits such as fd00:a::/64";
  const auto text = field.text(kForm);
  if (!text) return text.error();
  const auto prefix = parse_prefix(*text);
  if (!prefix || prefix->bits != kSubnetBits) return field.is_not(kForm);
  network_.subnet = prefix->address;
  return {};
}

base::Status NetworkReader::read_route(const TomlValue& value) {
  const auto prefix = parse_prefix(value.name);
  if (!prefix) {
    return control::error_at(value.name_at,
                             "[routes]: '" + value.name + "' is not a prefix such as fd00:b::/64");
  }
  const TomlField field(value, "[routes] " + value.name);
  const auto routers = read_routers(value, field);
  if (!routers) return routers.error();
  if (prefix->bits >= kSubnetBits && is_same_subnet(prefix->address, network_.subnet)) {
    return control::error_at(value.name_at, "[routes]: " + value.name + " is in this subnet");
  }
  for (const Topology::Network::Route& other : network_.routes) {
    if (other.to != *prefix) continue;
    return control::error_at(value.name_at, "[routes]: " + value.name + " is given twice");
  }
  network_.routes.push_back(
      {*prefix, routers->front(), std::vector(routers->begin() + 1, routers->end())});
  return {};
}

// One switch or node, or a list of switches.
base::Result<std::vector<std::string>> NetworkReader::read_routers(const TomlValue& value,
                                                                   const TomlField& field) {
  std::vector<std::string> routers;
  const bool is_list = value.kind == TomlValue::Kind::kList;
  const std::string what = is_list ? "a switch" : "a switch or node";
  const auto read = [&](const TomlField& one) -> base::Status {
    const auto name = one.text("the name of " + what);
    if (!name) return name.error();
    if (is_list ? !is_switch(*name) : !is_taken(*name)) return one.is_not(what + " of this file");
    if (is_in_partition(*name)) {
      return one.error(*name + " is in a partition, and the leg to a LAN is in none");
    }
    if (std::ranges::find(routers, *name) != routers.end()) {
      return one.error(*name + " is given twice");
    }
    routers.push_back(*name);
    return {};
  };
  if (auto done = is_list ? field.each(fabric::kRoutersMax, read) : read(field); !done) {
    return done.error();
  }
  return routers;
}

bool NetworkReader::is_switch(const std::string& name) const {
  return std::ranges::find(topology_.switches, name, &Topology::Switch::name) !=
         topology_.switches.end();
}

bool NetworkReader::is_taken(const std::string& name) const {
  return is_switch(name) ||
         std::ranges::find(topology_.nodes, name, &Topology::Node::name) != topology_.nodes.end();
}

bool NetworkReader::is_in_partition(const std::string& name) const {
  const auto node = std::ranges::find(topology_.nodes, name, &Topology::Node::name);
  return node != topology_.nodes.end() && !node->partitions.empty() &&
         node->partitions != std::vector{fabric::kDefaultPartition};
}

base::Status NetworkReader::read_remote(const TomlValue& value) {
  if (!control::is_node_name(value.name)) {
    return control::error_at(value.name_at, "'" + value.name + "' is not a name of 1 to 64 " +
                                                "letters, digits, '.', '_' and '-'");
  }
  if (is_taken(value.name)) {
    return control::error_at(value.name_at, "[remotes]: " + value.name + " is in this subnet");
  }
  const TomlField field(value, "[remotes] " + value.name);
  constexpr const char* kForm = "a prefix and a LID such as fd00:b::14";
  const auto text = field.text(kForm);
  if (!text) return text.error();
  const auto parsed = control::parse_ip(*text);
  if (!parsed || !parsed->is_v6() || !lid_in(network_address_from(*parsed))) {
    return field.is_not(kForm);
  }
  const NetworkAddress address = network_address_from(*parsed);
  if (is_same_subnet(address, network_.subnet)) return field.error(*text + " is in this subnet");
  const bool has_route = std::ranges::any_of(network_.routes, [&](const auto& route) {
    return route.to.contains(address) && is_switch(route.via);
  });
  if (!has_route) return field.error("no route leads to " + *text);
  network_.remotes.emplace(value.name, address);
  return {};
}

base::Status NetworkReader::read(const NetworkFields& fields) {
  const auto each = [](const TomlValue* tables, std::size_t max, auto&& read_one) -> base::Status {
    if (tables == nullptr) return {};
    if (tables->inside.size() > max) {
      return control::error_at(tables->name_at,
                               "more than " + std::to_string(max) + " in [" + tables->name + "]");
    }
    for (const TomlValue& value : tables->inside) {
      if (auto read = read_one(value); !read) return read.error();
    }
    return {};
  };
  if (auto read = read_subnet(*fields.prefix); !read) return read;
  auto routes =
      each(fields.routes, kRoutesMax, [this](const TomlValue& value) { return read_route(value); });
  if (!routes) return routes;
  auto remotes = each(fields.remotes, kRemotesMax,
                      [this](const TomlValue& value) { return read_remote(value); });
  if (!remotes) return remotes;
  std::set<std::string> routers;
  for (const Topology::Network::Route& route : network_.routes) {
    if (is_switch(route.via)) routers.insert(route.via);
    routers.insert(route.others.begin(), route.others.end());
  }
  if (routers.size() > fabric::kRoutersMax) {
    return control::error_at(fields.routes->name_at,
                             "more than " + std::to_string(fabric::kRoutersMax) + " routers");
  }
  topology_.network = std::move(network_);
  return {};
}

}  // namespace

base::Status read_network(const NetworkFields& fields, fabric::Topology& topology) {
  if (fields.prefix != nullptr) return NetworkReader(topology).read(fields);
  const TomlValue* without = fields.routes != nullptr ? fields.routes : fields.remotes;
  if (without == nullptr) return {};
  return control::error_at(without->name_at, "[" + without->name + "]: prefix is missing");
}

}  // namespace splitnic::fabric_switch
