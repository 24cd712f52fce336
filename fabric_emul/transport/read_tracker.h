// The RDMA reads and FetchOps of one requester whose responses are outstanding, in the order of
// posts, and which of their requests are to be sent once more [S000-04] [S000-05] [M-07]. A
// response is requested in parts of at most kResponseCellsMax cells: the last cell of a part makes
// the request for the next one due. Thread: the data thread.
// docs/protocol/transport.md#rdma-read-and-fetchop-on-rc
#pragma once

#include <algorithm>

#include "base/ring.h"
#include "fabric_emul/transport/read_sink.h"

namespace splitnic::fabric {

class ReadTracker {
 public:
  // Room for this many reads; never shrinks. Allocates.
  void reserve(std::size_t depth);

  bool empty() const { return sinks_.empty(); }
  // Another read of `cells` cells keeps to the limit of open reads, and all outstanding cells fit
  // into `cells_max`. One read may always be open.
  bool permits(std::uint64_t cells, std::size_t reads_max, std::uint64_t cells_max) const;
  // The request of this read was sent. REQUIRES permits().
  void open(ReadSink sink) { sinks_.push(std::move(sink)); }

  ReadSink* find(Psn psn);
  // The oldest whose request is due, or nullptr.
  ReadSink* with_request_due();
  bool has_request_due() const;
  // Work request `no` still waits for its response.
  bool waits_for(std::uint64_t no) const {
    return !sinks_.empty() && sinks_[0].wqe_no == no && !sinks_[0].is_whole();
  }
  // Work request `no`, the oldest of its queue, has completed.
  void close(std::uint64_t no) {
    if (!sinks_.empty() && sinks_.front().wqe_no == no) sinks_.pop();
  }
  void clear() { sinks_.clear(); }

  // Returns when the oldest incomplete response is late. kNever while its request, which the
  // retransmission timer covers, is not acknowledged: work requests before number `unacknowledged`
  // are. Not by LCN, which the cells of later work requests have again while a response waits.
  base::Time deadline(std::uint64_t unacknowledged, base::Duration rto) const;
  // Makes the request of every incomplete response due.
  void on_timeout(std::uint64_t unacknowledged, base::Time now);

 private:
  base::Ring<ReadSink> sinks_{1};
};

}  // namespace splitnic::fabric
