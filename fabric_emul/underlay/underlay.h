// The seam below the link: something that carries datagrams of whole flits (UDP, a shared-memory
// ring, an in-process queue). One virtual call per batch, never per cell. Decorators (faults,
// capture) wrap another. Thread: one owner, the data thread.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/clock.h"

namespace splitnic::fabric {

// Where a datagram came from or goes to, opaque above the underlay (UDP: the sockaddr; others: a
// number).
struct PeerAddress {
  std::array<std::byte, 28> bytes{};
  friend auto operator<=>(const PeerAddress&, const PeerAddress&) = default;
};

class Underlay {
 public:
  enum class SendStatus {
    kSent,
    kBlocked,  // nothing was taken; send again after writable()
    kTooLong,  // the path refuses datagrams of this length (EMSGSIZE)
    kRefused,  // the path or peer refuses for now (ECONNREFUSED, ENETUNREACH); treat as lost
  };
  // One batch from one peer: bytes.size() bytes in datagrams of `stride` bytes, the last may be
  // shorter.
  struct Received {
    base::Bytes bytes;
    std::size_t stride = 0;
    PeerAddress from;
  };

  virtual ~Underlay() = default;

  // Sends all of `bytes` as datagrams of `stride` bytes (the last may be shorter), in one system
  // call where the carrier allows. REQUIRES 0 < stride and bytes.size() <= batch_bytes_max().
  virtual SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) = 0;
  // Room for the next batch to this peer, which begins with so many bytes, so that it need not be
  // copied: at least batch_bytes_max() bytes, or none if there is none now, it is lent already or
  // a copy costs less. It stays writable, whatever becomes of the peer, until send() has answered
  // to what lies at its front with anything but kBlocked, give_back(), or the end of the underlay.
  // Until then other bytes to this peer are kBlocked. Somebody else may see and change what is in
  // it: it is to be written, never believed.
  virtual base::MutableBytes lend(const PeerAddress& /*to*/, std::size_t /*first_bytes*/) {
    return {};
  }
  // What lies in the room that was lent will not be sent. Does nothing if there is none.
  virtual void give_back(const PeerAddress& /*to*/) {}

  // The next batch, or nothing. The span is valid until the next call of receive(). A batch without
  // bytes is one that a decorator refused: more may wait behind it.
  virtual std::optional<Received> receive() = 0;

  // Asked before its owner sleeps on fd(), after receive() returned nothing: peers are to wake it.
  // False: something has come meanwhile.
  virtual bool may_sleep() { return true; }

  // Largest datagram that the path to this peer carries (UDP: path MTU - IP and UDP headers).
  virtual std::size_t datagram_bytes_max(const PeerAddress& to) const = 0;
  virtual std::size_t batch_bytes_max() const { return 65000; }
  // Bytes that the receive buffer holds; told to the peer in INIT.
  virtual std::size_t receive_buffer_bytes() const = 0;
  // To poll for input (and for output after kBlocked); -1 if there is none.
  virtual int fd() const { return -1; }
  virtual std::string name_of(const PeerAddress& peer) const = 0;
  // When a decorator or timer of the underlay has something to do by itself; kNever otherwise.
  virtual base::Time deadline() const { return base::kNever; }
};

}  // namespace splitnic::fabric
