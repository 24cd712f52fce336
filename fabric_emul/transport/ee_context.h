// One end of an end-to-end context: the order in which the RD queue pairs of one node send messages
// to those of another, and the replies to them. Every queue pair of both nodes shares it [S000-12].
//
// The sending half gives each message a PSN, keeps a record of it until its reply has come, and
// repeats it until then. The receiving half takes messages in PSN order, has their queue pairs
// execute them, and keeps the results of the newest kEeWindow: a repeated message gets its result
// once more and is not executed again. A result is of one message only, so that no queue pair waits
// for another, and an error ends none of the others.
//
//   state    sends  takes  leaves it
//   CREATED  no     no     connect(): READY
//   READY    yes    yes    end(), or the tries are used up: ENDED
//   ENDED    no     no     never
//
// Files: ee_context.cc is the sending half, ee_responder.cc the receiving half. Allocates for kept
// responses only. Thread: the data thread. docs/protocol/rd.md
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/ring.h"
#include "base/status.h"
#include "fabric_emul/link/link.h"
#include "fabric_emul/transport/congestion.h"
#include "fabric_emul/transport/qp.h"
#include "fabric_emul/transport/retransmit_timer.h"

namespace splitnic::fabric {

// Messages of one context that are in flight at a time, at most.
inline constexpr std::size_t kEeWindow = 32;

struct EeInit {
  PartitionKey partition = kDefaultPartition;  // of the queue pairs that use it
  std::uint8_t sl = 0;                         // at most kSlMax
  std::uint16_t mcp = 0;                       // 0: of the link
  std::uint8_t retry_count = kRetryCountMax;
  base::Duration stall_min = std::chrono::seconds(5);
  base::Duration fixed_rto{0};  // tests only
};

// The agreed parameters of a context.
struct EePeer {
  std::uint32_t context = 0;  // its number at the other node
  Psn receive_psn;            // the first that the peer sends
  std::uint16_t mcp = 0;
};

class RdQueuePairs;

class EeContext {
 public:
  enum class State : std::uint8_t { kCreated, kReady, kEnded };

  // The references outlive it.
  EeContext(EeId id, const EeInit& init, Psn start_psn, RdQueuePairs& queue_pairs,
            base::Counters<TransportCounter>& counters);
  EeContext(const EeContext&) = delete;
  EeContext& operator=(const EeContext&) = delete;

  // CREATED -> READY. Refused in another state, and for values that a CONNECT cannot have.
  base::Status connect(Link& link, const EePeer& peer);
  // READY -> ENDED: messages in flight fail with `status`.
  void end(WcStatus status);

  // Sends the next message of a queue pair. Returns false when that waits: the window or the link
  // has no room, or the message failed locally. REQUIRES is_ready().
  bool send(Qp& qp, base::Time now);
  // The queue pair is gone, or its messages are flushed.
  void abandon(const Qp& qp);
  // A cell of this context.
  void on_cell(const CellView& cell, const Link& link, base::Time now);
  // After a batch: sends the replies that are due, and what was lost.
  void transmit(base::Time now);
  void on_time(base::Time now);
  void on_link_back(base::Time now) { timer_.on_progress(now); }
  base::Time deadline() const;

  EeId id() const { return id_; }
  State state() const { return state_; }
  bool is_ready() const { return state_ == State::kReady; }
  const Link* link() const { return link_; }
  PartitionKey partition() const { return init_.partition; }
  std::uint16_t mcp() const { return state_ == State::kReady ? mcp_ : init_.mcp; }
  Psn start_psn() const { return start_psn_; }
  std::size_t in_flight() const { return records_.size(); }

 private:
  // A message that has no reply yet, or that waits for those before it.
  struct Record {
    Qp* qp = nullptr;  // none: it has ended, or its result is here
    base::Time sent_at{};
    bool has_result = false;
    bool is_lost = false;
    bool is_repeated = false;
  };
  // The result of a message that was taken.
  struct Result {
    bool is_kept = false;
    bool is_due = false;
    Psn psn;
    Qpn source, destination;
    Op request = Op::kSend;
    std::uint32_t msn = 0;
    RdResult what;
    std::vector<std::byte> response;
  };

  MacHeader header(Op op) const;
  // ee_context.cc
  void on_reply(const CellView& cell, base::Time now);
  void apply(Qp& qp, const CellView& cell, const AckExt& ack, base::Time now);
  void on_sequence_nak(std::size_t index);
  void resolve(std::size_t index, base::Time now);
  bool resend(std::size_t index, base::Time now);
  std::size_t emit_filler(const EePlace& place);
  Psn oldest() const { return next_psn_ - static_cast<std::uint32_t>(records_.size()); }
  // ee_responder.cc
  void on_request(const CellView& cell);
  void execute(const CellView& cell, Result& result);
  bool send_result(const Result& result);
  bool send_sequence_nak();
  Result& result_of(Psn psn) { return results_[psn.value % kEeWindow]; }
  bool send_results();

  const EeId id_;
  const EeInit init_;
  const Psn start_psn_;
  RdQueuePairs& queue_pairs_;
  base::Counters<TransportCounter>& counters_;
  State state_ = State::kCreated;
  Link* link_ = nullptr;
  std::uint32_t remote_ = 0;
  std::uint16_t mcp_ = 0;

  base::Ring<Record> records_{kEeWindow};  // of the PSNs before next_psn_
  std::size_t window_ = kEeWindow;
  std::size_t lost_count_ = 0;
  Psn next_psn_;
  RetransmitTimer timer_;
  Congestion congestion_{0};  // its time-out only

  std::array<Result, kEeWindow> results_;
  Psn expected_;
  std::uint32_t msn_ = 0;
  std::size_t due_count_ = 0;
  bool is_gap_nak_due_ = false;
  bool is_gap_nak_sent_ = false;  // one per gap
  AckExt ack_;                    // scratch
};

}  // namespace splitnic::fabric
