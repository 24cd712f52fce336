// The cells of an RC queue pair that are sent and not acknowledged, oldest first, one record per
// LCN from oldest() on. Detects losses as RFC 9002, section 6.1.1, and RFC 5681 do: a cell is lost
// when a cell that was sent kReorderCells transmissions later has arrived. Transmissions are
// numbered (tx_no), so a retransmitted cell can be found lost once more. Cells that take several
// paths overtake each other: transmissions are numbered per path, and a cell is also lost when one
// that was sent much later has arrived by another path (as RACK, RFC 8985).
// Invariant: records cover [oldest(), next()), next() <= sent_end(), and bytes_in_flight() is the
// sum over the records in state kInFlight. Allocates in start() only. Thread: the data thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/clock.h"
#include "base/ring.h"
#include "fabric_emul/link/path_health.h"
#include "fabric_emul/transport/retransmit_timer.h"
#include "fabric_emul/wire/extensions.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

class CellRecords {
 public:
  enum class State : std::uint8_t { kInFlight, kAcked, kLost };
  struct Record {
    std::uint64_t wqe_no = 0;
    std::uint64_t tx_no = 0;  // on its path
    base::Time sent_at{};
    std::uint32_t wire_bytes = 0;
    std::uint32_t csn = 0;
    State state = State::kInFlight;
    bool is_retransmitted = false;
    std::uint8_t path = 0;  // below kUsedPathsMax
  };
  // The cells that one ACK was the first to acknowledge.
  struct Acked {
    std::uint64_t bytes = 0;
    std::uint64_t cells = 0;
    std::optional<base::Duration> rtt;
    std::size_t bitmap_end = 0;  // records before this index may be overtaken
    PathMask paths = 0;          // that they took
  };
  struct Losses {
    std::uint64_t cells = 0;
    PathMask silent = 0;  // paths of which nothing has arrived that was sent behind one of them
  };

  // Numbers begin at `first`.
  void start(Lcn first) { oldest_ = sent_end_ = first; }
  // Room for this many cells. Allocates.
  void reserve(std::size_t cells) { ring_ = base::Ring<Record>(cells); }

  bool empty() const { return ring_.empty(); }
  bool full() const { return ring_.full(); }
  // The next cell or the one after it is the last that fits.
  bool is_nearly_full() const { return ring_.size() + 2 >= ring_.capacity(); }
  Lcn oldest() const { return oldest_; }
  Lcn next() const { return oldest_ + static_cast<std::uint32_t>(ring_.size()); }
  bool is_acknowledged(Lcn lcn) const { return before(lcn, oldest_); }
  // Something that was ever sent is not acknowledged.
  bool has_unacknowledged() const { return oldest_ != sent_end_; }
  // The next cell was sent before: a go-back has returned it.
  bool repeats_next() const { return before(next(), sent_end_); }
  std::uint64_t bytes_in_flight() const { return in_flight_bytes_; }
  const std::array<std::uint64_t, kUsedPathsMax>& bytes_in_flight_by_path() const {
    return in_flight_by_path_;
  }
  std::size_t lost_count() const { return lost_count_; }

  // Cell next() is sent. REQUIRES !full().
  void push(std::uint64_t wqe_no, std::uint32_t csn, std::uint32_t wire_bytes, base::Time now,
            std::uint8_t path = 0) {
    const bool is_repeated = repeats_next();
    Record& record = ring_.push_slot();
    record.wqe_no = wqe_no;
    record.wire_bytes = wire_bytes;
    record.csn = csn;
    record.is_retransmitted = is_repeated;
    set_in_flight(record, now, path);
    if (!is_repeated) sent_end_ = next();
  }

  // The number of cells that a cumulative ACK newly acknowledges; none if the ACK is stale or names
  // cells that were never sent [T-24]. The number exceeds the records when cells that a go-back
  // returned have arrived after all.
  std::optional<std::size_t> newly_acknowledged(Lcn cumulative) const;
  // Removes the `count` oldest cells.
  Acked acknowledge(std::size_t count, base::Time now, const RetransmitTimer& timer);
  // Marks the cells of the bitmap as arrived. Bit 0 is cell oldest() + 1; bits of cells that were
  // never sent are ignored.
  Acked acknowledge_bitmap(const AckExt& ack, base::Time now, const RetransmitTimer& timer);

