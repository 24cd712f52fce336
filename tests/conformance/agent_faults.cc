// Wrong agents, by the SMPs and cells at the cables of a switch. What an agent does not check the
// relay at its port repairs on the way in.
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/endian.h"
#include "fabric_emul/wire/smp_load.h"
#include "tests/conformance/subnet_rules.h"

namespace splitnic::conformance {
namespace {

using namespace subnet_rules;

void add_agent_checks(std::vector<Fault>& all) {
  all.push_back(
      fault_of("agent_any_source", "the SLID of an SMP is not compared", "agent.source_3", [] {
        return cell_rule(To::kTarget, [](const CellView& view, RelayBytes& cell) {
          if (view.header.dqpn == kSubnetQpn && view.header.slid != kEastLid)
            base::store_be(&cell[6], kEastLid.value);
          return true;
        });
      }));
  all.push_back(of_byte("agent_any_format", "SMPs of any format are served", "agent.format", 0, 1));
  const auto repaired = [&](const std::string& name, const std::string& what,
                            const std::string& noticed_by, ChangePayload change) {
    all.push_back(fault_of(name, what, noticed_by, [change = std::move(change)] {
      return payload_rule(To::kTarget, change);
    }));
  };
  const auto at_most = [](std::size_t at, unsigned most) {
    return [=](RelayBytes& p) {
      if (p.size() > at && std::to_integer<unsigned>(p[at]) > most) p[at] = std::byte{1};
      return true;
    };
  };
  repaired("agent_any_method", "an unknown method counts as GET", "agent.method_5", at_most(1, 4));
  repaired("agent_any_attribute", "an unknown attribute counts as NODE", "agent.attribute_8",
           at_most(2, 7));
  repaired("agent_any_port", "a route with port 33 is taken", "agent.port_33", at_most(20, 32));
  repaired("agent_any_hop", "hop 0 counts as 1", "agent.hop_0", [](RelayBytes& p) {
    if (p.size() > 17 && p[17] == std::byte{0}) p[17] = std::byte{1};
    return true;
  });
  repaired("agent_any_status", "the status of a request is ignored", "agent.status_of_a_request",
           [](RelayBytes& p) {
             if (p.size() > 3 && p[1] == std::byte{1}) p[3] = std::byte{0};
             return true;
           });
  repaired("agent_any_length", "bytes behind the body are ignored", "agent.longer",
           [](RelayBytes& p) {
             if (p.size() < 20) return true;
             const std::size_t bytes =
                 20 + std::to_integer<std::size_t>(p[16]) + base::load_be<std::uint16_t>(&p[18]);
             if (p.size() > bytes) p.resize(bytes);
             return true;
           });
  repaired("agent_any_size", "of an SMP that is cut the rest counts as 0", "agent.cut",
           [](RelayBytes& p) {
             if (p.size() == 8) p.resize(21);
             if (p.size() > 20 && p[16] == std::byte{0}) p[16] = p[17] = p[20] = std::byte{1};
             return true;
           });
  repaired("agent_checks_reserved", "an SMP with reserved bits is dropped", "agent.reserved",
           [](RelayBytes& p) { return p.size() < 8 || p[7] == std::byte{0}; });
  repaired("agent_32_hops", "a route of more than 32 hops is dropped", "agent.64_hops",
           [](RelayBytes& p) { return p.size() < 17 || std::to_integer<unsigned>(p[16]) <= 32; });
  all.push_back(of_smps("agent_clear_ends_held", "a held cable carries cells after stage clear",
                        "agent.held_after_clear", To::kTarget, parts([](SmpTable& part) {
                          if (part.stage == SmpTable::Stage::kClear)
                            part.stage = SmpTable::Stage::kSet;
                        })));
  all.push_back(of_smps("agent_half_tables", "a table is in force with its first part",
                        "agent.half_a_table", To::kTarget,
                        parts([](SmpTable& part) { part.parts = 1; })));
  // A cell that comes in by the cable of west passes in front of one from east.
  all.push_back({.name = "agent_takes_held",
                 .what = "cells of a held cable are forwarded",
                 .noticed_by = "agent.held",
                 .role = Role::kSubnet,
                 .at_port = [kept = std::make_shared<RelayBytes>()](std::size_t port) -> Rule {
                   if (port == kEastPort) kept->clear();
                   return flit_rule(To::kTarget, [=](fabric::FlitHeader& header, RelayBytes& cell,
                                                     RelayBytes& behind) {
                     const auto mac = fabric::MacHeader::parse(cell.data());
                     if (mac.op != fabric::Op::kSend) return true;
                     if (port == kWestPort) *kept = cell;
                     if (port != kEastPort || kept->empty()) return true;
                     behind = flit_of(header, cell);
                     cell = std::exchange(*kept, {});
                     return true;
                   });
                 }});
}

// Replies of the target itself, which do not leave by their port.
using Kept = std::deque<RelayBytes>;
Rule keep_replies(const std::shared_ptr<Kept>& kept) {
  return smp_rule(To::kSuite, [kept](OwnedSmp& one) {
    if (!is_reply(one) || one.smp.hop != 1) return true;
    kept->push_back(one.bytes());
    return false;
  });
}

// They leave by this port, behind its next SMP.
Rule send_kept(const std::shared_ptr<Kept>& kept) {
  return flit_rule(To::kSuite,
                   [kept](fabric::FlitHeader& header, RelayBytes& cell, RelayBytes& behind) {
                     const auto mac = fabric::MacHeader::parse(cell.data());
                     if (kept->empty() || mac.op != fabric::Op::kMgmt || mac.dqpn != kSubnetQpn)
                       return true;
                     behind = flit_of(header, cell_of(mac, kept->front()));
                     kept->pop_front();
                     return true;
                   });
}

// Changes the ports of replies to GET LOAD.
ChangeSmp loads(std::function<void(fabric::SmpLoad& load)> change) {
  return [change = std::move(change)](OwnedSmp& one) {
    fabric::SmpLoad load;
    if (!is_reply(one) || one.smp.attribute != SmpAttribute::kLoad || one.body.empty() ||
        fabric::parse_smp_load(one.body, load) != fabric::SmpError::kNone) {
      return true;
    }
    change(load);
    one.body.resize(load.bytes());
    fabric::emit_smp_load(one.body, load);
    return true;
  };
}

void add_agent_loads(std::vector<Fault>& all) {
  all.push_back(of_smps("agent_load_stands", "LOAD counts nothing", "agent.load", To::kSuite,
                        loads([](fabric::SmpLoad& load) {
                          for (auto& port : load.ports) port.cells = 0;
                        })));
  all.push_back(of_smps("agent_load_of_all", "LOAD counts a cell at each port", "agent.load",
                        To::kSuite, loads([](fabric::SmpLoad& load) {
                          std::uint64_t cells = 0;
                          for (const auto& port : load.used_ports()) cells += port.cells;
                          for (auto& port : load.ports) port.cells = cells;
                        })));
  all.push_back(of_smps("agent_load_of_cables", "LOAD has no ports of nodes", "agent.load",
                        To::kSuite,
                        loads([](fabric::SmpLoad& load) { load.port_count = kNodePort - 1; })));
}

void add_agent_replies(std::vector<Fault>& all) {
  const To out = To::kSuite;
  const auto of_status = [&](const std::string& name, const std::string& what,
                             const std::string& noticed_by, SmpAttribute of, SmpStatus from) {
    all.push_back(of_smps(name, what, noticed_by, out, statuses(of, from, SmpStatus::kDone)));
  };
  of_status("agent_obeys_all", "a worse manager is obeyed", "manager.worse_is_refused",
            SmpAttribute::kManager, SmpStatus::kRefused);
  of_status("agent_any_manager", "a manager that the file has not is obeyed",
            "manager.unknown_manager", SmpAttribute::kManager, SmpStatus::kBad);
  of_status("agent_tables_of_all", "a table of a worse manager is taken",
            "manager.table_of_another", SmpAttribute::kTable, SmpStatus::kRefused);
  of_status("agent_any_check", "a table with a wrong check is taken", "agent.wrong_check",
            SmpAttribute::kTable, SmpStatus::kStale);
  of_status("agent_any_entry", "a table with an unknown port is taken", "agent.unknown_port",
            SmpAttribute::kTable, SmpStatus::kBad);
  of_status("agent_any_policy", "a policy is taken where the file has lanes and partitions",
            "agent.policy", SmpAttribute::kPolicy, SmpStatus::kBad);
  of_status("agent_any_load", "SET LOAD is done", "agent.load_is_not_set", SmpAttribute::kLoad,
            SmpStatus::kBad);
  of_status("agent_serves_all", "SET NODE is done", "agent.unserved", SmpAttribute::kNode,
            SmpStatus::kBad);
  all.push_back(of_smps("agent_obeys_nobody", "a better manager is refused", "manager.yields", out,
                        statuses(SmpAttribute::kManager, SmpStatus::kDone, SmpStatus::kRefused)));
  all.push_back(of_smps("agent_other_transaction", "REPLY has another transaction",
                        "agent.transaction", out, [](OwnedSmp& one) {
                          if (is_reply(one)) one.smp.transaction ^= 1;
                          return true;
                        }));
  all.push_back(of_smps("agent_no_trap", "no TRAP is sent", "agent.trap", out,
                        [](OwnedSmp& one) { return one.smp.method != SmpMethod::kTrap; }));
  all.push_back({.name = "agent_trap_by_the_first_way",
                 .what = "TRAP leaves by the way of the first SET MANAGER",
                 .noticed_by = "agent.trap_by_the_last_way",
                 .role = Role::kSubnet,
                 .at_port = [way = std::make_shared<std::size_t>(0)](std::size_t port) {
                   return both(smp_rule(To::kTarget,
                                        [=](OwnedSmp& one) {
                                          if (*way == 0 && is_set_manager(one)) *way = port;
                                          return true;
                                        }),
                               smp_rule(To::kSuite, [=](OwnedSmp& one) {
                                 return one.smp.method != SmpMethod::kTrap || *way == port;
                               }));
                 }});
  all.push_back(fault_of(
      "agent_trap_ends_by_any", "TRAP ends when anybody asks for NODE", "agent.trap_repeats", [] {
        const auto known = std::make_shared<Known>();
        return both(smp_rule(To::kTarget,
                             [=](OwnedSmp& one) {
                               if (one.smp.method == SmpMethod::kGet) *known = {};
                               return true;
                             }),
                    smp_rule(To::kSuite,
                             [=, first = std::optional<std::uint64_t>()](OwnedSmp& one) mutable {
                               if (one.smp.method != SmpMethod::kTrap) return true;
                               const bool is_new = first != one.smp.transaction;
                               first = one.smp.transaction;
                               if (is_new) known->add(one.smp.transaction);
                               return known->has(one.smp.transaction);
                             }));
      }));
  all.push_back({.name = "agent_trap_by_port_1",
                 .what = "TRAP leaves by port 1, whatever SET MANAGER came in by",
                 .noticed_by = "agent.trap_over_two_links",
                 .role = Role::kSubnet,
                 .at_port = [](std::size_t port) {
                   return smp_rule(To::kSuite, [port](OwnedSmp& one) {
                     return one.smp.method != SmpMethod::kTrap || port == kEastPort;
                   });
                 }});
  // Changes alternate in the case: a link goes down, and comes up.
  all.push_back(fault_of("agent_trap_of_the_first", "no TRAP is sent when a link comes up",
                         "agent.trap_of_a_new_link", [] {
                           return smp_rule(To::kSuite, [first = std::optional<std::uint64_t>()](
                                                           OwnedSmp& one) mutable {
                             if (one.smp.method != SmpMethod::kTrap) return true;
                             if (!first) first = one.smp.transaction;
                             return (one.smp.transaction - *first) % 2 == 0;
                           });
                         }));
  all.push_back(fault_of("agent_trap_once", "TRAP is sent once", "agent.trap_repeats", [] {
    return smp_rule(To::kSuite, [known = std::make_shared<Known>()](OwnedSmp& one) {
      if (one.smp.method != SmpMethod::kTrap) return true;
      if (known->has(one.smp.transaction)) return false;
      known->add(one.smp.transaction);
      return true;
    });
  }));
  all.push_back(of_smps("agent_trap_number", "TRAP has another number of changes", "agent.trap",
                        out, [](OwnedSmp& one) {
                          if (one.smp.method == SmpMethod::kTrap) ++one.smp.transaction;
                          return true;
                        }));
  const auto of_node = [&](const std::string& name, const std::string& what,
                           const std::string& noticed_by, ChangeNode change) {
    all.push_back(of_smps(name, what, noticed_by, out, nodes(std::move(change))));
  };
  of_node("agent_lid", "NODE has another LID", "agent.node",
          [](SmpNode& node) { node.lid = Lid(6); });
  of_node("agent_check", "the check of NODE is another one", "agent.node_check",
          [](SmpNode& node) { ++node.check; });
  of_node("agent_changes", "the changes of NODE count nothing", "agent.node_changes",
          [](SmpNode& node) { node.changes = 7; });
  of_node("agent_peers", "the EUI-64 of peers is left out", "agent.node_peers", [](SmpNode& node) {
    for (auto& port : node.ports) port.eui64 = {};
  });
  of_node("agent_not_held", "a port that is held is reported up", "agent.held", [](SmpNode& node) {
    for (auto& port : node.ports) {
      if (port.state == SmpNode::PortState::kHeld) port.state = SmpNode::PortState::kUp;
    }
  });
  const auto passed = [&](const std::string& name, const std::string& what, ChangeSmp change) {
    all.push_back(of_smps(name, what, "agent.passes_on", out, [change](OwnedSmp& one) {
      return !is_request(one) || is_of_target(one) || change(one);
    }));
  };
  passed("agent_other_port", "the port in the route is replaced by another one", [](OwnedSmp& one) {
    one.smp.route.ports[0] = 7;
    return true;
  });
  all.push_back(of_smps("agent_keeps_the_route", "the port in the route is not replaced",
                        "agent.passes_on_to_east", out, [](OwnedSmp& one) {
                          if (is_request(one) && !is_of_target(one)) one.smp.route.ports[0] = 1;
                          return true;
                        }));
  all.push_back({.name = "agent_replies_by_port_1",
                 .what = "REPLY leaves by port 1, whatever its request came in by",
                 .noticed_by = "agent.replies_to_west",
                 .role = Role::kSubnet,
                 .at_port = [kept = std::make_shared<Kept>()](std::size_t port) {
                   if (port == kEastPort) kept->clear();
                   return port == kEastPort ? send_kept(kept) : keep_replies(kept);
                 }});
  passed("agent_other_request", "GET NODE that is passed on becomes SET MANAGER",
         [](OwnedSmp& one) {
           if (one.smp.attribute != SmpAttribute::kNode) return true;
           one.smp.method = SmpMethod::kSet;
           one.smp.attribute = SmpAttribute::kManager;
           return true;
         });
  passed("agent_keeps_the_hop", "an SMP that is passed on has the hop of before",
         [](OwnedSmp& one) {
           one.smp.hop = 1;
           return true;
         });
  passed("agent_manages_all", "an SMP that is passed on gets the manager of the switch",
         [](OwnedSmp& one) {
           one.smp.manager.priority = 9;
           return true;
         });
  passed("agent_passes_nothing", "SMPs of others are not passed on",
         [](OwnedSmp&) { return false; });
}

// SET MANAGER for another switch is passed on, and a copy of it is for this one.
Rule obey_what_passes() {
  return flit_rule(To::kTarget,
                   [](fabric::FlitHeader& header, RelayBytes& cell, RelayBytes& behind) {
                     fabric::CellView view;
                     fabric::Smp smp;
                     if (fabric::parse_cell(cell, view) != fabric::CellError::kNone ||
                         view.header.dqpn != kSubnetQpn ||
                         fabric::parse_smp(view.payload, smp) != fabric::SmpError::kNone)
                       return true;
                     OwnedSmp copy(smp);
                     if (!is_set_manager(copy) || smp.hop == smp.route.hops) return true;
                     copy.smp.route.hops = smp.hop;
                     ++copy.smp.transaction;
                     behind = flit_of(header, cell_of(view.header, copy.bytes()));
                     return true;
                   });
}

// Of what another switch has sent.
void add_passed_on(std::vector<Fault>& all) {
  const auto reply = [&](const std::string& name, const std::string& what, ChangeSmp change) {
    all.push_back(of_smps(name, what, "agent.passes_on_a_table", To::kSuite,
                          [change = std::move(change)](OwnedSmp& one) {
                            const bool is_it =
                                one.smp.hop > 1 && one.smp.attribute == SmpAttribute::kTable;
                            return !is_it || change(one);
                          }));
  };
  const auto port_at = [](std::size_t at) {
    return [at](OwnedSmp& one) {
      if (one.body.size() > at) one.body[at] = std::byte{2};
      return true;
    };
  };
  reply("agent_other_body", "a table that is passed on gets another entry", port_at(200));
  reply("agent_other_status", "a REPLY that is passed on is done", [](OwnedSmp& one) {
    one.smp.status = SmpStatus::kDone;
    return true;
  });
  reply("agent_other_reply", "the body of a REPLY that is passed on is changed", [](OwnedSmp& one) {
    if (is_reply(one)) one.body.back() ^= std::byte{1};
    return true;
  });
  const auto longer = [&](const std::string& name, const std::string& what,
                          const std::string& noticed_by, ChangeSmp change) {
    all.push_back(of_smps(
        name, what, noticed_by, To::kSuite,
        [change = std::move(change)](OwnedSmp& one) { return one.smp.hop < 2 || change(one); }));
  };
  longer("agent_keeps_traps", "TRAP of another switch is not passed on", "agent.passes_on_a_trap",
         [](OwnedSmp& one) { return one.smp.method != SmpMethod::kTrap; });
  longer("agent_keeps_blocks", "a REPLY with a block is not passed on", "agent.passes_on_a_block",
         [](OwnedSmp& one) { return !is_reply(one) || one.body.size() < fabric::kSmpBlockLids; });
  longer("agent_without_c", "C of a REPLY that is passed on is lost", "agent.passes_on",
         [](OwnedSmp& one) {
           one.smp.is_cut_off = false;
           return true;
         });
  longer("agent_late_ports", "the port behind the third hop is replaced by another one",
         "agent.64_hops", [](OwnedSmp& one) {
           if (one.smp.hop > 3) one.smp.route.ports.at(one.smp.hop - 2U) = kWestPort;
           return true;
         });
  longer("agent_other_port_on_the_way", "the port behind the second hop is replaced by another one",
         "agent.around", [](OwnedSmp& one) {
           if (one.smp.hop > 2) one.smp.route.ports[1] = 7;
           return true;
         });
  all.push_back(fault_of("agent_obeys_what_passes", "SET MANAGER for another switch is obeyed",
                         "agent.passes_on_a_manager", obey_what_passes));
  all.push_back(of_smps("agent_other_way_back", "REPLY has a port that it does not leave by",
                        "agent.reply_route", To::kSuite, [](OwnedSmp& one) {
                          if (is_reply(one) && one.smp.hop == 1) one.smp.route.ports[0] = 7;
                          return true;
                        }));
}

}  // namespace

std::vector<Fault> agent_faults() {
  std::vector<Fault> all;
  add_agent_checks(all);
  add_agent_replies(all);
  add_agent_loads(all);
  add_passed_on(all);
  return all;
}

}  // namespace splitnic::conformance
