// Sends frames through a packet socket that has the vnet header: super-frames and partial checksums
// leave whole, many frames per system call. The socket may capture, too (packet:), or only send
// (pcap:). Thread: the data thread of its port.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/counters.h"
#include "lan_bridge/ports/packet_socket.h"
#include "lan_bridge/ports/port_counters.h"

namespace splitnic::lan {

class VnetSender {
 public:
  static constexpr std::size_t kBatch = 64;  // frames of one system call

  enum class Outcome : std::uint8_t {
    kTaken,    // sent, or dropped; counted
    kBlocked,  // the socket's buffer is full: not counted
    kRefused,  // a super-frame that this kernel does not take, but may take in pieces: not counted
  };

  // `fd` is a socket that does not block, has the vnet header in this form and is bound to its
  // interface. It and `counters` outlive this.
  VnetSender(int fd, VnetForm form, base::Counters<PortCounter>& counters)
      : fd_(fd), form_(form), counters_(counters) {}
  VnetSender(const VnetSender&) = delete;
  VnetSender& operator=(const VnetSender&) = delete;

  // Sends frames ([vnet header][Ethernet frame]) in order, up to kBatch. Returns how many were
  // sent, and counts them; 0: send() reports the reason for the first one.
  std::size_t send_batch(std::span<const base::Bytes> frames);
  Outcome send(base::Bytes frame);

 private:
  void count_sent(base::Bytes frame);

  int fd_;
  VnetForm form_;
  base::Counters<PortCounter>& counters_;
  std::array<mmsghdr, kBatch> messages_{};
  std::array<iovec, VnetForm::kVectorsMax * kBatch> vectors_{};
};

}  // namespace splitnic::lan