  // Marks as lost those of the first `upto` cells that were overtaken: on their path, or by one
  // that was sent more than `elsewhere` later on another; 0: by none there.
  Losses detect_losses(std::size_t upto, base::Duration elsewhere);
  Losses detect_all_losses(base::Duration elsewhere) {
    const bool may_be_lost = !ring_.empty() && (ring_[0].tx_no < newest_arrived_[ring_[0].path] ||
                                                is_overtaken_elsewhere(ring_[0], elsewhere));
    return may_be_lost ? detect_losses(ring_.size(), elsewhere) : Losses{};
  }
  // Marks the oldest cell as lost. If the peer reported it as arrived and has dropped it since
  // (RNR, refused packet CRC), no other report on a later cell is valid either.
  void lose_oldest();
  // The same at a timeout. If what was sent behind it has arrived by other paths and nothing by its
  // own, or nothing has arrived by its own since the last timeout there, all cells of that path are
  // lost. Returns the path if nothing has arrived that was sent behind one of these by it, else 0.
  PathMask lose_at_timeout();
  // Marks as lost what the peer has reported as arrived: it may have dropped that (RNR).
  void lose_reported();
  // Marks the next `count` cells in flight behind the oldest as lost.
  void lose_some(std::size_t count);
  // Marks all cells in flight by these paths as lost: nothing of them comes any more.
  void lose_paths(PathMask paths);

  // The oldest lost cell. REQUIRES lost_count() > 0.
  Record& oldest_lost();
  // REQUIRES that `record` is oldest_lost().
  bool is_oldest(const Record& record) const { return &record == &ring_[0]; }
  void on_retransmitted(Record& record, base::Time now, std::uint8_t path = 0);

  // Go-back-N: nothing counts as sent from oldest() on.
  void go_back() { clear(); }
  // Go-back-N to an acknowledged cell, whose packet the peer has refused.
  void go_back_to(Lcn lcn) {
    oldest_ = lcn;
    clear();
  }
  void clear() {
    ring_.clear();
    in_flight_bytes_ = 0;
    in_flight_by_path_.fill(0);
    lost_count_ = lost_hint_ = 0;
  }

 private:
  static constexpr std::array<std::uint64_t, kUsedPathsMax> filled_with(std::uint64_t value) {
    std::array<std::uint64_t, kUsedPathsMax> all{};
    all.fill(value);
    return all;
  }
  void mark_lost(std::size_t index);
  void set_in_flight(Record& record, base::Time now, std::uint8_t path) {
    record.state = State::kInFlight;
    record.sent_at = now;
    record.path = path;
    record.tx_no = next_tx_no_[path]++;
    in_flight_bytes_ += record.wire_bytes;
    in_flight_by_path_[path] += record.wire_bytes;
    has_paths_ |= path != 0;
  }
  void end_flight(const Record& record) {
    in_flight_bytes_ -= record.wire_bytes;
    in_flight_by_path_[record.path] -= record.wire_bytes;
  }
  // The cell of this record has arrived, by the transmission that it has of it.
  void on_arrived(const Record& record) {
    std::uint64_t& newest = newest_arrived_[record.path];
    newest = std::max(newest, record.tx_no);
    if (!record.is_retransmitted) newest_sent_at_ = std::max(newest_sent_at_, record.sent_at);
  }
  bool is_overtaken_elsewhere(const Record& record, base::Duration elsewhere) const {
    return has_paths_ && elsewhere > base::Duration{0} &&
           record.sent_at + elsewhere < newest_sent_at_;
  }

  base::Ring<Record> ring_{1};
  Lcn oldest_;
  Lcn sent_end_;  // behind the last cell that was ever sent
  // By path: the next number, and the greatest that is known to have arrived, from 1.
  std::array<std::uint64_t, kUsedPathsMax> next_tx_no_ = filled_with(1);
  std::array<std::uint64_t, kUsedPathsMax> newest_arrived_{};
  // That at the last timeout of the path; the greatest value: there was none.
  std::array<std::uint64_t, kUsedPathsMax> newest_at_timeout_ =
      filled_with(std::numeric_limits<std::uint64_t>::max());
  base::Time newest_sent_at_{};  // of what has arrived and was sent once
  bool has_paths_ = false;       // other paths than the first were used
  std::uint64_t in_flight_bytes_ = 0;
  std::array<std::uint64_t, kUsedPathsMax> in_flight_by_path_{};
  std::size_t lost_count_ = 0;
  std::size_t lost_hint_ = 0;  // no lost record is before this index
};

}  // namespace splitnic::fabric
