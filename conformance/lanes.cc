#include "conformance/lanes.h"

#include <algorithm>

#include "base/crc32c.h"
#include "fabric_emul/wire/mac_header.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::FlitHeader;
using fabric::FlitType;
using fabric::Lsn;

constexpr base::Duration kLaneIdleEvery = 10ms;  // P-LINK-33
constexpr base::Duration kRetransmitAfter = 50ms;
constexpr std::size_t kWindow = 128;       // flits that are kept
constexpr std::size_t kArrivedMax = 4096;  // more are not remembered
constexpr std::uint32_t kLimitMask = 0xFFFFFF;
constexpr std::uint32_t kLimitHalf = 1U << 23;
constexpr std::uint8_t kReservedBits = 0x0F;

constexpr std::uint32_t blocks_in(std::size_t bytes) {
  return static_cast<std::uint32_t>((bytes + 63) / 64);
}

bool has(std::uint16_t lanes, unsigned vl) { return (lanes >> vl & 1) != 0; }

}  // namespace

void Lanes::start(base::Time now, const LaneTerms& terms, std::uint64_t nonce, bool is_client) {
  terms_ = terms;
  nonce_ = nonce;
  is_open_ = true;
  last_sent_ = progress_ = now;
  const Lsn of_client(static_cast<std::uint32_t>(nonce & 0xFFFF));
  const Lsn of_listener(static_cast<std::uint32_t>(nonce >> 16 & 0xFFFF));
  first_ = next_ = is_client ? of_client : of_listener;
  expected_ = first_expected_ = is_client ? of_listener : of_client;
  stated_ = expected_ - 1U;
  first_seen_.reset();
  kept_.clear();
  resend_ = 0;
  has_heard_ = has_requested_ = lnak_due_ = ack_due_ = false;
  credit_due_ = 0;
  for (unsigned vl = 0; vl < fabric::kLaneCount; ++vl) {
    out_[vl] = {};
    in_[vl] = {};
    out_[vl].limit = terms.target_granted;
    in_[vl].limit = terms.granted;
  }
}

void Lanes::behave() {
  acknowledges = grants = retransmits = true;
  loses = 0;
  limit_offset = 0;
  arrived_.clear();
  lnaks_ = 0;
}

std::uint8_t Lanes::lane_of(base::Bytes cell) const {
  if (cell.size() < fabric::kMacHeaderBytes) return 0;
  const auto header = fabric::MacHeader::parse(cell.data());
  if (header.op == fabric::Op::kMgmt) return fabric::kMgmtLane;
  const auto vl = static_cast<std::uint8_t>(header.sl % 4);
  return !is_open_ || has(terms_.lanes, vl) ? vl : std::uint8_t{0};
}

// To the target.

void Lanes::post(std::uint8_t vl, base::Bytes cell) {
  out_.at(vl).cells.emplace_back(cell.begin(), cell.end());
}

std::uint32_t Lanes::room(std::uint8_t vl) const {
  const Out& lane = out_.at(vl);
  const std::uint32_t left = (lane.limit - lane.blocks) & kLimitMask;
  return left < kLimitHalf ? left : 0;
}

bool Lanes::may_leave(std::uint8_t vl) const {
  const Out& lane = out_[vl];
  if (lane.cells.empty()) return false;
  if (vl == fabric::kMgmtLane) return true;
  const std::size_t bytes =
      std::min(lane.cells.front().size() - lane.sent, terms_.flit_payload_max);
  return room(vl) >= blocks_in(bytes);
}

LaneFlit Lanes::cut_one(std::uint8_t vl) {
  Out& lane = out_[vl];
  const base::Bytes cell = lane.cells.front();
  const base::Bytes part =
      cell.subspan(lane.sent, std::min(cell.size() - lane.sent, terms_.flit_payload_max));
  LaneFlit flit{{.vl = vl, .lsn = next_}, {part.begin(), part.end()}};
  if (lane.sent == 0) flit.header.ctl |= fabric::kFlitSof;
  lane.sent += part.size();
  if (vl != fabric::kMgmtLane) lane.blocks = (lane.blocks + blocks_in(part.size())) & kLimitMask;
  if (lane.sent == cell.size()) {
    flit.header.ctl |= fabric::kFlitEof;
    lane.cells.pop_front();
    lane.sent = 0;
  }
  ++next_;
  if (resend_ == kept_.size()) ++resend_;
  kept_.push_back(flit);
  return flit;
}

