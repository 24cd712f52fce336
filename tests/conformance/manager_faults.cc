// Wrong managers, by the SMPs at the cables of the switch that manages. What it does not check the
// relay at its port repairs on the way in.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/endian.h"
#include "tests/conformance/subnet_rules.h"

namespace splitnic::conformance {
namespace {

using namespace subnet_rules;

// TRAP of the switch whose REPLY this cell has.
std::optional<RelayBytes> trap_behind(const RelayBytes& cell) {
  CellView view;
  fabric::Smp reply;
  if (fabric::parse_cell(cell, view) != fabric::CellError::kNone ||
      view.header.dqpn != kSubnetQpn || view.header.slid != kEastLid ||
      fabric::parse_smp(view.payload, reply) != fabric::SmpError::kNone ||
      reply.method != SmpMethod::kReply || reply.route.hops != 1) {
    return std::nullopt;
  }
  OwnedSmp trap;
  trap.smp.method = SmpMethod::kTrap;
  trap.smp.manager = reply.manager;
  trap.smp.route = reply.route;
  trap.smp.hop = 1;
  return cell_of(view.header, trap.bytes());
}

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
                           behind = flit_of(header, cell);
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
  // TRAP comes behind each REPLY of east.
  all.push_back(fault_of(
      "manager_sweeps_always", "sweeps follow each other without a pause", "manager.sweeps", [] {
        return flit_rule(To::kTarget,
                         [](fabric::FlitHeader& header, RelayBytes& cell, RelayBytes& behind) {
                           if (const auto trap = trap_behind(cell)) {
                             behind = flit_of(header, *trap);
                           }
                           return true;
                         });
      }));
  all.push_back(of_smps("manager_deaf_to_traps", "TRAP causes no sweep", "manager.trap_of_east",
                        To::kTarget,
                        [](OwnedSmp& one) { return one.smp.method != SmpMethod::kTrap; }));
}

// Whether any switch behind this port replies to LOAD decides over all of them.
Fault needs_load() {
  constexpr unsigned kOpenMax = 6;
  return fault_of("manager_needs_load", "a switch that replies to no GET LOAD is left out",
                  "manager.load_never_replied", [] {
                    const auto open = std::make_shared<unsigned>(0);  // without a reply
                    const Rule out = smp_rule(To::kSuite, [open](OwnedSmp& one) {
                      const bool is_it = one.smp.method == SmpMethod::kGet &&
                                         one.smp.attribute == SmpAttribute::kLoad;
                      if (is_it) ++*open;
                      return true;
                    });
                    const Rule in_rule = smp_rule(To::kTarget, [open](OwnedSmp& one) {
                      if (!is_reply(one)) return true;
                      if (one.smp.attribute == SmpAttribute::kLoad) *open = 0;
                      return *open < kOpenMax || one.smp.attribute != SmpAttribute::kNode;
                    });
                    return both(out, in_rule);
                  });
}

// SET MANAGER leaves when each GET LOAD has its REPLY, or was sent 12 times.
Fault waits_for_load() {
  constexpr unsigned kAttemptsOfLoad = 12;
  return fault_of("manager_waits_for_load", "a sweep waits for the replies to GET LOAD",
                  "manager.load_delays_no_sweep", [] {
                    const auto open = std::make_shared<std::map<std::uint64_t, unsigned>>();
                    const Rule out = smp_rule(To::kSuite, [open](OwnedSmp& one) {
                      const bool is_load = one.smp.method == SmpMethod::kGet &&
                                           one.smp.attribute == SmpAttribute::kLoad;
                      if (is_load && ++(*open)[one.smp.transaction] == kAttemptsOfLoad) {
                        open->erase(one.smp.transaction);
                      }
                      return open->empty() || !is_set_manager(one);
                    });
                    const Rule in_rule = smp_rule(To::kTarget, [open](OwnedSmp& one) {
                      if (is_reply(one)) open->erase(one.smp.transaction);
                      return true;
                    });
                    return both(out, in_rule);
                  });
}

// A part of stage clear comes before each GET TABLE, and these parts are never a whole table.
Rule set_unread() {
  return flit_rule(To::kSuite,
                   [known = std::make_shared<Known>()](fabric::FlitHeader& header, RelayBytes& cell,
                                                       RelayBytes& behind) {
                     static const ByteVector kNoPorts(fabric::kSmpBlockLids);
                     CellView view;
                     fabric::Smp smp;
                     if (fabric::parse_cell(cell, view) != fabric::CellError::kNone ||
                         view.header.dqpn != kSubnetQpn ||
                         fabric::parse_smp(view.payload, smp) != fabric::SmpError::kNone ||
                         smp.method != SmpMethod::kGet || smp.attribute != SmpAttribute::kTable ||
                         smp.manager.lid != kManagerLid || known->has(smp.transaction)) {
                       return true;
                     }
                     known->add(smp.transaction);
                     SmpTable part;
                     part.stage = SmpTable::Stage::kClear;
                     part.parts = 2;
                     part.ports = kNoPorts;
                     OwnedSmp set(smp);
                     set.smp.method = SmpMethod::kSet;
                     set.smp.transaction = ~smp.transaction;
                     set.body.resize(part.bytes());
                     fabric::emit_smp_table(set.body, part);
                     behind = flit_of(header, cell);
                     cell = cell_of(view.header, set.bytes());
                     return true;
                   });
}

Fault any_block(const std::string& name, const std::string& of, const std::string& noticed_by,
                SmpMethod method) {
  return fault_of(name, "the block of a REPLY to " + of + " is not compared", noticed_by, [method] {
    const auto asked = std::make_shared<std::map<std::uint64_t, RelayBytes>>();
    const Rule out = smp_rule(To::kSuite, [=](OwnedSmp& one) {
      const bool is_it = one.smp.method == method && one.smp.attribute == SmpAttribute::kTable;
      if (is_it) (*asked)[one.smp.transaction] = {one.body.begin(), one.body.begin() + 2};
      return true;
    });
    const Rule in_rule = smp_rule(To::kTarget, [asked](OwnedSmp& one) {
      const auto block = asked->find(one.smp.transaction);
      if (is_reply(one) && block != asked->end() && one.body.size() >= 2) {
        std::ranges::copy(block->second, one.body.begin());
      }
      return true;
    });
    return both(out, in_rule);
  });
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
  all.push_back(of_smps("manager_any_eui64", "the EUI-64 that a switch reports is not compared",
                        "manager.node_eui64_of_another", in, nodes([](SmpNode& node) {
                          if (node.name == "far") node.eui64 = fabric::Eui64(1);
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
                           return both(out, in_rule);
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
                           return both(out, in_rule);
                         }));
  all.push_back(needs_load());
  all.push_back(waits_for_load());
  all.push_back(fault_of("manager_sets_unread", "a table is set before it is read",
                         "manager.unknown_table_is_read", set_unread));
  all.push_back(of_smps("manager_any_cable", "a cable that the file has not is used",
                        "manager.port_unknown", in, nodes([](SmpNode& node) {
                          const auto ports = node.used_ports();
                          if (std::ranges::find(ports, 9, &SmpNode::PortInfo::number) ==
                              ports.end()) {
                            return;
                          }
                          const Lid peer = node.name == "west" ? kFarSwitchLid : kWestLid;
                          for (auto& port : node.ports) {
                            if (port.lid == peer) port.state = SmpNode::PortState::kUp;
                          }
                        })));
  all.push_back(any_block("manager_any_block", "GET TABLE", "manager.table_of_another_block",
                          SmpMethod::kGet));
  all.push_back(any_block("manager_any_set_block", "SET TABLE", "manager.set_of_another_block",
                          SmpMethod::kSet));
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

}  // namespace

std::vector<Fault> manager_faults() {
  std::vector<Fault> all;
  add_requests(all);
  add_findings(all);
  return all;
}

}  // namespace splitnic::conformance
