#include "conformance/states/observer.h"

#include "fabric_emul/wire/flit.h"

namespace splitnic::conformance {
namespace {

constexpr std::size_t kMessageMax = 66'000;
constexpr std::size_t kPartialMax = 1024;  // queue pairs: more are a flood

}  // namespace

Observer::Observer(Coverage& coverage, Role role) : role_(role) {
  if (role == Role::kSubnet) {
    watches_.push_back(watch_manager(coverage));
    return;
  }
  watches_.push_back(watch_link(coverage, role));
  watches_.push_back(watch_connection(coverage, role));
  watches_.push_back(watch_queue_pairs(coverage));
  watches_.push_back(watch_pools(coverage));
  watches_.push_back(watch_session(coverage, role));
}

void Observer::show(const Seen& seen) {
  for (const auto& watch : watches_) watch->on(seen);
}

void Observer::begin_process(base::Time now) {
  partial_.clear();
  show({.kind = SeenKind::kProcess, .at = now});
}

void Observer::on_carrier(Direction direction, base::Time now, base::Bytes datagram) {
  show({.kind = SeenKind::kSession, .direction = direction, .at = now, .datagram = datagram});
}

void Observer::on_flits(Direction direction, base::Time now, base::Bytes datagram) {
  fabric::FlitWalker walker(datagram);
  for (fabric::FlitView flit; walker.next(flit) == fabric::FlitWalker::Step::kFlit;) {
    Seen seen{.direction = direction, .at = now};
    switch (flit.header.type) {
      case fabric::FlitType::kIdle:
        show(seen);
        break;
      case fabric::FlitType::kInit:
        seen.kind = SeenKind::kInit;
        if (fabric::parse_init(flit.payload, seen.init) != fabric::InitError::kNone) break;
        if (seen.init.step == fabric::InitStep::kReady) {
          is_full_ = seen.init.profile == fabric::LinkProfile::kFull;
        }
        show(seen);
        break;
      case fabric::FlitType::kData:
        if (is_full_) break;  // on_whole_cell()
        on_cell(seen, flit.payload, (flit.header.ctl & fabric::kFlitCellCrcHeadOnly) != 0);
        break;
      default:
        break;
    }
  }
}

void Observer::on_whole_cell(Direction direction, base::Time now, base::Bytes cell) {
  Seen seen{.direction = direction, .at = now};
  on_cell(seen, cell, false);
}

// Around a manager SMPs are all that counts.
void Observer::on_management(Seen& seen) {
  if (role_ == Role::kSubnet) {
    seen.kind = SeenKind::kSmp;
    if (fabric::parse_smp(seen.cell.payload, seen.smp) == fabric::SmpError::kNone) show(seen);
    return;
  }
  seen.kind = SeenKind::kMgmt;
  if (fabric::parse_mgmt(seen.cell.payload, seen.mgmt) == fabric::MgmtError::kNone) show(seen);
}

void Observer::on_cell(Seen& seen, base::Bytes bytes, bool crc_head_only) {
  if (fabric::parse_cell(bytes, seen.cell, crc_head_only) != fabric::CellError::kNone) return;
  const fabric::MacHeader& h = seen.cell.header;
  if (h.op == fabric::Op::kMgmt) return on_management(seen);
  seen.kind = SeenKind::kCell;
  show(seen);
  if (h.op != fabric::Op::kSend) return;
  if (partial_.size() >= kPartialMax) partial_.clear();
  Partial& partial = partial_[{seen.direction, h.dqpn.value}];
  if (h.csn == 0) partial = {};
  if (h.csn != partial.next_csn || partial.bytes.size() > kMessageMax) return;
  ++partial.next_csn;
  partial.bytes.insert(partial.bytes.end(), seen.cell.payload.begin(), seen.cell.payload.end());
  if (!fabric::is_last(h.pos)) return;
  seen.kind = SeenKind::kMessage;
  seen.message = partial.bytes;
  show(seen);
  partial = {};
}

}  // namespace splitnic::conformance
