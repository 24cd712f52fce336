// A port for whole IPv6 datagrams, without a link layer: the interface of a kernel, or a queue of a
// test. Thread: its owner's, the data thread.
#pragma once

#include <cstddef>

#include "base/bytes.h"

namespace splitnic::lan {

class DatagramPort {
 public:
  virtual ~DatagramPort() = default;
  // Poll for input; -1: it is never polled.
  virtual int fd() const = 0;
  // Returns the bytes of the next datagram, of which `out` gets what it has room for; 0: none
  // waits.
  virtual std::size_t read(base::MutableBytes out) = 0;
  // Returns false if it is not taken.
  virtual bool write(base::Bytes datagram) = 0;
};

}  // namespace splitnic::lan
