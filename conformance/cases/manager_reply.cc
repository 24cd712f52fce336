// Replies that a manager must not take, and what it must not use. docs/protocol/subnet.md#sweep
#include <algorithm>

#include "conformance/case.h"
#include "conformance/cases/subnet_parts.h"
#include "conformance/subnet.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::Lid;
using fabric::SmpAttribute;
using fabric::SmpNode;
using fabric::SmpStatus;
using Stage = fabric::SmpTable::Stage;

constexpr base::Duration kSettles = 3s;

bool is_east_node(const Asked& one) { return one.at == "east" && one.is_node(); }

// Changes the reply. Returns how many times it leaves.
using Spoil = std::function<unsigned(Subnet& s, const Asked& one, OwnedSmp& reply)>;

// It is repeated with the same transaction: what came was no reply to it. The request may be a copy
// that had waited at a suite without a processor, and that has its reply: then the one of the next
// sweep is repeated.
Case& add_ignored(SubnetGroup& group, const std::string& name, const std::string& clause,
                  const std::string& what, const Subnet::Is& suits, Spoil spoil) {
  return group.add(name, clause, what + " is no reply: the request is repeated.",
                   [suits, spoil = std::move(spoil)](Subnet& s) {
                     if (!s.begin()) return;
                     std::optional<std::uint64_t> transaction;
                     bool is_repeated = false;
                     s.on_reply = [&](const Asked& one, OwnedSmp& reply) -> unsigned {
                       if (is_repeated || !suits(one)) return 1;
                       is_repeated = transaction == one.smp.smp.transaction;
                       if (is_repeated) return 1;
                       transaction = one.smp.smp.transaction;
                       return spoil(s, one, reply);
                     };
                     s.await(
                         "the request once more", [&] { return is_repeated; }, kSettles);
                     s.on_reply = {};
                     await_right(s);
                   });
}

void add_replies(SubnetGroup& group) {
  add_ignored(group, "other_transaction", "P-SUBN-12", "A REPLY with another transaction",
              is_east_node, [](Subnet&, const Asked&, OwnedSmp& reply) {
                reply.smp.transaction ^= 0x8000'0000'0000'0000U;
                return 1U;
              });
  add_ignored(group, "other_attribute", "P-SUBN-12", "A REPLY with another attribute", is_east_node,
              [](Subnet&, const Asked&, OwnedSmp& reply) {
                reply.smp.attribute = SmpAttribute::kManager;
                reply.body.clear();
                return 1U;
              });
  add_ignored(
      group, "first_reply_of_another_attribute", "P-SUBN-12", "A REPLY of NODE to SET MANAGER",
      [](const Asked& one) { return one.at == "east" && one.is_first(); },
      [](Subnet& s, const Asked&, OwnedSmp& reply) {
        const SmpNode node = s.at("east").node();
        reply.smp.attribute = SmpAttribute::kNode;
        reply.body.resize(node.bytes());
        fabric::emit_smp_node(reply.body, node);
        return 1U;
      });
  add_ignored(group, "other_way", "P-SUBN-12", "A REPLY of another switch, by another cable",
              is_east_node, [](Subnet& s, const Asked&, OwnedSmp& reply) {
                s.send("west", reply);
                return 0U;
              });
  add_ignored(group, "longer_way", "P-SUBN-12", "A REPLY by a way that its request did not take",
              is_east_node, [](Subnet& s, const Asked&, OwnedSmp& reply) {
                reply.smp.route.hops = 2;
                reply.smp.route.ports[0] = 1;
                reply.smp.route.ports[1] = 1;
                s.send("far", reply);
                return 0U;
              });
  add_ignored(group, "trap_with_its_transaction", "P-SUBN-12", "A TRAP with the transaction",
              is_east_node, [](Subnet&, const Asked&, OwnedSmp& reply) {
                reply.smp.method = fabric::SmpMethod::kTrap;
                reply.body.clear();
                return 1U;
              });
  const auto add_cut = [&](const std::string& name, const std::string& what,
                           std::function<void(ByteVector & body)> change) {
    add_ignored(group, name, "P-SUBN-2", what, is_east_node,
                [change = std::move(change)](Subnet&, const Asked&, OwnedSmp& reply) {
                  change(reply.body);
                  return 1U;
                });
  };
  add_cut("node_without_body", "A REPLY with no body of NODE", [](ByteVector& b) { b.clear(); });
  add_cut("node_cut", "A REPLY with a body of NODE that is cut",
          [](ByteVector& b) { b.pop_back(); });
  add_cut("node_ports", "A REPLY with more ports than the body has",
          [](ByteVector& b) { b.at(2) = std::byte{32}; });
  add_cut("node_port_33", "A REPLY with a port of number 33",
          [](ByteVector& b) { b.at(b.size() - 12) = std::byte{33}; });
  add_cut("node_port_twice", "A REPLY with a port twice",
          [](ByteVector& b) { b.at(b.size() - 12) = b.at(b.size() - 24); });
  add_cut("node_port_state", "A REPLY with an unknown state of a port",
          [](ByteVector& b) { b.at(b.size() - 11) = std::byte{4}; });
  add_cut("node_name", "A REPLY whose name has a control character",
          [](ByteVector& b) { b.at(fabric::kSmpNodeBytes) = std::byte{7}; });
}

