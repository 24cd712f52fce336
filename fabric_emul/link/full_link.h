// One end of a full-profile link: lanes, flit credits, retry, keep-alive. Sans-I/O: flits go in,
// datagrams come out, time is given. For switched fabrics and conformance; INIT has agreed the
// config before. Thread: its owner's. docs/wire/flit.md
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/counters.h"
#include "fabric_emul/link/flit_receiver.h"
#include "fabric_emul/link/flit_sender.h"
#include "fabric_emul/link/full_link_config.h"

namespace splitnic::fabric {

class FullLink {
 public:
  // counters and sink outlive the link; several links may count into one.
  FullLink(const FullLinkConfig& config, base::Counters<FullLinkCounter>& counters, CellSink& sink);
  FullLink(const FullLink&) = delete;
  FullLink& operator=(const FullLink&) = delete;

  // After INIT, and again after each new INIT: both ends start at once, nothing of before remains.
  // The first LSN that goes out and the one that comes in were agreed.
  void start(base::Time now, Lsn first_out = Lsn(1), Lsn first_in = Lsn(1));
  bool up() const { return up_; }
  const FullLinkConfig& config() const { return config_; }

  // False: not up, or the lane's queue is full; nothing is lost once true. [S000-45]
  bool post(std::uint8_t vl, base::Bytes cell) { return up_ && sender_.post(vl, cell); }
  bool has_room(std::uint8_t vl, std::size_t cell_bytes) const {
    return sender_.has_room(vl, cell_bytes);
  }
  // The owner of a delivered cell has no more use for its buffer.
  void release(std::uint8_t vl, std::uint32_t blocks) { receiver_.release(vl, blocks); }
  // A flit whose CRC was right, not INIT. False: it is of no use, not even as a sign of life.
  bool receive(base::Time now, const FlitView& flit);
  // A datagram had a flit that was not right: what it was is asked for again.
  void on_bad_flit() { receiver_.on_bad_flit(); }
  // Writes as many flits as fit and may go; 0 = nothing to send. Call until 0, after receive(),
  // post(), release() and on_time(). REQUIRES room for a flit of flit_payload_max.
  std::size_t fill(base::Time now, base::MutableBytes datagram);
  void on_time(base::Time now);
  base::Time deadline() const;
  const FlitSender& sender() const { return sender_; }
  // It went down and no flit of DATA had ever come through.
  bool is_fruitless() const { return sender_.retry().is_fruitless(); }

 private:
  base::Time silent_at() const {  // the last of the missing ones is late by half an interval
    return last_heard_ + config_.idle * config_.idle_missing_max + config_.idle / 2;
  }
  void go_down();
  std::size_t emit(base::Time now, base::MutableBytes out, FlitHeader header, base::Bytes payload);
  std::size_t emit_control(base::Time now, base::MutableBytes out);

  const FullLinkConfig config_;
  base::Counters<FullLinkCounter>& counters_;
  FlitSender sender_;
  FlitReceiver receiver_;
  bool up_ = false;
  base::Time last_sent_{};
  base::Time last_heard_{};
};

}  // namespace splitnic::fabric