std::vector<LaneFlit> Lanes::cut(std::uint8_t vl, base::Bytes cell, const CtlOf& ctl_of) {
  std::vector<LaneFlit> flits;
  post(vl, cell);
  while (!out_.at(vl).cells.empty()) {
    flits.push_back(cut_one(vl));
    std::uint8_t& ctl = flits.back().header.ctl;
    if (ctl_of) kept_.back().header.ctl = ctl = ctl_of(ctl);
  }
  return flits;
}

void Lanes::stamp(FlitHeader& header) {
  if (acknowledges) {
    stated_ = expected_ - 1U;
    ack_due_ = false;
  }
  header.ack = stated_;
  const auto data = static_cast<std::uint16_t>(terms_.lanes & ~(1U << fabric::kMgmtLane));
  const std::uint16_t among = credit_due_ != 0 ? credit_due_ : data;
  if (among == 0) return;
  do {
    credit_lane_ = (credit_lane_ + 1) % fabric::kLaneCount;
  } while (!has(among, credit_lane_));
  credit_due_ = static_cast<std::uint16_t>(credit_due_ & ~(1U << credit_lane_));
  header.credit_vl = static_cast<std::uint8_t>(credit_lane_);
  header.credit_limit = (in_[credit_lane_].limit + limit_offset) & kLimitMask;
}

FlitHeader Lanes::control(FlitType type) {
  FlitHeader header{.type = type};
  stamp(header);
  return header;
}

std::vector<std::byte> Lanes::control_flit(FlitType type) {
  std::vector<std::byte> out(fabric::kFlitHeaderBytes);
  fabric::emit_flit(out, control(type));
  return out;
}

std::vector<std::byte> Lanes::bytes_of(const LaneFlit& flit) {
  FlitHeader header = flit.header;
  stamp(header);
  std::vector<std::byte> out(fabric::kFlitHeaderBytes + flit.payload.size());
  fabric::emit_flit(out, header, flit.payload);
  return out;
}

std::optional<std::vector<std::byte>> Lanes::next_new() {
  if (kept_.size() >= kWindow) return std::nullopt;
  for (unsigned vl = fabric::kLaneCount; vl-- > 0;) {
    if (may_leave(static_cast<std::uint8_t>(vl))) {
      return bytes_of(cut_one(static_cast<std::uint8_t>(vl)));
    }
  }
  return std::nullopt;
}

std::optional<std::vector<std::byte>> Lanes::next(base::Time now) {
  if (!is_open_) return std::nullopt;
  if (kept_.empty()) progress_ = now;
  if (!kept_.empty() && now >= progress_ + kRetransmitAfter) {
    resend_ = 0;
    progress_ = now;
  }
  std::optional<std::vector<std::byte>> out;
  if (lnak_due_ && acknowledges) {
    lnak_due_ = false;
    out = control_flit(FlitType::kLnak);
  } else if (resend_ < kept_.size() && retransmits) {
    out = bytes_of(kept_[resend_++]);
  } else if (resend_ == kept_.size()) {
    out = next_new();
  }
  if (!out && credit_due_ != 0) out = control_flit(FlitType::kCredit);
  if (!out && ack_due_ && acknowledges) out = control_flit(FlitType::kLack);
  if (!out && now >= last_sent_ + kLaneIdleEvery) out = control_flit(FlitType::kIdle);
  if (out) last_sent_ = now;
  return out;
}

base::Time Lanes::deadline() const {
  if (!is_open_) return base::kNever;
  const base::Time idle = last_sent_ + kLaneIdleEvery;
  return kept_.empty() ? idle : std::min<base::Time>(idle, progress_ + kRetransmitAfter);
}

void Lanes::grant(std::uint8_t vl, std::uint32_t blocks) {
  in_.at(vl).limit = (in_.at(vl).limit + blocks) & kLimitMask;
  credit_due_ = static_cast<std::uint16_t>(credit_due_ | 1U << vl);
}

// From the target.

void Lanes::on_limit(std::uint8_t vl, std::uint32_t limit) {
  Out& lane = out_.at(vl);
  if (((limit - lane.limit) & kLimitMask) < kLimitHalf) lane.limit = limit;
}

Lanes::Taken Lanes::take(base::Time now, const fabric::FlitView& flit) {
  const FlitHeader& h = flit.header;
  if (!is_open_) return {};
  if (h.type == FlitType::kData && h.lsn == expected_ && loses > 0) {
    --loses;
    arrived_.push_back({.lsn = h.lsn, .vl = h.vl, .ctl = h.ctl, .is_lost = true, .at = now});
    return {};
  }
  const std::int32_t gained = h.ack + 1U - first_;
  if (gained > next_ - first_) {
    // Until the first flit of this INIT there may be some of the one before.
    return {.broken = has_heard_ ? "acknowledge numbers of flits that were sent" : ""};
  }
  has_heard_ = true;
  ++heard_;
  for (std::int32_t i = 0; i < gained; ++i) {
    kept_.pop_front();
    ++first_;
    if (resend_ > 0) --resend_;
    progress_ = now;
  }
  if (gained >= 0) on_limit(h.credit_vl, h.credit_limit);
  if (h.type == FlitType::kLnak) {
    ++lnaks_;
    last_lnak_ = h.ack;
    if (gained >= 0) resend_ = 0;
    progress_ = now;
  }
  if (h.type == FlitType::kData) return take_data(now, flit);
  return {};
}

