// The parameters of a new queue pair, for Adapter::create_qp() and create_stream().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/memory_account.h"
#include "fabric_emul/stream/stream_context.h"
#include "fabric_emul/transport/qp_attr.h"
#include "fabric_emul/transport/work_request.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/op_table.h"
#include "fabric_emul/wire/partition.h"

namespace splitnic::fabric {

// Upper limit of the depth of a queue.
inline constexpr std::size_t kWorkQueueDepthMax = std::size_t{1} << 20;

// The parameters that a queue pair of any service has.
struct CommonInit {
  PdId pd{};
  CqId send_cq{};
  CqId recv_cq{};
  PartitionKey partition = kDefaultPartition;  // one of the adapter's
  std::uint8_t sl = 0;                         // of what it sends, at most kSlMax
  std::size_t send_depth = 256;                // 1 to kWorkQueueDepthMax, as receive_depth
  std::size_t receive_depth = 256;
  std::uint16_t mcp = 0;     // 0: of the link that it is connected over; UD needs one
  bool takes_dereg = false;  // the peer's Sends may deregister what it was given [S002-35]
  // RC and STREAM: RDMA reads and FetchOps open at a time, at most kReadsMax: as responder, and as
  // requester (the peer may allow fewer).
  std::uint16_t max_dest_rd_atomic = 0;
  std::uint16_t max_rd_atomic = kReadsMax;
  std::uint8_t retry_count = kRetryCountMax;
  base::Duration fixed_rto{0};  // tests only
  base::Duration stall_min = std::chrono::seconds(5);
  // The account of the peer, which outlives the queue pair: its tables and the cells that come
  // early are charged to it. Null: to nobody. Not of a STREAM.
  base::MemoryAccount* memory = nullptr;
};

struct QpInit {
  CommonInit common{};
  Service service = Service::kRc;
  std::uint32_t max_outstanding = 0;  // packets, at most kPsnWindowMax; 0: send_depth [S000-16]
  std::uint16_t ack_interval = QpAttr{}.ack_interval;  // an ACK after this many cells
  bool accepts_rdma = true;         // incoming, if AdapterLimits::accepts_rdma permits it [S000-01]
  bool has_datagram_rdma = false;   // UD: RDMA writes of one cell are sent and taken
  bool registers_in_queue = false;  // post_register() is taken [S002-29]
  FailureOption failure_option = FailureOption::kReactive;  // of a registration in the queue
  bool packet_crc = false;  // in any case; RC and UC have it behind routers anyway
  bool selective_repeat = QpAttr{}.selective_repeat;  // false: go-back-N
  // RC with selective repeat: cells go by each link between the two nodes, over whatever ports, if
  // the peer's queue pair has this too. The ports of an adapter then have one instance [S000-46].
  bool spans_links = false;
  std::uint8_t rnr_retry = kRnrRetryForever;
  std::uint64_t window_bytes_max = 2 << 20;
};

// A queue pair of the STREAM service.
struct StreamInit {
  CommonInit common{};
  StreamKind kind = StreamKind::kRdma;       // the same at both ends
  std::uint32_t window_bytes = 1 << 20;      // W: how far ahead the peer may send
  std::optional<std::uint16_t> start_lcn{};  // tests: byte numbers start at 65536 times this
};

}  // namespace splitnic::fabric
