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

// Bytes of the longest batch, and so of the longest datagram: what UDP takes in one call (65507),
// rounded down.
inline constexpr std::size_t kBatchBytesMax = 65000;

// The source or destination of a datagram, opaque above the underlay (UDP: the sockaddr; others: a
// number).
struct PeerAddress {
  std::array<std::byte, 28> bytes{};
  friend auto operator<=>(const PeerAddress&, const PeerAddress&) = default;
};

// The kind of the path to a peer: who could change bytes on the way.
enum class PathKind : std::uint8_t {
  kNetwork,  // anything, or not known
  kMemory,   // sent by an interface that is memory of this machine (UDP: veth or loopback)
  kSealed,   // each datagram is authenticated: what arrives is what the peer sent
};

class Underlay {
 public:
  enum class SendStatus {
    kSent,
    kBlocked,  // nothing was taken; retry when fd() is writable
    kTooLong,  // the system refuses datagrams of this length (EMSGSIZE)
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
  // Zero-copy sending, for underlays that own the memory that datagrams leave from. claim()
  // reserves room for the next batch to this peer, the caller writes into it, commit() sends it or
  // abort() drops it:
  //   if (base::MutableBytes room = underlay.claim(to, first); !room.empty()) {
  //     std::size_t bytes = write_flits(room);
  //     status = underlay.commit(to, bytes, stride);  // kBlocked: the claim stands, commit again
  //   } else {
  //     std::size_t bytes = write_flits(buffer);
  //     status = underlay.send(to, base::Bytes(buffer).first(bytes), stride);
  //   }
  //
  // Returns at least batch_bytes_max() bytes; nothing if there is no room now, a claim stands
  // already or, for a batch that begins with first_bytes, a copy costs less. The room stays
  // writable, whatever becomes of the peer, until commit() returned anything but kBlocked, abort(),
  // or the end of the underlay; until then send() to this peer returns kBlocked. The peer may see
  // and change the bytes: write them, never read them back.
  virtual base::MutableBytes claim(const PeerAddress& /*to*/, std::size_t /*first_bytes*/) {
    return {};
  }
  // Sends the first `bytes` of the claimed room, as send() would. REQUIRES a claim and
  // 0 < bytes <= batch_bytes_max().
  virtual SendStatus commit(const PeerAddress& /*to*/, std::size_t /*bytes*/,
                            std::size_t /*stride*/) {
    return SendStatus::kRefused;
  }
  // Ends the claim without sending. Does nothing if there is none.
  virtual void abort(const PeerAddress& /*to*/) {}
  // Sets the DSCP, 0 to 63, in the IP header of the batches that are sent from now on, by which a
  // network keeps classes of traffic apart, and that of what decorators send besides; at first 0.
  // Carriers without IP ignore it. [S002-43]
  virtual void set_dscp(std::uint8_t /*of_batches*/, std::uint8_t /*of_control*/) {}
  // Returns the number of data lanes that have credits on the way to the next node of a switched
  // fabric, or 0.
  virtual unsigned lanes() const { return 0; }
  // Bit n is set while lane n takes nothing and others may. Cells that were gathered before are
  // taken. The reference is valid as long as the underlay.
  virtual const std::uint16_t& blocked_lanes() const {
    static constexpr std::uint16_t kNone = 0;
    return kNone;
  }
  // Returns true once after such a lane has become free.
  virtual bool take_room() { return false; }
  // The batch that it did not take waits for such a lane, and not for fd() to be writable: the next
  // flush of its owner tries once more, at deadline() if nothing else happens.
  virtual bool is_blocked_by_lane() const { return false; }
  // The batch at this memory, for which send() returned kBlocked, is dropped: another one in the
  // same memory is new. [L-13]
  virtual void forget(base::Bytes /*batch*/) {}

  // Returns the next batch, or nothing. The span is valid until the next call of receive(). A batch
  // without bytes is one that a decorator dropped: more may wait behind it.
  virtual std::optional<Received> receive() = 0;

  // Called before the owner sleeps on fd(), after receive() returned nothing: asks peers for a
  // wake-up. Returns false if something has arrived meanwhile.
  virtual bool may_sleep() { return true; }

  // Returns whether the last batch came in on the processor that the caller runs on. The sender may
  // then be waiting for this processor, and to be woken on it costs little: the owner sleeps where
  // it would spin. UDP without CAP_BPF knows it of a connected socket only.
  virtual bool came_in_on_this_cpu() const { return false; }

  // Takes another own address if the carrier's is not of this machine any more. Asks the system:
  // for when nothing is heard from a peer, not for the data path.
  virtual void check_own_address() {}

  // The peer that this side connected to has ended: what a decorator agreed with it is void, and
  // the next datagram to it begins again. It may be back soon.
  virtual void on_peer_stopped(const PeerAddress& /*peer*/) {}

  // Returns by how many paths, by as many LIDs from its own on, cells reach this peer of a switched
  // fabric; and of how many LIDs, from the base on, cells reach this node. A power of 2.
  virtual unsigned paths_to(const PeerAddress& /*to*/) const { return 1; }
  virtual unsigned own_paths() const { return 1; }

  // Whether each flit arrives as it was sent. Else whole cells do, and flits around them are made
  // on the way: then a part of a cell is of no use.
  virtual bool carries_fragments() const { return true; }

  // May ask the system: for INIT, not for the data path.
  virtual PathKind path_kind(const PeerAddress& /*to*/) const { return PathKind::kNetwork; }

  // Returns the largest datagram that leaves for this peer (UDP: MTU of the interface, or of the
  // route where a smaller one is configured there, less IP and UDP headers). What the network
  // reported about the path (ICMP) changes nothing of it: anybody can send that. [H-6]
  virtual std::size_t datagram_bytes_max(const PeerAddress& to) const = 0;
  // Returns true once after the network reported that a datagram was too long for its path: a
  // reason to probe the path, and no more. [H-6]
  virtual bool take_too_long_report() { return false; }
  virtual std::size_t batch_bytes_max() const { return kBatchBytesMax; }
  // Returns the size of the receive buffer, which INIT announces to the peer.
  virtual std::size_t receive_buffer_bytes() const = 0;
  // Returns the descriptor to poll for input (and for output after kBlocked); -1 if there is none.
  virtual int fd() const { return -1; }
  virtual std::string name_of(const PeerAddress& peer) const = 0;
  // Identity of a peer that this underlay authenticates: the EUI-64 that only the peer at this
  // address may state, and its public key as text. Nothing, and "", if it authenticates nobody.
  virtual std::optional<std::uint64_t> eui64_of(const PeerAddress& /*peer*/) const {
    return std::nullopt;
  }
  virtual std::string key_of(const PeerAddress& /*peer*/) const { return {}; }
  // Returns the user of this machine that the kernel reports for the peer; nothing if the peer is
  // not a process of this machine.
  virtual std::optional<std::uint32_t> user_of(const PeerAddress& /*peer*/) const {
    return std::nullopt;
  }
  // Returns when receive() must be called even if fd() is not readable (timers of a decorator);
  // kNever otherwise.
  virtual base::Time deadline() const { return base::kNever; }
};

}  // namespace splitnic::fabric