Lanes::Taken Lanes::take_data(base::Time now, const fabric::FlitView& flit) {
  const FlitHeader& h = flit.header;
  if (!first_seen_) first_seen_ = h.lsn;
  const std::int32_t ahead = h.lsn - expected_;
  if (ahead > 0) {
    lnak_due_ = lnak_due_ || !has_requested_;
    has_requested_ = true;
    return {};
  }
  ack_due_ = true;
  const ArrivedFlit arrived{.lsn = h.lsn,
                            .vl = h.vl,
                            .ctl = h.ctl,
                            .bytes = flit.payload.size(),
                            .checksum = base::crc32c(flit.payload),
                            .is_repeated = ahead < 0,
                            .at = now};
  const bool is_same = ahead == 0 || is_as_before(arrived);
  if (arrived_.size() == kArrivedMax) arrived_.pop_front();
  arrived_.push_back(arrived);
  if (ahead < 0) return {.broken = is_same ? "" : "the same flit in each retransmission"};
  ++expected_;
  has_requested_ = lnak_due_ = false;
  if (const std::string_view broken = broken_by(flit); !broken.empty()) return {.broken = broken};
  return take_part(flit);
}

// A retransmission of a flit that is not remembered may be as it was.
bool Lanes::is_as_before(const ArrivedFlit& flit) const {
  const auto before = std::find_if(arrived_.rbegin(), arrived_.rend(), [&](const ArrivedFlit& one) {
    return one.lsn == flit.lsn && !one.is_lost;
  });
  return before == arrived_.rend() ||
         (before->vl == flit.vl && before->ctl == flit.ctl && before->bytes == flit.bytes &&
          before->checksum == flit.checksum);
}

// [P-LINK-20] [P-LINK-21] [P-LINK-23] [P-LINK-28]
std::string_view Lanes::broken_by(const fabric::FlitView& flit) const {
  const FlitHeader& h = flit.header;
  const bool is_first = (h.ctl & fabric::kFlitSof) != 0;
  const bool is_last = (h.ctl & fabric::kFlitEof) != 0;
  const std::size_t bytes = flit.payload.size();
  if ((h.ctl & fabric::kFlitHeaderCrcOnly) != 0) return "flits whose CRC covers the payload";
  if ((h.ctl & (kReservedBits | fabric::kFlitCellCrcHeadOnly)) != 0) {
    return "DATA flits with SOF and EOF only in Ctl";
  }
  if (!has(terms_.lanes, h.vl)) return "flits of lanes that both ends have";
  if (bytes > terms_.flit_payload_max || (!is_last && bytes != terms_.flit_payload_max)) {
    return "flits of the agreed payload, but for the last one of a cell";
  }
  const In& lane = in_[h.vl];
  if (is_first == lane.has_begun) return "flits of one cell on a lane, from SOF to EOF";
  const std::uint32_t left = (lane.limit - lane.blocks) & kLimitMask;
  const bool is_granted = left >= blocks_in(bytes) && left < kLimitHalf;
  if (h.vl != fabric::kMgmtLane && !is_granted) return "no more blocks than were granted";
  return {};
}

Lanes::Taken Lanes::take_part(const fabric::FlitView& flit) {
  const FlitHeader& h = flit.header;
  In& lane = in_[h.vl];
  const std::uint32_t blocks = blocks_in(flit.payload.size());
  lane.blocks = (lane.blocks + blocks) & kLimitMask;
  lane.cell_blocks += blocks;
  lane.has_begun = true;
  lane.cell.insert(lane.cell.end(), flit.payload.begin(), flit.payload.end());
  if (lane.cell.size() > fabric::kMcpMax) return {.broken = "cells with an end"};
  if ((h.ctl & fabric::kFlitEof) == 0) return {};
  Taken out{.cell = std::move(lane.cell)};
  lane.cell.clear();
  lane.has_begun = false;
  if (grants && h.vl != fabric::kMgmtLane) grant(h.vl, lane.cell_blocks);
  lane.cell_blocks = 0;
  return out;
}

}  // namespace splitnic::conformance
