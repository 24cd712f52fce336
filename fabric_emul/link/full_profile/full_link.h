// One end of a full-profile link: lanes, flit credits, retry, keep-alive. Sans-I/O: flits go in,
// datagrams come out, the time is passed in. For switched fabrics and conformance; INIT agreed the
// configuration before. Thread: its owner's. docs/protocol/flit.md#full-profile
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/counters.h"
#include "fabric_emul/link/full_profile/flit_receiver.h"
#include "fabric_emul/link/full_profile/flit_sender.h"
#include "fabric_emul/link/full_profile/full_link_config.h"
#include "fabric_emul/link/keep_alive.h"

namespace splitnic::fabric {

class FullLink {
 public:
  // counters and sink outlive the link; several links may count into one.
  FullLink(const FullLinkConfig& config, base::Counters<FullLinkCounter>& counters, CellSink& sink);
  FullLink(const FullLink&) = delete;
  FullLink& operator=(const FullLink&) = delete;

  // Called after each INIT: both ends start together and nothing remains from before. INIT agreed
  // the first LSN of each direction.
  void start(base::Time now, Lsn first_out = Lsn(1), Lsn first_in = Lsn(1));
  bool up() const { return up_; }
  const FullLinkConfig& config() const { return config_; }

  // Returns false if the link is not up or the lane's queue is full; a cell that was taken is not
  // lost while the link is up. [S000-45]
  bool post(std::uint8_t vl, base::Bytes cell) { return up_ && sender_.post(vl, cell); }
  bool has_room(std::uint8_t vl, std::size_t cell_bytes) const {
    return sender_.has_room(vl, cell_bytes);
  }
  // Whether post() takes cells of this many bytes in total.
  bool fits(std::uint8_t vl, std::size_t bytes) const { return sender_.fits(vl, bytes); }
  // The owner of a delivered cell has read it: its buffer is free.
  void release(std::uint8_t vl, std::uint32_t blocks) { receiver_.release(vl, blocks); }
  // Takes a flit with a valid CRC, not INIT. Returns false if it is dropped, also as a sign of
  // life.
  bool receive(base::Time now, const FlitView& flit);
  // A flit of a datagram was invalid: requests a retransmission.
  void on_bad_flit() { receiver_.on_bad_flit(); }
  // Writes as many flits as fit and may go, and returns their bytes; 0 if there are none. Stops at
  // a DATA flit of a lane that is not in `lanes`, a bit each. Call until it returns 0, after
  // receive(), post(), release() and on_time(). REQUIRES room for a flit of flit_payload_max.
  std::size_t fill(base::Time now, base::MutableBytes datagram, std::uint16_t lanes = kAllLanes);
  // Returns the lane of the next DATA flit; that of management if none may go.
  std::uint8_t next_lane() { return up_ ? sender_.next_lane().value_or(kMgmtLane) : kMgmtLane; }
  void on_time(base::Time now);
  base::Time deadline() const;
  base::Time silent_at() const { return keep_alive_.silent_at(); }
  const FlitSender& sender() const { return sender_; }

 private:
  void go_down();
  std::size_t emit(base::Time now, base::MutableBytes out, FlitHeader header, base::Bytes payload);
  std::size_t emit_control(base::Time now, base::MutableBytes out);

  const FullLinkConfig config_;
  base::Counters<FullLinkCounter>& counters_;
  FlitSender sender_;
  FlitReceiver receiver_;
  bool up_ = false;
  KeepAlive keep_alive_;
};

}  // namespace splitnic::fabric