void add_other_block(SubnetGroup& group) {
  group.add(
      "table_of_another_block", "P-SUBN-12",
      "A REPLY with another block is not taken for it: the table is read again.", [](Subnet& s) {
        if (!s.begin()) return;
        std::optional<std::uint16_t> spoiled;
        bool has_looked = false;
        std::size_t too_early = 0;
        s.on_reply = [&](const Asked& one, OwnedSmp& reply) -> unsigned {
          if (spoiled) {
            has_looked |= one.is_node() || (one.is_read() && one.smp.table().block == *spoiled);
            too_early += one.sets_table() && !has_looked ? 1U : 0U;
          } else if (one.is_read()) {
            spoiled = one.smp.table().block;
            reply.body.at(1) ^= std::byte{1};
          }
          return 1;
        };
        s.at("far").table.at(kEastNodeLid.value) = std::byte{2};
        s.send_trap("far");
        s.await(
            "GET TABLE", [&] { return spoiled.has_value(); }, kSettles);
        await_right(s);
        s.expect(too_early == 0, "a sweep or the same block before any table");
      });
  group.add(
      "set_of_another_block", "P-SUBN-12",
      "A REPLY with another block does not end stage clear: that block is set again, or a sweep.",
      [](Subnet& s) {
        if (!s.begin()) return;
        std::optional<std::uint16_t> spoiled;
        bool has_looked = false;
        std::size_t too_early = 0;
        s.on_reply = [&](const Asked& one, OwnedSmp& reply) -> unsigned {
          const bool is_clear = one.at == "west" && one.is_stage(Stage::kClear);
          if (spoiled) {
            has_looked |= one.is_node() || (is_clear && one.smp.table().block == *spoiled);
            too_early += one.is_stage(Stage::kSet) && !has_looked ? 1U : 0U;
          } else if (is_clear) {
            spoiled = one.smp.table().block;
            reply.body.at(1) ^= std::byte{1};
          }
          return 1;
        };
        s.set_cable("east", 2, PlayedPort::State::kDown);
        s.await(
            "stage clear at west", [&] { return spoiled.has_value(); }, kSettles);
        await_right(s);
        s.expect(too_early == 0, "a sweep or the same block before stage set");
      });
}

void add_late_replies(SubnetGroup& group) {
  group.add("twice", "P-SUBN-12", "REPLYs that come twice count once.", [](Subnet& s) {
    if (!s.begin()) return;
    s.on_reply = [](const Asked&, OwnedSmp&) { return 2U; };
    s.set_cable("east", 3, PlayedPort::State::kDown);
    await_right(s);
  });
  group.add("late", "P-SUBN-12", "A REPLY of an earlier sweep changes nothing.", [](Subnet& s) {
    if (!s.begin()) return;
    std::optional<OwnedSmp> kept;
    s.on_reply = [&](const Asked& one, OwnedSmp& reply) -> unsigned {
      if (!kept && is_east_node(one)) kept = reply;
      return 1;
    };
    if (!s.await("GET NODE", [&] { return kept.has_value(); })) return;
    s.set_cable("east", 3, PlayedPort::State::kDown);
    if (!await_right(s)) return;
    s.forget();
    for (int i = 0; i < 100; ++i) {
      s.send("east", *kept);
      s.listen(5ms);
    }
    s.expect(s.are_tables_right(), "tables that follow from what is up now");
    s.expect(s.count([](const Asked& one) { return one.sets_table(); }) == 0, "no table for it");
  });
  add_other_block(group);
  for (const SmpStatus status : {SmpStatus::kBad, SmpStatus::kStale}) {
    group.add("first_" + std::string(name(status)), "P-SUBN-14",
              "A switch that replies " + std::string(name(status)) + " to SET MANAGER is left out.",
              [status](Subnet& s) {
                if (!s.begin()) return;
                s.at("far").is_right = false;
                s.on_reply = [&](const Asked& one, OwnedSmp& reply) -> unsigned {
                  if (one.at == "far" && one.is_first()) reply.smp.status = status;
                  return 1;
                };
                await_right(s);
              });
  }
  group.add_harmful("reply_flood", "P-SUBN-12", "Thousands of replies to nothing change nothing.",
                    [](Subnet& s) {
                      if (!s.begin()) return;
                      OwnedSmp reply = s.at("east").serve(
                          Subnet::request(fabric::SmpMethod::kGet, SmpAttribute::kNode, {}).smp);
                      reply.smp.route.hops = 1;
                      reply.smp.route.ports[0] = 1;
                      for (int i = 0; i < 4000; ++i) {
                        reply.smp.transaction = s.end(kEastPort).random().next();
                        s.send("east", reply);
                        if (i % 50 == 0) s.listen(1ms);
                      }
                      s.listen(50ms);
                      s.set_cable("east", 3, PlayedPort::State::kDown);
                      await_right(s);
                    });
}

