// Wrong managers and agents, by the SMPs at the cables of the switch that manages. What it does not
// check the relay at its port repairs on the way in.
#include <memory>

#include "base/endian.h"
#include "tests/conformance/subnet_rules.h"

namespace splitnic::conformance {
namespace {

using namespace subnet_rules;

void add_requests(std::vector<Fault>& all) {
  const To out = To::kSuite;
  all.push_back(of_smps("manager_of_another", "requests have the LID of another switch",
                        "manager.identity", out, [](OwnedSmp& one) {
                          if (is_request(one) && is_of_target(one)) {
                            one.smp.manager.lid = kFarSwitchLid;
                          }
                          return true;
                        }));
  all.push_back(of_smps("manager_two_priorities", "GET has another priority than SET",
                        "manager.each_switch", out, [](OwnedSmp& one) {
                          if (one.smp.method == SmpMethod::kGet) ++one.smp.manager.priority;
                          return true;
                        }));
  all.push_back(fault_of("manager_reserved", "reserved bits are set", "manager.each_switch", [] {
    return payload_rule(To::kSuite, [](RelayBytes& payload) {
      payload.at(7) = std::byte{1};
      return true;
    });
  }));
  all.push_back(
      fault_of("manager_source", "SMPs have the SLID of another switch", "manager.each_switch", [] {
        return cell_rule(To::kSuite, [](const CellView& view, RelayBytes& cell) {
          if (view.header.dqpn == kSubnetQpn) base::store_be(&cell[6], Lid(9).value);
          return true;
        });
      }));
  all.push_back(fault_of("manager_no_repetition", "a request is sent once", "manager.repeats", [] {
    return smp_rule(To::kSuite, [known = std::make_shared<Known>()](OwnedSmp& one) {
      if (!is_request(one)) return true;
      if (known->has(one.smp.transaction)) return false;
      known->add(one.smp.transaction);
      return true;
    });
  }));
  all.push_back(fault_of(
      "manager_new_transaction", "a repetition has another transaction", "manager.repeats", [] {
        return smp_rule(To::kSuite, [known = std::make_shared<Known>()](OwnedSmp& one) {
          if (!is_request(one)) return true;
          if (known->has(one.smp.transaction)) one.smp.transaction ^= 1U << 31;
          known->add(one.smp.transaction);
          return true;
        });
      }));
  all.push_back(
      fault_of("manager_twice", "each request is sent twice at once", "manager.repeats", [] {
        return flit_rule(To::kSuite,
                         [](fabric::FlitHeader& header, RelayBytes& cell, RelayBytes& behind) {
                           CellView view;
                           if (fabric::parse_cell(cell, view) != fabric::CellError::kNone ||
                               view.header.dqpn != kSubnetQpn) {
                             return true;
                           }
                           behind.resize(fabric::kFlitHeaderBytes + cell.size());
                           fabric::emit_flit(behind, header, cell);
                           return true;
                         });
      }));
  all.push_back(of_smps("manager_one_stage", "stage clear is sent as stage set",
                        "manager.clear_before_set", out,
                        parts([](SmpTable& part) { part.stage = SmpTable::Stage::kSet; })));
  static const ByteVector kNothing(fabric::kSmpBlockLids);
  all.push_back(of_smps("manager_clears_all", "stage clear takes all entries away",
                        "manager.clear_has_the_common", out, parts([](SmpTable& part) {
                          if (part.stage != SmpTable::Stage::kClear) return;
                          part.ports = kNothing;
                          part.check =
                              PlayedSwitch::check_of(PlayedSwitch::Table(PlayedSwitch::kLids));
                        })));
  all.push_back(of_smps("manager_wrong_check", "the check of a table is another one",
                        "manager.check", out, parts([](SmpTable& part) { ++part.check; })));
  all.push_back(of_smps("manager_wrong_changes", "the changes of a table are others",
                        "manager.each_switch", out, parts([](SmpTable& part) { ++part.changes; })));
  all.push_back(of_smps("manager_unknown_port", "a table leads to a port that nothing is at",
                        "manager.each_switch", out, parts([](SmpTable& part) {
                          static ByteVector ports;
                          ports.assign(part.ports.begin(), part.ports.end());
                          ports.at(200) = std::byte{31};
                          part.ports = ports;
                        })));
  all.push_back(of_smps("manager_deaf_to_traps", "TRAP causes no sweep", "manager.trap_of_east",
                        To::kTarget,
                        [](OwnedSmp& one) { return one.smp.method != SmpMethod::kTrap; }));
}

void add_findings(std::vector<Fault>& all) {
  const To in = To::kTarget;
  all.push_back(of_smps("manager_all_is_up", "cables that are down are used", "manager.cable_down",
                        in, nodes([](SmpNode& node) {
                          for (auto& port : node.ports) {
                            if (port.state == SmpNode::PortState::kDown)
                              port.state = SmpNode::PortState::kUp;
                          }
                        })));
  all.push_back(of_smps("manager_one_end", "a cable that one end reports up is used",
                        "manager.cable_at_one_end", in, nodes([](SmpNode& node) {
                          if (node.name != "west") return;
                          for (auto& port : node.ports) port.state = SmpNode::PortState::kUp;
                        })));
  all.push_back(of_smps("manager_any_lid", "the LID that a switch reports is not compared",
                        "manager.node_other_lid", in, nodes([](SmpNode& node) {
                          if (node.name == "far") node.lid = kFarSwitchLid;
                        })));
  all.push_back(of_smps("manager_any_name", "the name that a switch reports is not compared",
                        "manager.node_other_name", in, nodes([](SmpNode& node) {
                          if (node.lid == kFarSwitchLid) node.name = "far";
                        })));
  all.push_back(of_smps("manager_any_peer", "the LID at a port is not compared",
                        "manager.port_other_lid", in, nodes([](SmpNode& node) {
                          if (node.name != "west") return;
                          for (auto& port : node.ports) {
                            if (port.number == 3) port.lid = kFarSwitchLid;
                          }
                        })));
  all.push_back(fault_of("manager_any_transaction", "half of the transaction is compared",
                         "manager.other_transaction", [] {
                           const auto known = std::make_shared<Known>();
                           const Rule out = smp_rule(To::kSuite, [known](OwnedSmp& one) {
                             known->add(one.smp.transaction);
                             return true;
                           });
                           const Rule in_rule = smp_rule(To::kTarget, [known](OwnedSmp& one) {
                             const std::uint64_t other =
                                 one.smp.transaction ^ (std::uint64_t{1} << 63);
                             if (is_reply(one) && known->has(other)) one.smp.transaction = other;
                             return true;
                           });
                           return Rule([out, in_rule](To to, RelayBytes& datagram) {
                             return out(to, datagram) && in_rule(to, datagram);
                           });
                         }));
  all.push_back(fault_of("manager_any_attribute", "the attribute of a REPLY is not compared",
                         "manager.first_reply_of_another_attribute", [] {
                           const auto firsts = std::make_shared<Known>();
                           const Rule out = smp_rule(To::kSuite, [firsts](OwnedSmp& one) {
                             if (one.smp.attribute == SmpAttribute::kManager)
                               firsts->add(one.smp.transaction);
                             return true;
                           });
                           const Rule in_rule = smp_rule(To::kTarget, [firsts](OwnedSmp& one) {
                             if (is_reply(one) && firsts->has(one.smp.transaction)) {
                               one.smp.attribute = SmpAttribute::kManager;
                               one.body.clear();
                             }
                             return true;
                           });
                           return Rule([out, in_rule](To to, RelayBytes& datagram) {
                             return out(to, datagram) && in_rule(to, datagram);
                           });
                         }));
  all.push_back(of_smps("manager_never_refused", "a refusal counts as done",
                        "manager.refused_by_east", in,
                        statuses(SmpAttribute::kManager, SmpStatus::kRefused, SmpStatus::kDone)));
  all.push_back(of_smps("manager_never_stale", "a stale switch counts as done",
                        "manager.clear_stale", in,
                        statuses(SmpAttribute::kTable, SmpStatus::kStale, SmpStatus::kDone)));
  all.push_back(of_smps("manager_never_bad", "a switch that replies bad is managed",
                        "manager.first_bad", in,
                        statuses(SmpAttribute::kManager, SmpStatus::kBad, SmpStatus::kDone)));
}

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
  repaired("agent_any_attribute", "an unknown attribute counts as NODE", "agent.attribute_4",
           at_most(2, 3));
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
            "manager.table_of_a_worse", SmpAttribute::kTable, SmpStatus::kRefused);
  of_status("agent_any_check", "a table with a wrong check is taken", "agent.wrong_check",
            SmpAttribute::kTable, SmpStatus::kStale);
  of_status("agent_any_entry", "a table with an unknown port is taken", "agent.unknown_port",
            SmpAttribute::kTable, SmpStatus::kBad);
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
  passed("agent_keeps_the_route", "the port in the route is not replaced", [](OwnedSmp& one) {
    one.smp.route.ports[0] = 7;
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

}  // namespace

std::vector<Fault> manager_faults() {
  std::vector<Fault> all;
  add_requests(all);
  add_findings(all);
  add_agent_checks(all);
  add_agent_replies(all);
  return all;
}

}  // namespace splitnic::conformance
