// End-to-end flow control: a packet that consumes a receive of the peer is sent only while the peer
// has more receives posted than such packets are outstanding. Every ACK reports the number
// of posted receives. With none outstanding one packet may always go, because its ACK or RNR NAK
// brings the number up to date.
#pragma once

#include <cstdint>

#include "fabric_emul/transport/send_wqe.h"

namespace splitnic::fabric {

class ReceiveCredits {
 public:
  // The peer has reported its posted receives.
  void update(std::uint32_t posted) { posted_ = posted; }
  std::uint32_t posted() const { return posted_; }

  bool permits(const SendWqe& w) const {
    return !w.consumes_receive() || outstanding_ == 0 || outstanding_ < posted_;
  }
  // This packet uses the last one.
  bool is_last(const SendWqe& w) const {
    return w.consumes_receive() && outstanding_ + 1 >= posted_;
  }
  // The first cell of the packet is sent.
  void claim(const SendWqe& w) { outstanding_ += w.consumes_receive() ? 1 : 0; }
  // The packet is complete.
  void release(const SendWqe& w) {
    if (w.consumes_receive() && outstanding_ > 0) --outstanding_;
  }
  void release_all() { outstanding_ = 0; }

 private:
  std::uint32_t posted_ = 0;
  std::uint32_t outstanding_ = 0;
};

}  // namespace splitnic::fabric