// A manager may read loads, and manages without them.
void add_loads(SubnetGroup& group) {
  const auto add = [&](const std::string& name, const std::string& what,
                       unsigned (*change)(OwnedSmp & reply)) {
    group.add(name, "P-SUBN-32", "A switch that " + what + " to GET LOAD is managed as before.",
              [change](Subnet& s) {
                if (!s.begin()) return;
                s.on_reply = [change](const Asked& one, OwnedSmp& reply) -> unsigned {
                  return one.is_load() ? change(reply) : 1U;
                };
                s.set_cable("east", 3, PlayedPort::State::kDown);
                if (!await_right(s)) return;
                s.listen(2 * kSweepEvery);
                s.set_cable("east", 3, PlayedPort::State::kHeld);
                await_right(s);
              });
  };
  add("load_never_replied", "never replies", [](OwnedSmp&) { return 0U; });
  add("load_bad", "replies bad", [](OwnedSmp& reply) {
    reply.smp.status = SmpStatus::kBad;
    reply.body.clear();
    return 1U;
  });
  group.add("load_delays_no_sweep", "P-SUBN-32", "No sweep waits for a REPLY to GET LOAD.",
            [](Subnet& s) {
              if (!s.begin()) return;
              const auto is_load = [](const Asked& one) { return one.is_load(); };
              const auto is_first = [](const Asked& one) { return one.is_first(); };
              s.on_reply = [](const Asked& one, OwnedSmp&) { return one.is_load() ? 0U : 1U; };
              s.forget();
              if (!s.wait_for([&] { return s.find(is_load) != nullptr; }, 4 * kSweepEvery)) {
                return s.outcome().skip("the manager sends no GET LOAD");
              }
              s.forget();
              s.send_trap("east");
              const bool has_swept = s.wait_for([&] { return s.find(is_first) != nullptr; }, 200ms);
              s.expect(has_swept, "a sweep within 200 ms of TRAP");
            });
}

// A switch or port that the file has otherwise is not used, and nothing leads there.
void add_contradictions(SubnetGroup& group) {
  const auto add = [&](const std::string& name, const std::string& what,
                       std::function<void(Subnet & s)> change,
                       const std::string& clause = "P-SUBN-7") {
    group.add(name, clause, what + " is not used.", [change = std::move(change)](Subnet& s) {
      if (!s.begin()) return;
      change(s);
      s.send_trap("far");
      s.send_trap("west");
      s.listen(50ms);
      await_right(s);
      s.expect_own_table_right();
    });
  };
  add("node_other_lid", "A switch with another LID than the file has", [](Subnet& s) {
    s.at("far").lid = Lid(77);
    s.at("far").is_right = false;
  });
  add("node_lid_of_another", "A switch with the LID of another one", [](Subnet& s) {
    s.at("far").lid = kWestLid;
    s.at("far").is_right = false;
  });
  add("node_other_name", "A switch with another name than the file has", [](Subnet& s) {
    s.at("far").is_right = false;
    s.on_reply = [](const Asked& one, OwnedSmp& reply) -> unsigned {
      SmpNode node;
      if (one.at != "far" || !one.is_node() ||
          fabric::parse_smp_node(reply.body, node) != fabric::SmpError::kNone) {
        return 1;
      }
      node.name = "near";
      reply.body.resize(node.bytes());
      fabric::emit_smp_node(reply.body, node);
      return 1;
    };
  });
  add(
      "node_eui64_of_another", "A switch with the EUI-64 of one that the file has before it",
      [](Subnet& s) {
        s.at("far").eui64 = s.at("west").eui64;
        s.at("far").is_right = false;
      },
      "P-SUBN-31");
  add("port_other_lid", "A port with another LID at its cable", [](Subnet& s) {
    s.at("west").find(3)->lid = Lid(77);
    s.at("west").find(3)->is_right = false;
  });
  add("port_crossed", "A port that has the LID of another cable", [](Subnet& s) {
    s.at("west").find(3)->lid = kEastLid;
    s.at("west").find(3)->is_right = false;
  });
  add("port_unknown", "A cable that the file has not, in place of one that is down,",
      [](Subnet& s) {
        s.set_cable("west", 3, PlayedPort::State::kDown);
        s.at("west").ports.push_back(
            {.number = 9, .peer = "far", .peer_port = 9, .lid = kFarSwitchLid, .is_right = false});
        s.at("far").ports.push_back(
            {.number = 9, .peer = "west", .peer_port = 9, .lid = kWestLid, .is_right = false});
      });
  add("port_missing", "A cable whose port is not reported", [](Subnet& s) {
    std::erase_if(s.at("west").ports, [](const PlayedPort& p) { return p.number == 2; });
    s.at("east").find(2)->is_right = false;
  });
}

}  // namespace

std::vector<Case> manager_reply_cases() {
  SubnetGroup group("manager");
  add_replies(group);
  add_late_replies(group);
  add_loads(group);
  add_contradictions(group);
  return group.take();
}

}  // namespace splitnic::conformance
