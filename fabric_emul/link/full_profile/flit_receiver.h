// Reassembles the cells of all lanes from the flits of one link, full profile. Buffer space is
// granted in blocks; the owner of a delivered cell releases its blocks when it has read the cell.
// Thread: the data thread. docs/protocol/flit.md#full-profile [S000-43]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "fabric_emul/link/full_profile/flit_credit.h"
#include "fabric_emul/link/full_profile/full_link_config.h"
#include "fabric_emul/link/full_profile/link_retry.h"

namespace splitnic::fabric {

class CellSink {
 public:
  virtual ~CellSink() = default;
  // The bytes are valid during the call; `blocks` stay in use until release(vl, blocks).
  virtual void on_cell(std::uint8_t vl, base::Bytes cell, std::uint32_t blocks) = 0;
};

class FlitReceiver {
 public:
  FlitReceiver(const FullLinkConfig& config, base::Counters<FullLinkCounter>& counters,
               CellSink& sink);

  void start(Lsn first);
  void on_data(const FlitView& flit);
  void on_bad_flit() { retry_.on_bad_flit(); }
  void release(std::uint8_t vl, std::uint32_t blocks);

  RetryReceiver& retry() { return retry_; }
  bool ack_due() const { return ack_due_; }
  bool credit_due() const { return credit_due_ != 0; }
  // With IDLE: limits that grew since the IDLE before the last one are due once more, because the
  // flits that had them may be lost. [L-34]
  void repeat_credits();
  // Writes the acknowledge number and the credit of one lane into a flit that leaves: in round
  // robin, lanes whose credit changed first.
  void stamp(FlitHeader& header);

 private:
  struct Lane {
    std::vector<std::byte> cell;  // the part that has arrived
    std::uint32_t blocks = 0;     // of that cell
    std::uint32_t held = 0;       // of everything not released
    CreditGrant grant;
  };
  bool is_open(std::uint8_t vl) const { return (config_.lanes_mask >> vl & 1) != 0; }
  void take(const FlitView& flit);
  void drop_cell(std::uint8_t vl);

  const FullLinkConfig& config_;
  base::Counters<FullLinkCounter>& counters_;
  CellSink& sink_;
  std::array<Lane, kLaneCount> lanes_;
  RetryReceiver retry_;
  bool ack_due_ = false;
  std::uint16_t credit_due_ = 0;  // lanes whose limit grew since it was last sent
  // Lanes whose limit grew since the last IDLE, and between that and the one before.
  std::uint16_t grown_ = 0, grown_before_ = 0;
  unsigned credit_lane_ = 0;
};

}  // namespace splitnic::fabric
