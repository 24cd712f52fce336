// SMPs against docs/protocol/vectors.
#include "fabric_emul/wire/smp.h"

#include <algorithm>
#include <array>

#include "fabric_emul/wire/smp_lids.h"
#include "fabric_emul/wire/smp_load.h"
#include "fabric_emul/wire/smp_policy.h"
#include "tests/vectors/vector_file.h"

namespace splitnic::fabric {
namespace smp_vectors_test {
using namespace support;

constexpr std::array<std::string_view, 5> kMethods{"", "GET", "SET", "REPLY", "TRAP"};
constexpr std::array<std::string_view, 8> kAttributes{"",     "NODE", "TABLE",  "MANAGER",
                                                      "LIDS", "PORT", "POLICY", "LOAD"};
constexpr std::array<std::string_view, 4> kStates{"down", "up", "held", "unset"};
constexpr std::array<std::string_view, 3> kStages{"", "clear", "set"};

template <class Enum, std::size_t N>
Enum value_of(const std::array<std::string_view, N>& names, const json::object& from,
              const char* name) {
  const auto at = std::ranges::find(names, text(from, name));
  EXPECT_NE(at, names.end()) << name;
  return static_cast<Enum>(at - names.begin());
}

template <class Enum, std::size_t N>
std::string_view name_of(const std::array<std::string_view, N>& names, Enum value) {
  return names.at(static_cast<std::size_t>(value));
}

json::object meaning_of(const SmpNode& node) {
  json::array ports;
  for (const SmpNode::PortInfo& port : node.used_ports()) {
    ports.push_back(json::object{{"number", port.number},
                                 {"state", name_of(kStates, port.state)},
                                 {"lid", port.lid.value},
                                 {"eui64", wide(port.eui64.value)}});
  }
  return {{"lid", node.lid.value},           {"name", node.name},   {"changes", node.changes},
          {"eui64", wide(node.eui64.value)}, {"check", node.check}, {"ports", ports}};
}

json::object meaning_of(const SmpTable& table) {
  return {{"input", table.input},
          {"block", table.block},
          {"stage", name_of(kStages, table.stage)},
          {"parts", table.parts},
          {"changes", table.changes},
          {"check", table.check},
          {"ports", hex_of_bytes(table.ports)}};
}

json::object meaning_of(const PortLids& lids) {
  return {{"lid", lids.base.value}, {"lmc", lids.lmc}};
}

json::object meaning_of(const SmpLids& lids) {
  json::array entries;
  for (const PortLids& one : lids.used_entries()) entries.push_back(meaning_of(one));
  return {
      {"first", lids.first}, {"count", lids.count}, {"check", lids.check}, {"entries", entries}};
}

json::object meaning_of(const SmpPolicy& part) {
  return {{"first", part.first},
          {"count", part.count},
          {"check", part.check},
          {"data", hex_of_bytes(part.data)}};
}

json::array meaning_of(const SmpLoad& load) {
  json::array ports;
  for (const SmpLoad::Port& port : load.used_ports()) {
    ports.push_back(json::object{{"number", port.number}, {"cells", wide(port.cells)}});
  }
  return ports;
}

json::object meaning_of(const Smp& smp) {
  json::array route;
  for (const std::uint8_t port : smp.route.used()) route.push_back(port);
  json::object out{{"method", name_of(kMethods, smp.method)},
                   {"attribute", name_of(kAttributes, smp.attribute)},
                   {"status", static_cast<unsigned>(smp.status)},
                   {"manager", smp.manager.lid.value},
                   {"priority", smp.manager.priority},
                   {"transaction", wide(smp.transaction)},
                   {"hop", smp.hop},
                   {"route", route}};
  SmpNode node;
  SmpTable table;
  SmpLids lids;
  PortLids port;
  SmpPolicy policy;
  SmpLoad load;
  if (smp.attribute == SmpAttribute::kLoad && smp.method == SmpMethod::kReply &&
      smp.status == SmpStatus::kDone) {
    EXPECT_EQ(parse_smp_load(smp.body, load), SmpError::kNone);
    out["load"] = meaning_of(load);
    return out;
  }
  if (smp.body.empty()) return out;
  if (smp.attribute == SmpAttribute::kTable) {
    EXPECT_EQ(parse_smp_table(smp.body, table), SmpError::kNone);
    out["table"] = meaning_of(table);
  } else if (smp.attribute == SmpAttribute::kLids) {
    EXPECT_EQ(parse_smp_lids(smp.body, lids), SmpError::kNone);
    out["lids"] = meaning_of(lids);
  } else if (smp.attribute == SmpAttribute::kPort) {
    EXPECT_EQ(parse_smp_port(smp.body, port), SmpError::kNone);
    out["port"] = meaning_of(port);
  } else if (smp.attribute == SmpAttribute::kPolicy) {
    EXPECT_EQ(parse_smp_policy(smp.body, policy), SmpError::kNone);
    out["policy"] = meaning_of(policy);
  } else {
    EXPECT_EQ(parse_smp_node(smp.body, node), SmpError::kNone);
    out["node"] = meaning_of(node);
  }
  return out;
}

PortLids port_lids_of(const json::object& from) {
  return {Lid(number<std::uint16_t>(from, "lid")), number<std::uint8_t>(from, "lmc")};
}

OwnedBytes body_of(const json::object& from) {
  if (from.contains("node")) {
    const json::object& about = from.at("node").as_object();
    SmpNode node;
    node.lid = Lid(number<std::uint16_t>(about, "lid"));
    node.name = text(about, "name");
    node.changes = number(about, "changes");
    node.eui64 = Eui64(number64(about, "eui64"));
    node.check = number(about, "check");
    for (const json::value& one : about.at("ports").as_array()) {
      const json::object& port = one.as_object();
      node.ports.at(node.port_count++) = {number<std::uint8_t>(port, "number"),
                                          value_of<SmpNode::PortState>(kStates, port, "state"),
                                          Lid(number<std::uint16_t>(port, "lid")),
                                          Eui64(number64(port, "eui64"))};
    }
    OwnedBytes out(node.bytes());
    emit_smp_node(out, node);
    return out;
  }
  if (from.contains("port")) {
    OwnedBytes out(kSmpPortBodyBytes);
    emit_smp_port(out, port_lids_of(from.at("port").as_object()));
    return out;
  }
  if (from.contains("lids")) {
    const json::object& about = from.at("lids").as_object();
    SmpLids lids;
    lids.first = number<std::uint16_t>(about, "first");
    lids.count = number<std::uint16_t>(about, "count");
    lids.check = number(about, "check");
    for (const json::value& one : about.at("entries").as_array()) {
      lids.entries.at(lids.entry_count++) = port_lids_of(one.as_object());
    }
    OwnedBytes out(lids.bytes());
    emit_smp_lids(out, lids);
    return out;
  }
  if (from.contains("policy")) {
    const json::object& about = from.at("policy").as_object();
    const OwnedBytes data = bytes_at(about, "data");
    const SmpPolicy part{number<std::uint16_t>(about, "first"),
                         number<std::uint16_t>(about, "count"), number(about, "check"), data};
    OwnedBytes out(part.bytes());
    emit_smp_policy(out, part);
    return out;
  }
  if (from.contains("load")) {
    SmpLoad load;
    for (const json::value& one : from.at("load").as_array()) {
      const json::object& port = one.as_object();
      load.ports.at(load.port_count++) = {number<std::uint8_t>(port, "number"),
                                          number64(port, "cells")};
    }
    OwnedBytes out(load.bytes());
    emit_smp_load(out, load);
    return out;
  }
  if (!from.contains("table")) return {};
  const json::object& about = from.at("table").as_object();
  const OwnedBytes ports = bytes_at(about, "ports");
  SmpTable table;
  table.input = number<std::uint8_t>(about, "input");
  table.block = number<std::uint16_t>(about, "block");
  table.stage = value_of<SmpTable::Stage>(kStages, about, "stage");
  table.parts = number<std::uint8_t>(about, "parts");
  table.changes = number(about, "changes");
  table.check = number(about, "check");
  table.ports = ports;
  OwnedBytes out(table.bytes());
  emit_smp_table(out, table);
  return out;
}

OwnedBytes smp_of(const json::object& from) {
  const OwnedBytes body = body_of(from);
  Smp smp;
  smp.method = value_of<SmpMethod>(kMethods, from, "method");
  smp.attribute = value_of<SmpAttribute>(kAttributes, from, "attribute");
  smp.status = static_cast<SmpStatus>(number(from, "status"));
  smp.manager = {Lid(number<std::uint16_t>(from, "manager")),
                 number<std::uint8_t>(from, "priority")};
  smp.transaction = number64(from, "transaction");
  smp.hop = number<std::uint8_t>(from, "hop");
  for (const json::value& port : from.at("route").as_array()) {
    smp.route.ports.at(smp.route.hops++) = port.to_number<std::uint8_t>();
  }
  smp.body = body;
  OwnedBytes out(smp.bytes());
  emit_smp(out, smp);
  return out;
}

TEST(SmpVectorsTest, P_SUBN_1_P_SUBN_2_subnet_management) {
  compare_with_vectors(
      "smp",
      [](const Vector& vector) {
        Smp smp;
        const SmpError error = parse_smp(vector.bytes, smp);
        return error == SmpError::kNone ? understood(meaning_of(smp)) : refused(name(error));
      },
      [](const Vector& vector) { return smp_of(vector.meaning); });
}

}  // namespace smp_vectors_test
}  // namespace splitnic::fabric
