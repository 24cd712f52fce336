#include "conformance/node.h"

#include <algorithm>

#include "conformance/cells.h"

namespace splitnic::conformance {
namespace {

constexpr std::size_t kCellsKept = 8192;  // more are a flood

}  // namespace

fabric::CellHead Node::head_to(fabric::Lid to) const {
  fabric::CellHead head;
  head.header.op = fabric::Op::kSend;
  head.header.pos = fabric::Pos::kOnly;
  head.header.slid = lid();
  head.header.dlid = to;
  head.header.dqpn = fabric::Qpn(0x21);
  head.header.sqpn = fabric::Qpn(0x22);
  return head;
}

ByteVector Node::cell_with(const fabric::CellHead& head, std::size_t payload_bytes,
                           unsigned number) {
  ByteVector payload(payload_bytes);
  for (std::size_t i = 0; i < payload.size(); ++i) {
    payload[i] = static_cast<std::byte>(i * 7 + number * 13);
  }
  fabric::CellHead whole = head;
  whole.header.psn = fabric::Psn(number);
  whole.header.payload_bytes = static_cast<std::uint16_t>(payload_bytes);
  ByteVector out(fabric::cell_bytes(whole, payload_bytes));
  out.resize(fabric::emit_cell(out, whole, payload));
  return out;
}

ByteVector Node::cell_to(fabric::Lid to, std::size_t payload_bytes, unsigned number) const {
  return cell_with(head_to(to), payload_bytes, number);
}

// MGMT of the switch itself is an event, as at any end.
bool Node::takes_whole(const fabric::FlitHeader& flit, base::Bytes cell) {
  if (cell.size() < fabric::kCellBytesMin) return false;
  const auto header = fabric::MacHeader::parse(cell.data());
  if (on_smp_ && header.op == fabric::Op::kMgmt && header.dqpn == fabric::kSubnetQpn) {
    return take_smp(flit, cell);
  }
  const bool is_of_switch = header.op == fabric::Op::kMgmt && header.slid == target().lid;
  if (is_linked() && is_of_switch) return false;
  if (cells_.size() < kCellsKept) cells_.emplace_back(cell.begin(), cell.end());
  return true;
}

// The link of the target may be up while READY is on its way: then the manager repeats. [P-SUBN-1]
bool Node::take_smp(const fabric::FlitHeader& flit, base::Bytes cell) {
  if (!is_linked()) return true;
  fabric::CellView view;
  const fabric::CellError error = fabric::parse_cell(cell, view);
  const fabric::MacHeader& h = view.header;
  const bool is_right =
      rule(error == fabric::CellError::kNone, "SMPs in cells that are valid") &&
      rule(h.slid == target().lid && h.dlid == (config().port == 0 ? fabric::Lid() : lid()),
           "SMPs with the LIDs of both switches, and 0 for a node") &&
      rule(h.sqpn == fabric::kSubnetQpn && h.service == fabric::Service::kMgmt, "SMPs from QP 2") &&
      rule(h.psn == fabric::Psn() && h.lcn == fabric::Lcn() && h.csn == 0,
           "SMPs with PSN, LCN and CSN 0") &&
      rule(flit.vl == fabric::kMgmtLane, "SMPs on lane 15");
  if (is_right) on_smp_(view.payload);
  return true;
}

fabric::CellHead Node::smp_head() const {
  fabric::CellHead head;
  head.header.op = fabric::Op::kMgmt;
  head.header.pos = fabric::Pos::kOnly;
  head.header.service = fabric::Service::kMgmt;
  head.header.dlid = target().lid;
  head.header.slid = lid();
  head.header.dqpn = head.header.sqpn = fabric::kSubnetQpn;
  return head;
}

void Node::send_smp(const fabric::CellHead& head, base::Bytes smp) {
  send_flit({.type = fabric::FlitType::kData,
             .vl = fabric::kMgmtLane,
             .ctl = fabric::kFlitSof | fabric::kFlitEof | fabric::kFlitHeaderCrcOnly},
            make_cell(*this, head, smp));
}

std::optional<ByteVector> Node::await_cell(std::string_view expected) {
  const base::Time until = now() + config().timeout;
  while (is_good() && cells_.empty() && now() < until) pump(until);
  if (!expect(!cells_.empty(), expected) || cells_.empty()) return std::nullopt;
  ByteVector cell = std::move(cells_.front());
  cells_.pop_front();
  return cell;
}

bool Node::expect_cell(const ByteVector& sent, std::string_view expected) {
  const auto cell = await_cell(expected);
  if (!cell) return false;
  if (*cell != sent) outcome().miss(std::string(expected), "a cell of other bytes");
  return is_good();
}

fabric::Mgmt Node::question(fabric::MgmtKind kind, std::string_view private_data) {
  fabric::Mgmt m = mgmt(kind, random().next());
  if (kind == fabric::MgmtKind::kConnectReq) describe(m, private_data);
  put_capabilities(m, private_data);
  return m;
}

std::optional<fabric::Mgmt> Node::ask(fabric::MgmtKind kind, std::string_view private_data,
                                      std::string_view expected) {
  const fabric::Mgmt m = question(kind, private_data);
  send(m);
  const auto reply = await_if(
      [&m](const Event& e) {
        return e.kind == EventKind::kMgmt && e.mgmt.transaction == m.transaction;
      },
      expected);
  if (!reply) return std::nullopt;
  return reply->mgmt;
}

bool Nodes::link() {
  return std::ranges::all_of(all_, [](Node* node) { return node->link(); });
}

bool Nodes::expect_forwarded(std::size_t from, std::size_t to, std::string_view expected) {
  const ByteVector cell = at(from).cell_to(at(to).lid(), 64, ++number_);
  at(from).send_cell(cell);
  return at(to).expect_cell(cell, expected);
}

}  // namespace splitnic::conformance
