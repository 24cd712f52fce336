// A VI: a send and a receive queue of descriptors, each with a doorbell, over one queue pair
// [S001-41]. This is the user agent's side of it: posting and ringing enter no kernel agent.
//
//   post    the descriptor is in the queue (status 0), linked to the one before it
//   ring    the doorbell: what was posted is checked and given to the queue pair
//   done    its status is written, and its completion queue has an entry; in the order of posts
//
// A descriptor that is wrong touches nothing but its own status. Unreliable: the VI continues
// after an error. Reliable: the first error ends the connection, and everything behind it is
// flushed. Thread: the data thread. docs/protocol/via.md
#pragma once

#include <array>
#include <string_view>

#include "fabric_emul/via/vi_cq.h"

namespace splitnic::fabric {

// The values of vipl.h. Reliable delivery gets what reception promises: a send completes when its
// data is in the peer's memory.
enum class ViReliability : std::uint16_t { kUnreliable = 1, kDelivery = 2, kReception = 4 };
enum class ViState : std::uint8_t { kIdle, kConnectPending, kConnected, kError };

struct ViAttributes {
  ViReliability reliability = ViReliability::kDelivery;
  PdId pd;
  std::uint32_t transfer_max = 1 << 20;  // bytes of one descriptor; the peer may take fewer
  bool enable_rdma_write = true;         // by the peer
  bool enable_rdma_read = false;
  std::size_t send_depth = 64;
  std::size_t receive_depth = 64;
};

class Vi;

// Takes the reports of a VI, as the agent that made it.
class ViAgent {
 public:
  virtual ~ViAgent() = default;
  // Reliable: a descriptor has completed with an error.
  virtual void on_failed(Vi& vi, std::string_view why) = 0;
  // Unreliable: the memory of a send went away between its doorbell and the wire, which has stopped
  // the send queue.
  virtual void on_send_stopped(Vi& vi) = 0;
};

class Vi {
 public:
  // Has no queue pair until bind(). The references outlive it.
  Vi(ViAgent& agent, Adapter& adapter, const ViAttributes& attributes, ViCq& send_cq,
     ViCq& receive_cq)
      : agent_(agent),
        adapter_(adapter),
        attributes_(attributes),
        queues_{Queue{send_cq, attributes.send_depth},
                Queue{receive_cq, attributes.receive_depth}} {}
  Vi(const Vi&) = delete;
  Vi& operator=(const Vi&) = delete;

  // Refused: not aligned, not in registered memory of the VI's domain, queue full.
  base::Status post(ViQueue queue, ViDescriptorRef at);
  void ring(ViQueue queue);

  ViState state() const { return state_; }
  const ViAttributes& attributes() const { return attributes_; }
  // Descriptors that done() has not returned.
  std::size_t held(ViQueue queue) const { return queues_[index(queue)].ring.size(); }

  // -- for the completion queues of its two queues --
  // Its queue pair has completed the oldest work request of a queue.
  void on_completion(const Wc& wc);
  // Takes the oldest descriptor of a queue. REQUIRES that it is done.
  ViCompletion take_done(ViQueue which);

  // -- for the kernel agent --
  Qpn qpn() const { return qpn_; }
  ViCq& cq(ViQueue queue) { return queues_[index(queue)].cq; }
  // It has this queue pair, in INIT, and is idle.
  void bind(Qpn qpn);
  // The queue pair is about to end.
  void unbind();
  // Leaves kConnectPending, or enters a state without a connection.
  void set_state(ViState state) { state_ = state; }
  // Connected to a VI that takes this many bytes per descriptor.
  void on_connected(std::uint32_t peer_transfer_max);

 private:
  struct Posted {
    ViDescriptorRef at;
    std::uint32_t op = 0;      // bits 18..16 of the status
    std::uint32_t status = 0;  // 0: with the queue pair, or not rung
  };
  struct Queue {
    Queue(ViCq& to, std::size_t depth) : cq(to), ring(depth) {}
    ViCq& cq;
    base::Ring<Posted> ring;  // done, then rung, then only posted
    std::size_t done = 0;
    std::size_t rung = 0;
    bool is_broken = false;  // what follows a wrong descriptor is flushed
  };

  static constexpr std::size_t index(ViQueue queue) { return static_cast<std::size_t>(queue); }
  bool is_reliable() const { return attributes_.reliability != ViReliability::kUnreliable; }
  bool copy_in(ViDescriptorRef at, base::MutableBytes out) const;
  bool write_back(ViDescriptorRef at, std::size_t offset, base::Bytes bytes) const;
  bool write_word(ViDescriptorRef at, std::size_t offset, std::uint32_t word) const;
  std::uint32_t read(ViQueue which, Posted& posted, ViDescriptor& out) const;
  std::uint32_t start(ViQueue which, Posted& posted);
  std::uint32_t give(ViQueue which, const ViDescriptor& d);
  void finish(ViQueue which, std::uint32_t status);
  void retire(ViQueue which);

  ViAgent& agent_;
  Adapter& adapter_;
  const ViAttributes attributes_;
  std::array<Queue, 2> queues_;
  Qpn qpn_;
  ViState state_ = ViState::kIdle;
  std::uint32_t transfer_max_ = 0;  // of this connection
};

}  // namespace splitnic::fabric
