// Hosts -> LAN, and host -> host: deficit round robin by bytes of the wire
// (iou_module/hosts/deficit_round_robin.h, lan_bridge/frame/wire_bytes.h). While several hosts have
// frames, each sends a quantum per round, so a host that sends super-frames gets no larger share of
// the LAN than one that sends small frames, however many segments they have [H-3]. What the LAN
// port cannot take now stays in its host's elements, which is that host's back pressure and no
// other's.
//
//   1. receive a batch of frames of each host
//   2. in round robin, until no host has frames or the LAN port is blocked: check each frame once,
//      deliver it to other hosts that it is for, and write those for the LAN, run by run
//   3. while the port is blocked: deliver frames for other hosts, up to the first for the LAN
//
// Thread: the data thread.
#pragma once

#include <memory>
#include <span>

#include "iou_module/hosts/host_table.h"
#include "iou_module/nic/lan_counters.h"

namespace splitnic::iou {

class LanTx {
 public:
  // All outlive it.
  LanTx(lan::FramePort& port, HostTable& hosts, base::Counters<LanCounter>& counters);

  // Returns true if it made progress.
  bool step(base::Time now);
  // The port did not take a frame in the last step().
  bool is_blocked() const { return is_blocked_; }

 private:
  // Bytes of the wire per host and round: nearly two super-frames.
  static constexpr std::size_t kQuantumBytes = 128 * 1024;
  static constexpr std::size_t kBatch = HostRxBatch::kFramesMax;  // frames per write

  // Frames for the LAN, in order. The first frame that is not for the LAN ends the run.
  struct Run {
    std::size_t frames = 0;
    bool has_other = false;  // such a frame follows: it is finished when those before it are
  };

  bool serve(AttachedHost& host, bool is_shared, base::Time now);
  bool forward(AttachedHost& host, std::size_t& bytes_left, base::Time now);
  bool deliver_past_lan(base::Time now);
  Run gather(AttachedHost& host, std::span<base::Bytes> out, std::size_t bytes_max, base::Time now);
  std::size_t finish(AttachedHost& host, std::span<const base::Bytes> written, std::size_t count,
                     base::Time now);
  bool deliver_to_hosts(AttachedHost& from, base::Bytes frame);

  lan::FramePort& port_;
  HostTable& hosts_;
  base::Counters<LanCounter>& counters_;
  DeficitRoundRobin round_robin_{kQuantumBytes};
  bool is_blocked_ = false;
  std::unique_ptr<std::byte[]> tagged_;  // copies with the VLAN tag of the PVID, of one run
};

}  // namespace splitnic::iou
