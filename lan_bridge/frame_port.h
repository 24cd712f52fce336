// The seam to a kernel interface or a capture file: a batch of frames in, a batch of frames out.
// Every frame is [virtio-net header 12, little endian][Ethernet frame], VLAN tags in band. A port
// that cannot carry super-frames or partial checksums (pcap:) segments and finishes them itself, at
// the very end. Thread: the data thread of its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/status.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/offload.h"
#include "lan_bridge/frame_ring.h"

namespace splitnic::lan {

struct PortState {
  bool link_up = false;
  std::uint32_t mtu = 1500;
  MacAddress mac{};
  std::uint32_t speed_mbps = 0;  // 0: unknown
  bool full_duplex = true;
  bool promiscuous = false;  // what the kernel's flags say (TAP: what the host's user set)
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

  // Reads up to out.size() frames into `ring`, each committed there in order; `out` gets
  // their places. Stops when nothing waits or the ring cannot take another kFrameReserve.
  virtual ReadBatch read(FrameRing& ring, std::span<base::Bytes> out) = 0;
  // Writes the frames in order; returns how many were taken: sent, dropped and counted, or kept by
  // the port to the end of its pieces. The port points to none of them after the call. Fewer than
  // given: the port would block. Nothing of the rest has been sent: offer it again when the fd is
  // writable, or other frames, or none.
  virtual std::size_t write(std::span<const base::Bytes> frames) = 0;
  // A frame that was taken and that the port splits has pieces yet to go: poll for output and
  // flush(). write() flushes first, and takes nothing while any are left.
  virtual bool write_pending() const { return false; }
  virtual void flush() {}  // sends of them what does not block
  // Several writers share write() from now on, or one has the port alone (the initial state).
  // Frames in the kernel's buffer are past the owner's scheduler: while shared it is kept short, so
  // that the scheduler decides who gets the interface. Takes and loses no frame; waiting ones stay.
  virtual void share_output(bool /*is_shared*/) {}

  virtual int fd() const = 0;                  // poll for input; -1: always ready (file port)
  virtual int event_fd() const { return -1; }  // poll for changes of state(); -1: none
  virtual bool input_ended() const { return false; }  // a file port that has replayed everything
  virtual bool input_waits() const { return false; }  // unread input is never lost (file port)
  // The state as the kernel reports it; reads pending events first.
  virtual PortState state() = 0;
  // The interface was deleted: nothing will ever come or go again. As of the last state().
  virtual bool is_gone() const { return false; }
  virtual base::Status set_mtu(std::uint32_t mtu) = 0;
  virtual base::Status set_mac(const MacAddress& mac) = 0;
  virtual base::Status set_promiscuous(bool on) = 0;
  virtual base::Status set_carrier(bool up) = 0;  // TAP only; OK and nothing elsewhere
  virtual std::uint32_t offloads() const = 0;     // Offload bits of what write() takes unsplit
  virtual base::Status set_offloads(std::uint32_t mask) = 0;
  virtual std::string name() const = 0;  // as typed: "packet:eth1"
  // No frame that read() gives is longer than this (vnet header included): a super-frame is split
  // at a gso_size boundary, never cut or dropped. A frame that is no super-frame stays whole
  // whatever its length: its owner drops it as too_long. Until set: kFrameBytesMax.
  virtual void set_frame_bytes_max(std::size_t /*bytes*/) {}
  // Counters without prefix, as ports/port_counters.h names and relates them: rx.frames, rx.bytes,
  // rx.split, tx.frames, tx.bytes, tx.split, rx.drop.<cause>, tx.drop.<cause>.
  virtual void visit_counters(const base::CounterVisitor& visitor) const = 0;
};

}  // namespace splitnic::lan
