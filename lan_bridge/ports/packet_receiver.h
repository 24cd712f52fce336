// Reads the frames of a packet socket with the vnet header, each straight into registered memory; a
// VLAN tag that the kernel took out of band is put back into the frame. Thread: the data thread of
// its owner.
#pragma once

#include <sys/types.h>

#include <span>

#include "lan_bridge/frame_port.h"
#include "lan_bridge/ports/frame_splitter.h"
#include "lan_bridge/ports/packet_socket.h"
#include "lan_bridge/ports/port_counters.h"

namespace splitnic::lan {

class PacketReceiver {
 public:
  // The socket has the vnet header in this form, and PACKET_AUXDATA. All of them outlive this.
  PacketReceiver(int fd, const VnetForm& form, base::Counters<PortCounter>& counters,
                 ReadSplitter& splitter)
      : fd_(fd), form_(form), counters_(counters), splitter_(splitter) {}

  // As FramePort::read().
  ReadBatch read(FrameRing& ring, std::span<base::Bytes> out);

 private:
  ssize_t receive(base::MutableBytes room, base::MutableBytes& frame);

  int fd_;
  VnetForm form_;
  base::Counters<PortCounter>& counters_;
  ReadSplitter& splitter_;
};

}  // namespace splitnic::lan
