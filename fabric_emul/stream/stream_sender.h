// The half of a STREAM queue pair that sends: work requests and answers to reads -> cells with byte
// numbers; ACKs -> completions.
//
// The flow, in the order of the functions: post -> transmit (what went back first, then fresh
// cells, inside the peer's window and the congestion window) -> on_ack -> on_time. A packet that
// has begun runs to its end before another begins; work requests and answers take turns. One record
// a cell in flight, in the order of byte numbers; cells are made again from the memory that they
// came from. Three ACKs that tell nothing new, or a time-out, send everything again from the oldest
// cell. Files: stream_sender.cc posts and completes, stream_emit.cc makes cells, stream_ack.cc
// takes ACKs and time. docs/wire/stream.md
#pragma once

#include <optional>

#include "base/ring.h"
#include "base/status.h"
#include "fabric_emul/stream/read_queue.h"
#include "fabric_emul/stream/stream_context.h"
#include "fabric_emul/transport/congestion.h"
#include "fabric_emul/transport/work_request.h"
#include "fabric_emul/wire/cell.h"

namespace splitnic::fabric {

struct StreamSendLimits {
  std::size_t depth = 256;                             // work requests
  std::uint64_t window_bytes_max = 1 << 20;            // whatever the peer takes
  std::uint16_t max_rd_atomic = 0;                     // open at a time
  std::uint8_t retry_count = 7;                        // time-outs without progress
  base::Duration fixed_rto{0};                         // tests: no adaptation
  base::Duration stall_min = std::chrono::seconds(5);  // no failure before this without progress
};

inline constexpr std::uint32_t kStreamWindowMax = 1U << 30;

// What was agreed in CONNECT.
struct StreamStart {
  StreamNumber number;
  Psn psn;
  std::uint32_t peer_window = 0;
  std::uint16_t receive_credits = 0;
  std::uint16_t max_rd_atomic = 0;
};

// A read that waits for its answer: where each cell of it belongs.
struct OpenRead {
  std::uint64_t wqe_no = 0;
  Psn psn;
  MemoryHandle sink_handle{};
  VirtualAddress sink{};
  std::uint32_t length = 0;
  StreamNumber end;  // of the request
};

class StreamSender {
 public:
  StreamSender(StreamContext& context, ReadQueue& responses, const StreamSendLimits& limits);

  // Refused, nothing changed: what the kind of the stream does not take, a full queue, too many
  // pieces (a read has one at most, with the remote write right), too long a packet.
  base::Status post(const SendWr& wr);
  void start(const StreamStart& agreed);
  // Sends at most cells_max cells into the link; returns how many.
  unsigned transmit(base::Time now, unsigned cells_max);
  void on_ack(StreamNumber next, const AckExt& ack, base::Time now);
  // The peer's request says that everything up to here has arrived.
  void on_arrived(StreamNumber next, base::Time now);
  void on_time(base::Time now);
  void on_link_back(base::Time now) {
    tries_ = 0;
    progress_at_ = now;
  }
  base::Time deadline() const { return rto_at_; }

  // Reads whose answer is open, oldest first; nullptr past the last.
  const OpenRead* open_read(std::size_t i) const {
    return i < reads_.size() ? &reads_[i] : nullptr;
  }
  // All of the oldest read's answer is in place. REQUIRES open_read(0).
  void finish_read(base::Time now);
  // The oldest read that has this PSN got something else than it asked for.
  void fail_read(Psn psn);
  // The work request that the peer's TERMINATE names will complete with its cause, not as flushed.
  void blame(const Terminate& terminate);
  // Completes everything that is queued.
  void flush();

  bool has_unsent() const;
  StreamNumber next_number() const { return next_number_; }  // behind all that was sent
  std::size_t queued() const { return sq_.size(); }
  base::Duration rto() const { return congestion_.rto(); }

 private:
  struct Wqe {
    std::uint64_t wr_id = 0;
    WrOp op = WrOp::kSend;
    SgeList gather;
    VirtualAddress remote_address;
    MemoryHandle remote_handle;
    std::optional<std::uint32_t> idata;
    MemoryHandle dereg;
    bool is_fenced = false;
    std::uint32_t cells = 1;
    Psn psn;
    std::uint32_t msn = 0;  // reads
    bool is_started = false;
    bool is_acknowledged = false;
    bool is_responded = false;
    bool consumes_receive() const {
      return op == WrOp::kSend || op == WrOp::kSendDereg || idata.has_value();
    }
  };
  // One cell in flight.
  struct Record {
    bool is_response = false;
    std::uint64_t item = 0;  // number of the work request, or MSN of the answer
    std::uint32_t csn = 0;
    bool is_last = false;
    StreamNumber number;
    std::uint32_t bytes = 0;
    base::Time sent_at{};
    bool again = false;
    StreamNumber end() const { return number + bytes; }
  };

  Wqe& wqe(std::uint64_t no) { return sq_[static_cast<std::size_t>(no - head_no_)]; }
  // stream_sender.cc
  const char* refused(const SendWr& wr, const SgeList& gather) const;
  void complete_front(WcStatus status);
  void complete_done();
  void fail_at(std::uint64_t no, WcStatus status, const std::optional<Terminate>& told = {});
  // stream_emit.cc
  bool send_again(base::Time now);
  bool send_fresh(base::Time now);
  bool begin_packet();
  void expect_response(const Record& request);
  bool may_start(Wqe& w);
  bool local_access_ok(const Wqe& w) const;
  bool window_has_room(std::uint32_t bytes, bool is_fresh) const;
  std::size_t emit(const Record& record);
  CellHead head_of(const Record& record);
  CellHead request_head(const Wqe& w, std::uint32_t csn);
  CellHead response_head(const ReadResponse& response, std::uint32_t csn) const;
  bool fill(const Record& record, base::MutableBytes body);
  // stream_ack.cc
  bool advance(StreamNumber next, base::Time now);
  bool is_cell_end(StreamNumber next) const;
  void retire(const Record& record);
  void on_nothing_new(const AckExt& ack, base::Time now);
  void go_back();

  StreamContext& context_;
  ReadQueue& responses_;
  StreamSendLimits limits_;
  Congestion congestion_;
  base::Ring<Wqe> sq_;
  base::Ring<Record> records_;
  base::Ring<OpenRead> reads_;
  std::size_t in_flight_ = 0;  // of records_, from the front; the rest went back
  std::uint64_t in_flight_bytes_ = 0;
  std::uint64_t head_no_ = 0;   // number of sq_.front()
  std::uint64_t tail_no_ = 0;   // number that the next post gets
  std::uint64_t send_no_ = 0;   // next work request to begin
  std::optional<Record> open_;  // the next cell of the packet that has begun
  bool responses_turn_ = true;
  ReadExt read_ext_;  // scratch of request_head()
  StreamNumber next_number_;
  StreamNumber una_;  // oldest not acknowledged
  Psn next_psn_;
  std::uint32_t next_msn_ = 1;
  std::uint32_t window_ = 0;  // the peer's, less room for TERMINATE
  std::uint32_t receive_credits_ = 0;
  std::uint32_t consumers_outstanding_ = 0;
  unsigned same_acks_ = 0;
  StreamNumber recover_;  // a go-back is under way until this is acknowledged
  bool recovers_ = false;
  base::Time rto_at_ = base::kNever;
  base::Time progress_at_{};
  base::Time timeout_at_{};
  unsigned tries_ = 0;
  std::optional<std::uint64_t> failed_no_;
  WcStatus failed_status_ = WcStatus::kFlushed;
};

}  // namespace splitnic::fabric
