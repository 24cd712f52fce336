// The interface to a kernel interface or a capture file: a batch of frames in, a batch of frames
// out. Every frame is [virtio-net header 12, little endian][Ethernet frame], with VLAN tags in
// band. A port that cannot carry super-frames or partial checksums segments and finishes them in
// software when it writes them. Thread: the data thread of its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/offload.h"
#include "lan_bridge/frame_ring.h"
#include "lan_bridge/receive_filter.h"

namespace splitnic::lan {

struct PortState {
  bool link_up = false;
  std::uint32_t mtu = 1500;
  MacAddress mac{};
  std::uint32_t speed_mbps = 0;  // 0: unknown
  bool full_duplex = true;
  bool promiscuous = false;  // the kernel's flags (TAP: as the host's user set them)
  bool all_multicast = false;
  bool admin_up = false;
  friend bool operator==(const PortState&, const PortState&) = default;
};

struct ReadBatch {
  std::size_t frames = 0;  // out[0..frames)
  bool more = false;       // input is left: read again before sleeping
};

class FramePort {
 public:
  virtual ~FramePort() = default;

  // Reads up to out.size() frames into `ring`, where they are committed in order, and sets `out` to
  // them. Stops when no frame waits or the ring cannot take another kFrameReserve.
  virtual ReadBatch read(FrameRing& ring, std::span<base::Bytes> out) = 0;
  // Writes the frames in order and returns how many were taken: sent, dropped and counted, or kept
  // by the port until the last of their pieces is sent. The port points to none of them after the
  // call. If fewer than all were taken, the port would block, and nothing of the rest has been
  // sent: when write_fd() is writable, the caller may offer the rest, or other frames, or none.
  virtual std::size_t write(std::span<const base::Bytes> frames) = 0;
  // Returns true if pieces of a frame that was taken wait to be sent: poll write_fd() and call
  // flush(). write() flushes first, and takes nothing while any are left.
  virtual bool write_pending() const { return false; }
  virtual void flush() {}  // sends the pieces that do not block
  // From now on several writers share the port, or one has it alone, as at the start. Frames in the
  // kernel's buffer are not subject to fair queueing, so the buffer is kept short while the port is
  // shared. No frame is taken or lost; frames in the buffer stay there.
  virtual void share_output(bool /*is_shared*/) {}
  // Returns true if share_output() needs CAP_NET_ADMIN to restore the whole buffer.
  virtual bool needs_privilege_to_share() const { return false; }

  // Of a port with several queues: has the kernel give frames to this one, or stop; then the others
  // get those of its flows. An additional queue of a TAP starts without. Frames that wait in a
  // queue that is detached are lost. OK and nothing for every other port.
  virtual base::Status attach_queue(bool /*is_attached*/) { return {}; }

  virtual int fd() const = 0;                    // poll for input; -1: always ready (file port)
  virtual int write_fd() const { return fd(); }  // poll for output
  virtual int event_fd() const { return -1; }    // poll for changes of state(); -1: none
  virtual bool input_ended() const { return false; }  // a file port that has replayed everything
  virtual bool input_waits() const { return false; }  // unread input is never lost (file port)
  // Returns the state as the kernel reports it; reads pending events first.
  virtual PortState state() = 0;
  // Counts the changes of state(), is_gone() and is_back() that the port has read. Any caller of
  // state() reads the events, so whoever waits for event_fd() compares this, too.
  virtual std::uint64_t changes() const { return 0; }
  // Returns true if the interface was deleted, as of the last state(): no frame crosses any more.
  virtual bool is_gone() const { return false; }
  // Returns true if an interface of that name was back, and up, as of the last state(). The
  // port does not use it before return_by(). REQUIRES is_gone().
  virtual bool is_back() const { return false; }
  // Returns true if the port can use an interface that is back, once it gets a socket for it: the
  // program may have given up the right to open one.
  virtual bool can_return() const { return false; }
  // From now on the port uses the interface that is back, through the descriptor fd() of a packet:
  // port with the same options and queue that another process has opened, and all that was set
  // before is in force there. fd() and write_fd() may be others then. Returns the descriptors that
  // it has used before: the kernel takes some 10 ms to close them. An error: the interface is
  // another one by now, or the socket cannot be used; is_gone() reports whether the port uses it.
  // REQUIRES can_return().
  using Descriptors = std::vector<base::UniqueFd>;
  virtual base::Result<Descriptors> return_by(base::UniqueFd /*socket*/) {
    return base::Error(name() + ": it takes another port");
  }
  // Returns true if the interface is in another network namespace than the program.
  virtual bool is_elsewhere() const { return false; }
  virtual base::Status set_mtu(std::uint32_t mtu) = 0;
  virtual base::Status set_mac(const MacAddress& mac) = 0;
  virtual base::Status set_promiscuous(bool on) = 0;
  // Replaces what the interface receives by request of this port: everything, unless it was opened
  // otherwise. pcap: and packet: only, OK and nothing elsewhere.
  virtual base::Status set_receive_filter(const ReceiveFilter& /*filter*/) { return {}; }
  virtual base::Status set_carrier(bool up) = 0;  // TAP only; OK and nothing elsewhere
  // Sets what the interface reports as its speed and duplex mode; TAP only, OK and nothing
  // elsewhere.
  virtual base::Status set_speed(std::uint32_t /*mbps*/, bool /*is_full_duplex*/) { return {}; }
  virtual std::uint32_t offloads() const = 0;  // Offload bits of frames that are sent unsplit
  virtual base::Status set_offloads(std::uint32_t mask) = 0;
  virtual std::string name() const = 0;  // as on the command line: "packet:eth1"
  // Bounds the super-frames that read() returns, vnet header included: a longer one is split at
  // gso_size boundaries, never cut or dropped. Any other frame stays whole whatever its length: its
  // owner drops it as too_long. Until this is called: kFrameBytesMax.
  virtual void set_frame_bytes_max(std::size_t /*bytes*/) {}
  // Visits the counters without prefix, as lan_bridge/ports/port_counters.h names and relates them:
  // rx.frames, rx.bytes, rx.split, tx.frames, tx.bytes, tx.split, rx.drop.<cause>, tx.drop.<cause>.
  virtual void visit_counters(const base::CounterVisitor& visitor) const = 0;
};

}  // namespace splitnic::lan
