// The full profile of a link as the suite speaks it. Cells leave as flits of their lane, within the
// credits of the target, and are kept until it has acknowledged them; flits that arrive become
// cells. Each flit of the target is checked for the rules of the profile. The arithmetic is apart
// from that of fabric_emul/link: a mistake that both had would not be seen. A case may withhold
// acknowledgements and credits, lose flits of the target, and make flits that are wrong. The state
// is that of the link, so it outlives an end of the suite. Sans-I/O. Thread: one owner.
// docs/protocol/flit.md#full-profile
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "fabric_emul/wire/flit.h"

namespace splitnic::conformance {

// The terms that both INITs have agreed.
struct LaneTerms {
  std::uint16_t lanes = 0;           // that both have, a bit for each
  std::size_t flit_payload_max = 0;  // bytes: the smaller one
  std::uint32_t granted = 0;         // to the target for each data lane, in blocks
  std::uint32_t target_granted = 0;  // by the target
};

// A DATA flit of the suite. Acknowledge number and credit limit are put in when it leaves.
struct LaneFlit {
  fabric::FlitHeader header{};
  std::vector<std::byte> payload{};
};

// A DATA flit of the target, in the order of arrival.
struct ArrivedFlit {
  fabric::Lsn lsn{};
  std::uint8_t vl = 0;
  std::uint8_t ctl = 0;
  std::size_t bytes = 0;       // of the payload
  std::uint32_t checksum = 0;  // of the payload
  bool is_lost = false;        // for the suite, by `loses`
  bool is_repeated = false;    // it was taken before
  base::Time at{};
};

class Lanes {
 public:
  // Both directions begin with LSNs that follow from the nonce which READY echoes. [P-LINK-22]
  void start(base::Time now, const LaneTerms& terms, std::uint64_t nonce, bool is_client);
  void stop() { is_open_ = false; }
  bool is_open() const { return is_open_; }
  std::uint64_t nonce() const { return nonce_; }
  const LaneTerms& terms() const { return terms_; }

  // As every case begins: nothing below is switched off, and what has arrived is forgotten.
  void behave();
  bool acknowledges = true;        // takes flits, but states the acknowledge number of before
  bool grants = true;              // blocks of cells that were taken
  bool retransmits = true;         // flits that are not acknowledged
  unsigned loses = 0;              // this many of the next new DATA flits of the target
  std::uint32_t limit_offset = 0;  // added to each credit limit that is stated, 24 bits

  // The lane of a cell: 15 of MGMT, else that of its service level. [P-LINK-12]
  std::uint8_t lane_of(base::Bytes cell) const;

  // To the target. Queues a cell on its lane. REQUIRES is_open().
  void post(std::uint8_t vl, base::Bytes cell);
  // The flits of a cell, which are as if they were sent: with LSNs, and kept until they are
  // acknowledged. Those that a case does not send leave as retransmissions. `ctl_of`: the Ctl that
  // they have instead of the right one, in retransmissions too. REQUIRES is_open().
  using CtlOf = std::function<std::uint8_t(std::uint8_t right)>;
  std::vector<LaneFlit> cut(std::uint8_t vl, base::Bytes cell, const CtlOf& ctl_of = {});
  // A flit without payload that is as LACK would be now.
  fabric::FlitHeader control(fabric::FlitType type);
  // The bytes of a flit as it leaves now.
  std::vector<std::byte> bytes_of(const LaneFlit& flit);
  // The next datagram that has to leave at this time: LNAK, retransmissions, new flits within the
  // credits, credits and acknowledgements, IDLE. Nothing if there is none.
  std::optional<std::vector<std::byte>> next(base::Time now);
  base::Time deadline() const;
  // More blocks of a lane. They leave with the next flit.
  void grant(std::uint8_t vl, std::uint32_t blocks);

  // From the target.
  struct Taken {
    std::string_view broken{};  // the rule that the flit breaks; "": none
    std::optional<std::vector<std::byte>> cell{};
  };
  Taken take(base::Time now, const fabric::FlitView& flit);
  // All flits of the target that were taken.
  std::size_t heard() const { return heard_; }
  // Those of DATA flits, since behave().
  const std::deque<ArrivedFlit>& arrived() const { return arrived_; }
  std::size_t lnaks() const { return lnaks_; }
  fabric::Lsn last_lnak() const { return last_lnak_; }
  // The last acknowledge number of the target, and the number of the next flit to it.
  fabric::Lsn acknowledged() const { return first_ - 1U; }
  fabric::Lsn next_lsn() const { return next_; }
  // The newest credit limit of the target.
  std::uint32_t target_limit(std::uint8_t vl) const { return out_.at(vl).limit; }
  // Blocks of a lane that the target has granted and that nothing has used.
  std::uint32_t room(std::uint8_t vl) const;
  // Of the first DATA flit of the target: the number that it must have, and that it had.
  fabric::Lsn first_expected() const { return first_expected_; }
  std::optional<fabric::Lsn> first_seen() const { return first_seen_; }

 private:
  struct Out {
    std::deque<std::vector<std::byte>> cells;
    std::size_t sent = 0;  // bytes of the first cell
    std::uint32_t limit = 0, blocks = 0;
  };
  struct In {
    std::vector<std::byte> cell;  // the part that has arrived
    bool has_begun = false;
    std::uint32_t cell_blocks = 0;
    std::uint32_t limit = 0, blocks = 0;
  };

  bool may_leave(std::uint8_t vl) const;
  LaneFlit cut_one(std::uint8_t vl);
  void stamp(fabric::FlitHeader& header);
  std::vector<std::byte> control_flit(fabric::FlitType type);
  std::optional<std::vector<std::byte>> next_new();
  void on_limit(std::uint8_t vl, std::uint32_t limit);
  Taken take_data(base::Time now, const fabric::FlitView& flit);
  bool is_as_before(const ArrivedFlit& flit) const;
  std::string_view broken_by(const fabric::FlitView& flit) const;
  Taken take_part(const fabric::FlitView& flit);

  bool is_open_ = false;
  LaneTerms terms_;
  std::uint64_t nonce_ = 0;
  base::Time last_sent_{}, progress_{};

  std::array<Out, fabric::kLaneCount> out_;
  std::deque<LaneFlit> kept_;  // from first_ to next_
  fabric::Lsn first_{}, next_{};
  std::size_t resend_ = 0;  // those behind it in kept_ have to be retransmitted

  std::array<In, fabric::kLaneCount> in_;
  fabric::Lsn expected_{}, first_expected_{};
  std::optional<fabric::Lsn> first_seen_;
  fabric::Lsn stated_{};  // as acknowledge number
  bool has_heard_ = false;
  bool has_requested_ = false, lnak_due_ = false, ack_due_ = false;
  std::uint16_t credit_due_ = 0;
  unsigned credit_lane_ = 0;

  std::size_t heard_ = 0;
  std::deque<ArrivedFlit> arrived_;
  std::size_t lnaks_ = 0;
  fabric::Lsn last_lnak_{};
};

}  // namespace splitnic::conformance
