// Wrong switches. What a switch does not check the relay at its port repairs on the way in.
#include <array>
#include <memory>
#include <utility>

#include "base/endian.h"
#include "conformance/switch_suite.h"
#include "tests/conformance/faults.h"

namespace splitnic::conformance {
namespace {

using fabric::CellView;
using fabric::Init;
using fabric::InitReason;
using fabric::InitStep;
using fabric::Mgmt;
using fabric::MgmtKind;
using fabric::Op;

Fault at_ports(const std::string& name, const std::string& what, const std::string& noticed_by,
               std::function<Rule(std::size_t port)> make) {
  return {.name = name,
          .what = what,
          .noticed_by = "path." + noticed_by,
          .role = Role::kNodes,
          .at_port = std::move(make)};
}
Fault of_inits(const std::string& name, const std::string& what, const std::string& noticed_by,
               To to, ChangeInit change) {
  return at_ports(name, what, noticed_by, [=](std::size_t) { return init_rule(to, change); });
}
Fault of_switched_cells(const std::string& name, const std::string& what,
                        const std::string& noticed_by, To to, ChangeCell change) {
  return at_ports(name, what, noticed_by, [=](std::size_t) { return cell_rule(to, change); });
}
Fault of_mgmt(const std::string& name, const std::string& what, const std::string& noticed_by,
              ChangeMgmt change) {
  return at_ports(name, what, noticed_by,
                  [=](std::size_t) { return mgmt_rule(To::kSuite, change); });
}

bool is_forwarded(const CellView& view) { return view.header.slid != kSwitchLid; }

ChangeCell patched(std::size_t at, std::uint8_t byte) {
  return [=](const CellView& view, RelayBytes& cell) {
    if (is_forwarded(view)) cell.at(at) ^= std::byte{byte};
    return true;
  };
}

void add_links(std::vector<Fault>& all) {
  all.push_back(of_inits("switch_other_lid", "READY offers another LID than the topology",
                         "addresses", To::kSuite, [](Init& i) {
                           if (i.step == InitStep::kReady) i.offered_lid = fabric::Lid(99);
                           return true;
                         }));
  all.push_back(of_inits("switch_as_a_node", "INIT of a switch has the port number 0",
                         "port_number", To::kSuite, [](Init& i) {
                           i.port = 0;
                           return true;
                         }));
  all.push_back(of_inits("switch_other_number", "INIT has the number of another port",
                         "port_number", To::kSuite, [](Init& i) {
                           ++i.port;
                           return true;
                         }));
  all.push_back(of_inits("switch_head_only", "a switch leaves the payload CRC out", "whole_crc",
                         To::kSuite, [](Init& i) {
                           if (i.step == InitStep::kReady) {
                             i.payload_crc = fabric::PayloadCrc::kOmitted;
                           }
                           return true;
                         }));
  all.push_back(of_inits("switch_other_reason", "a neighbour is refused with reason busy",
                         "switch_at_a_node", To::kSuite, [](Init& i) {
                           if (i.step == InitStep::kRefuse) i.reason = InitReason::kBusy;
                           return true;
                         }));
  all.push_back(at_ports("switch_takes_switches", "a switch is accepted at the port of a node",
                         "switch_at_a_node", [](std::size_t port) {
                           return init_rule(To::kTarget, [port](Init& i) {
                             if (port != kCablePort) i.port = 0;
                             return true;
                           });
                         }));
  all.push_back(at_ports("switch_takes_nodes", "a node is accepted at the port of a cable",
                         "node_at_a_cable", [](std::size_t port) {
                           return init_rule(To::kTarget, [port](Init& i) {
                             if (port == kCablePort && i.port == 0) i.port = 1;
                             return true;
                           });
                         }));
  all.push_back(at_ports("switch_crossed_cable", "any port of the neighbour is accepted",
                         "other_port_at_a_cable", [](std::size_t port) {
                           return init_rule(To::kTarget, [port](Init& i) {
                             if (port == kCablePort && i.port != 0) i.port = 1;
                             return true;
                           });
                         }));
  all.push_back(at_ports("switch_any_neighbour", "any switch is accepted at a cable",
                         "other_switch_at_a_cable", [](std::size_t port) {
                           return init_rule(To::kTarget, [port](Init& i) {
                             if (port == kCablePort && i.port != 0) i.lid = kNeighbourLid;
                             return true;
                           });
                         }));
  all.push_back(at_ports("switch_no_idle", "a switch never sends IDLE", "idle", [](std::size_t) {
    return [](To to, RelayBytes& datagram) {
      fabric::FlitView flit;
      return to != To::kSuite || fabric::parse_flit(datagram, flit) != fabric::FlitError::kNone ||
             flit.header.type != fabric::FlitType::kIdle;
    };
  }));
}

// CHALLENGE outside of a record stands in place of the next record behind such a HELLO.
Rule challenge_plain() {
  const auto hello = std::make_shared<RelayBytes>();
  return [hello](To to, RelayBytes& datagram) {
    fabric::FlitView flit;
    const bool is_plain = fabric::parse_flit(datagram, flit) == fabric::FlitError::kNone &&
                          flit.header.type == fabric::FlitType::kInit;
    if (to == To::kTarget && is_plain) *hello = datagram;
    Init init;
    if (to == To::kTarget || hello->empty() ||
        fabric::parse_flit(*hello, flit) != fabric::FlitError::kNone ||
        fabric::parse_init(flit.payload, init) != fabric::InitError::kNone) {
      return true;
    }
    init.step = InitStep::kChallenge;
    init.echo = init.nonce;
    std::array<std::byte, fabric::kInitBytes> payload{};
    fabric::emit_init(payload.data(), init);
    datagram = flit_of(flit.header, payload);
    hello->clear();
    return true;
  };
}

void add_plain(std::vector<Fault>& all) {
  Fault plain = at_ports("switch_plain_hello", "a keyed port replies to HELLO outside of a record",
                         "plain_at_a_keyed_port", [](std::size_t) { return challenge_plain(); });
  plain.is_keyed = true;
  all.push_back(std::move(plain));
}

void add_forwarding(std::vector<Fault>& all) {
  const To out = To::kSuite;
  all.push_back(of_switched_cells("switch_payload", "a byte of the payload is changed",
                                  "payload_of_63", out, [](const CellView& view, RelayBytes& cell) {
                                    if (is_forwarded(view) && view.payload.size() > 1) {
                                      cell.at(fabric::kMacHeaderBytes + 1) ^= std::byte{1};
                                    }
                                    return true;
                                  }));
  all.push_back(of_switched_cells("switch_lane", "the service level is changed", "service_level",
                                  out, patched(0, 2)));
  all.push_back(of_switched_cells("switch_reserved", "reserved bits are cleared", "reserved_bits",
                                  out, [](const CellView& view, RelayBytes& cell) {
                                    if (is_forwarded(view)) cell.at(12) = std::byte{0};
                                    return true;
                                  }));
  all.push_back(of_switched_cells("switch_sequence", "the PSN is changed", "payload_of_0", out,
                                  patched(19, 1)));
  all.push_back(
      of_switched_cells("switch_knows_operations", "cells with an unknown operation are dropped",
                        "unknown_operation", To::kTarget, [](const CellView&, RelayBytes& cell) {
                          CellView view;
                          return fabric::parse_cell(cell, view) != fabric::CellError::kOp;
                        }));
  all.push_back(
      of_switched_cells("switch_short_control", "control cells are no longer than MGMT",
                        "control_cell", To::kTarget, [](const CellView& view, RelayBytes&) {
                          return view.header.op != Op::kMgmt || view.header.payload_bytes <= 1024;
                        }));
  all.push_back(
      of_switched_cells("switch_long_only", "cells without a payload are dropped", "payload_of_0",
                        To::kTarget, [](const CellView& view, RelayBytes&) {
                          return view.header.op != Op::kSend || view.header.payload_bytes > 0;
                        }));
  all.push_back(at_ports("switch_twice", "cells are forwarded twice", "one_port", [](std::size_t) {
    return flit_rule(To::kSuite,
                     [](fabric::FlitHeader& header, RelayBytes& cell, RelayBytes& behind) {
                       behind = flit_of(header, cell);
                       return true;
                     });
  }));
  all.push_back(at_ports("switch_no_transit", "a cable is taken for a node", "from_the_far_node",
                         [](std::size_t port) {
                           return cell_rule(To::kTarget, [port](const CellView& view, RelayBytes&) {
                             return port != kCablePort || view.header.slid == kNeighbourLid;
                           });
                         }));
}

void add_taken(std::vector<Fault>& all) {
  all.push_back(
      at_ports("switch_any_crc", "cells with a wrong CRC are repaired", "crc", [](std::size_t) {
        return flit_rule(To::kTarget, [](fabric::FlitHeader&, RelayBytes& cell, RelayBytes&) {
          if (cell.size() < fabric::kCellBytesMin) return true;
          renew_cell_crc(cell);
          return true;
        });
      }));
  all.push_back(of_switched_cells("switch_any_version", "cells of any version are taken", "version",
                                  To::kTarget, [](const CellView&, RelayBytes& cell) {
                                    cell[0] = (cell[0] & std::byte{0x0F}) | std::byte{0x10};
                                    return true;
                                  }));
  all.push_back(of_switched_cells("switch_default_route", "a cell to an unknown LID goes to node 2",
                                  "unknown_lid", To::kTarget,
                                  [](const CellView& view, RelayBytes& cell) {
                                    if (view.header.dlid.value > 100) {
                                      base::store_be(&cell[4], lid_at(2).value);
                                    }
                                    return true;
                                  }));
  all.push_back(at_ports("switch_any_source", "a node may send with any LID", "source_of_another",
                         [](std::size_t port) {
                           return cell_rule(To::kTarget, [port](const CellView&, RelayBytes& cell) {
                             if (port != kCablePort) base::store_be(&cell[6], lid_at(port).value);
                             return true;
                           });
                         }));
}

// A cell of another partition than the default one gets this key.
ChangeCell with_key(fabric::PartitionKey key) {
  return [key](const CellView& view, RelayBytes& cell) {
    constexpr std::size_t kPartitionAt = 24;
    if (view.header.partition != fabric::kDefaultPartition) {
      base::store_be(&cell.at(kPartitionAt), key.value);
    }
    return true;
  };
}

void add_partitions(std::vector<Fault>& all) {
  all.push_back(of_switched_cells("switch_any_partition", "cells pass whatever their partition",
                                  "foreign_sender", To::kTarget,
                                  with_key(fabric::kDefaultPartition)));
  all.push_back(of_switched_cells("switch_limited_replies", "a switch replies as a limited member",
                                  "reply_partition", To::kSuite,
                                  with_key(fabric::as_limited_member(kRed))));
}

// Of node 2, which has several LIDs.
bool is_second_lid(fabric::Lid lid) {
  return fabric::Lid(static_cast<std::uint16_t>(lid_at(2).value + 1)) == lid;
}

void add_lids(std::vector<Fault>& all) {
  all.push_back(of_switched_cells(
      "switch_base_lid_only", "only the base LID of a port leads to it", "each_lid_of_a_port",
      To::kTarget,
      [](const CellView& view, RelayBytes&) { return !is_second_lid(view.header.dlid); }));
  all.push_back(of_switched_cells(
      "switch_lids_beyond", "the LID behind those of a port leads to it",
      "behind_the_lids_of_a_port", To::kTarget, [](const CellView& view, RelayBytes& cell) {
        if (view.header.dlid.value == lid_at(2).value + kLidsOfSecond) {
          base::store_be(&cell[4], lid_at(2).value);
        }
        return true;
      }));
  all.push_back(of_switched_cells(
      "switch_base_source_only", "a node may send from its base LID only",
      "from_each_lid_of_a_port", To::kTarget,
      [](const CellView& view, RelayBytes&) { return !is_second_lid(view.header.slid); }));
  all.push_back(of_mgmt("switch_no_lmc", "a port has the LMC 0, whatever the topology has",
                        "lids_of_a_port", [](Mgmt& m) {
                          static std::array<std::byte, 4> none;
                          if (m.private_data.size() != none.size()) return true;
                          std::ranges::copy(m.private_data.first(2), none.begin());
                          m.private_data = none;
                          return true;
                        }));
  all.push_back(
      of_mgmt("switch_base_for_each_path", "NAME+K is resolved to the base LID",
              "resolves_each_lid_of_a_port", [](Mgmt& m) {
                static constexpr std::array kBase{std::byte{0}, static_cast<std::byte>(32)};
                if (m.private_data.size() == kBase.size()) m.private_data = kBase;
                return true;
              }));
}

void add_names(std::vector<Fault>& all) {
  all.push_back(
      of_mgmt("switch_wrong_lid", "RESOLVED has the LID of another node", "resolves", [](Mgmt& m) {
        static constexpr std::array kOther{std::byte{0}, std::byte{99}};
        if (m.private_data.size() == kOther.size()) m.private_data = kOther;
        return true;
      }));
  all.push_back(of_mgmt("switch_other_transaction", "RESOLVED has another transaction", "resolves",
                        [](Mgmt& m) {
                          m.transaction ^= 1;
                          return true;
                        }));
  all.push_back(of_mgmt(
      "switch_silent_on_unknown", "an unknown name gets no reply", "resolves_nothing_unknown",
      [](Mgmt& m) { return m.kind != MgmtKind::kResolved || !m.private_data.empty(); }));
  all.push_back(of_mgmt("switch_reject_code", "CONNECT_REJ of a switch has another code",
                        "connect_to_a_switch", [](Mgmt& m) {
                          if (m.kind == MgmtKind::kConnectRej) {
                            m.reject = fabric::MgmtReject::kNoResources;
                          }
                          return true;
                        }));
  all.push_back(of_mgmt("switch_no_reject", "CONNECT_REQ to a switch gets no reply",
                        "connect_to_a_switch",
                        [](Mgmt& m) { return m.kind != MgmtKind::kConnectRej; }));
}

}  // namespace

std::vector<Fault> switch_faults() {
  std::vector<Fault> all;
  add_links(all);
  add_plain(all);
  add_forwarding(all);
  add_taken(all);
  add_partitions(all);
  add_lids(all);
  add_names(all);
  return all;
}

}  // namespace splitnic::conformance
