// Rules of a relay that change SMPs, and parts of them, and the transactions that it remembers.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "conformance/subnet.h"
#include "tests/conformance/faults.h"

namespace splitnic::conformance::subnet_rules {

using fabric::CellView;
using fabric::kSubnetQpn;
using fabric::Lid;
using fabric::SmpAttribute;
using fabric::SmpMethod;
using fabric::SmpNode;
using fabric::SmpStatus;
using fabric::SmpTable;

inline constexpr std::size_t kKnown = 64;  // transactions that a relay remembers

// A cell with another payload than the one that had this header.
inline RelayBytes cell_of(const fabric::MacHeader& header, base::Bytes payload) {
  fabric::CellHead head;
  head.header = header;
  head.header.flags = 0;
  head.header.payload_bytes = static_cast<std::uint16_t>(payload.size());
  RelayBytes cell(fabric::cell_bytes(head, payload.size()));
  cell.resize(fabric::emit_cell(cell, head, payload));
  return cell;
}

// The payload of each SMP, whole or not. Its length may change.
using ChangePayload = std::function<bool(RelayBytes& payload)>;
inline Rule payload_rule(To direction, ChangePayload change) {
  return cell_rule(direction, [change = std::move(change)](const CellView& view, RelayBytes& cell) {
    if (view.header.op != fabric::Op::kMgmt || view.header.dqpn != kSubnetQpn) return true;
    RelayBytes payload(view.payload.begin(), view.payload.end());
    if (!change(payload)) return false;
    if (std::ranges::equal(payload, view.payload)) return true;
    cell = cell_of(view.header, payload);
    return true;
  });
}

// Those that parse.
using ChangeSmp = std::function<bool(OwnedSmp& smp)>;
inline Rule smp_rule(To direction, ChangeSmp change) {
  return payload_rule(direction, [change = std::move(change)](RelayBytes& payload) {
    fabric::Smp smp;
    if (fabric::parse_smp(payload, smp) != fabric::SmpError::kNone) return true;
    OwnedSmp owned(smp);
    if (!change(owned)) return false;
    payload = owned.bytes();
    return true;
  });
}

inline Fault fault_of(const std::string& name, const std::string& what,
                      const std::string& noticed_by, std::function<Rule()> make) {
  return {.name = name,
          .what = what,
          .noticed_by = noticed_by,
          .role = Role::kSubnet,
          .at_port = [make = std::move(make)](std::size_t) { return make(); }};
}
inline Fault of_smps(const std::string& name, const std::string& what,
                     const std::string& noticed_by, To to, ChangeSmp change) {
  return fault_of(name, what, noticed_by, [=] { return smp_rule(to, change); });
}
inline Fault of_byte(const std::string& name, const std::string& what,
                     const std::string& noticed_by, std::size_t at, std::uint8_t value) {
  return fault_of(name, what, noticed_by, [=] {
    return payload_rule(To::kTarget, [=](RelayBytes& payload) {
      if (payload.size() > at) payload[at] = std::byte{value};
      return true;
    });
  });
}

inline bool is_request(const OwnedSmp& one) {
  return one.smp.method == SmpMethod::kGet || one.smp.method == SmpMethod::kSet;
}
inline bool is_of_target(const OwnedSmp& one) { return one.smp.manager.lid == kManagerLid; }
inline bool is_set_manager(const OwnedSmp& one) {
  return one.smp.method == SmpMethod::kSet && one.smp.attribute == SmpAttribute::kManager;
}
inline bool is_reply(const OwnedSmp& one) { return one.smp.method == SmpMethod::kReply; }

using ChangeTable = std::function<void(SmpTable& part)>;
inline ChangeSmp parts(ChangeTable change) {
  return [change = std::move(change)](OwnedSmp& one) {
    if (one.smp.method != SmpMethod::kSet || one.smp.attribute != SmpAttribute::kTable) return true;
    const ByteVector before = one.body;
    SmpTable part;
    static_cast<void>(fabric::parse_smp_table(before, part));
    change(part);
    one.body.resize(part.bytes());
    fabric::emit_smp_table(one.body, part);
    return true;
  };
}

using ChangeNode = std::function<void(SmpNode& node)>;
inline ChangeSmp nodes(ChangeNode change) {
  return [change = std::move(change)](OwnedSmp& one) {
    SmpNode node;
    if (!is_reply(one) || one.smp.attribute != SmpAttribute::kNode ||
        fabric::parse_smp_node(one.body, node) != fabric::SmpError::kNone) {
      return true;
    }
    change(node);
    one.body.resize(node.bytes());
    fabric::emit_smp_node(one.body, node);
    return true;
  };
}

inline ChangeSmp statuses(SmpAttribute of, SmpStatus from, SmpStatus to) {
  return [=](OwnedSmp& one) {
    const bool is_it = is_reply(one) && one.smp.attribute == of && one.smp.status == from;
    if (is_it) one.smp.status = to;
    return true;
  };
}

// The transactions of requests that have left by a port, newest last.
struct Known {
  std::deque<std::uint64_t> all;
  bool has(std::uint64_t one) const { return std::ranges::find(all, one) != all.end(); }
  void add(std::uint64_t one) {
    all.push_back(one);
    if (all.size() > kKnown) all.pop_front();
  }
};

}  // namespace splitnic::conformance::subnet_rules
