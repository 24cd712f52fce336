// The half of a STREAM queue pair that sends: work requests and responses to reads -> cells with
// byte numbers; ACKs -> completions.
//
// The flow: post() -> transmit() (retransmissions first, then fresh cells, within the peer's window
// and the congestion window) -> on_ack() -> on_time(). A packet that has begun runs to its end
// before another begins; work requests and responses alternate. One record per cell, in the order
// of byte numbers; a retransmitted cell is made once more from the memory that it came from. Three
// ACKs without news (RFC 5681, fast retransmit) or a timeout (RFC 6298) retransmit everything from
// the oldest cell on. Files: stream_sender.cc posts and completes, stream_emit.cc makes cells,
// stream_ack.cc takes ACKs and time. Thread: the data thread. docs/protocol/stream.md
#pragma once

#include <optional>

#include "base/ring.h"
#include "base/status.h"
#include "fabric_emul/stream/read_queue.h"
#include "fabric_emul/stream/stream_context.h"
#include "fabric_emul/transport/congestion.h"
#include "fabric_emul/transport/qp_attr.h"
#include "fabric_emul/transport/receive_credits.h"
#include "fabric_emul/transport/retransmit_timer.h"
#include "fabric_emul/transport/send_queue.h"
#include "fabric_emul/wire/cell.h"

namespace splitnic::fabric {

struct StreamSendLimits {
  std::size_t depth = 256;                             // work requests
  std::uint64_t window_bytes_max = 1 << 20;            // whatever the peer takes
  std::uint16_t max_rd_atomic = 0;                     // open at a time
  std::uint8_t retry_count = kRetryCountMax;           // time-outs without progress
  base::Duration fixed_rto{0};                         // tests: no adaptation
  base::Duration stall_min = std::chrono::seconds(5);  // no failure before this without progress
};

inline constexpr std::uint32_t kStreamWindowMax = 1U << 30;

// The values agreed in CONNECT.
struct StreamStart {
  StreamNumber number;
  Psn psn;
  std::uint32_t peer_window = 0;
  std::uint16_t receive_credits = 0;
  std::uint16_t max_rd_atomic = 0;
};

// A read that waits for its response, and where each cell of the response belongs.
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

  // Refused (nothing changed): an operation that the kind of the stream does not have, a full
  // queue, too many pieces (a read has at most one, with the remote write right), or a packet that
  // is too long.
  base::Status post(const SendWr& wr);
  // Allocates.
  void start(const StreamStart& agreed);
  // Sends at most cells_max cells into the link; returns how many.
  unsigned transmit(base::Time now, unsigned cells_max);
  void on_ack(StreamNumber next, const AckExt& ack, base::Time now);
  // A request of the peer shows that everything up to here has arrived.
  void on_arrived(StreamNumber next, base::Time now);
  void on_time(base::Time now);
  // The link was down and is up again: the tries that were made meanwhile do not count.
  void on_link_back(base::Time now) { timer_.on_progress(now); }
  base::Time deadline() const { return timer_.deadline(); }

  // Reads whose response is outstanding, oldest first; nullptr past the last.
  const OpenRead* open_read(std::size_t i) const {
    return i < reads_.size() ? &reads_[i] : nullptr;
  }
  // The whole response to the oldest read is in place. REQUIRES open_read(0).
  void finish_read(base::Time now);
  // The response to the oldest read with this PSN is not what was requested.
  void fail_read(Psn psn);
  // The work request that the peer's TERMINATE names will complete with its cause, not as flushed.
  void blame(const Terminate& terminate);
  // Completes everything that is queued.
  void flush();

  bool has_unsent() const;
  StreamNumber next_number() const { return next_number_; }  // behind all that was sent
  std::size_t queued() const { return queue_.size(); }
  base::Duration rto() const { return congestion_.rto(); }

 private:
  struct Wqe : SendWqe {
    std::uint32_t msn = 0;  // reads
    bool is_acknowledged = false;
    bool is_responded = false;
  };
  // One cell that is sent and not acknowledged, or the next one of the open packet.
  struct Record {
    bool is_response = false;
    std::uint64_t item = 0;  // number of the work request, or MSN of the response
    std::uint32_t csn = 0;
    bool is_last = false;
    StreamNumber number;
    std::uint32_t bytes = 0;
    base::Time sent_at{};
    bool is_retransmitted = false;
    StreamNumber end() const { return number + bytes; }
  };

  // stream_sender.cc
  base::Status check_kind(const SendWr& wr) const;
  void complete_front(WcStatus status);
  void complete_done();
  void fail_at(std::uint64_t no, WcStatus status, const std::optional<Terminate>& cause = {});
  // stream_emit.cc
  bool retransmit(base::Time now);
  bool send_fresh(base::Time now);
  bool begin_packet();
  void expect_response(const Record& request);
  bool may_start(Wqe& w);
  bool window_has_room(std::uint32_t bytes, bool is_fresh) const;
  std::size_t emit(const Record& record);
  CellHead head_of(const Record& record);
  CellHead request_head(const Wqe& w, std::uint32_t csn);
  CellHead response_head(const ReadResponse& response, std::uint32_t csn) const;
  bool fill(const Record& record, base::MutableBytes body);
  CellView request_of(const ReadResponse& response) const;
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
  SendQueue<Wqe> queue_;
  ReceiveCredits credits_;
  RetransmitTimer timer_;
  base::Ring<Record> records_;
  base::Ring<OpenRead> reads_;
  std::size_t in_flight_ = 0;  // of records_, from the front; the rest is to be retransmitted
  std::uint64_t in_flight_bytes_ = 0;
  std::optional<Record> open_;  // the next cell of the packet that has begun
  bool is_response_next_ = true;
  ReadExt read_ext_;  // scratch of request_head()
  StreamNumber next_number_;
  StreamNumber una_;  // oldest not acknowledged
  Psn next_psn_;
  std::uint32_t next_msn_ = 1;
  std::uint32_t window_ = 0;  // the peer's, less room for TERMINATE
  unsigned same_acks_ = 0;
  StreamNumber recover_;  // a go-back lasts until this is acknowledged (RFC 6582)
  bool is_recovering_ = false;
  std::optional<std::uint64_t> failed_no_;
  WcStatus failed_status_ = WcStatus::kFlushed;
};

}  // namespace splitnic::fabric
