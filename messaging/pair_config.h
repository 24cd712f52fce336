// The configuration of a channel pair: the mode, the pools that this side offers, and the limits
// that both sides negotiate. docs/protocol/channels.md#capabilities
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/memory_account.h"
#include "fabric_emul/verbs/verbs.h"
#include "messaging/pools/pool_spec.h"
#include "messaging/wire/idata.h"
#include "messaging/wire/message_header.h"

namespace splitnic::messaging {

enum class Mode : std::uint8_t { kRdma, kSend };

// The way in which the channels of a pair are connected. docs/protocol/channels.md#arrangements
// [S001-51]
enum class Channels : std::uint8_t {
  kTwo,       // both in one connection
  kOne,       // rdma mode: channel 0 carries everything
  kSeparate,  // send mode: a connection for each
};

struct PairConfig {
  Mode mode = Mode::kRdma;             // requested by the active side
  bool follows_peer_mode = true;       // passive side: either mode; false: only `mode`
  Channels channels = Channels::kTwo;  // active side; the passive side follows
  std::vector<PoolSpec> pools{kDefaultPools.begin(),
                              kDefaultPools.end()};  // > 256 elements: several pools
  std::uint32_t send_threshold = 0;  // rdma mode: frames up to this go as SendData on channel 0
  // kMsgMaxLeast to kMsgMaxMost, a multiple of 4; the smaller of both sides holds.
  std::uint32_t control_message_max = kMsgMaxControl;
  std::uint32_t data_message_max = kMsgMaxData;  // send mode
  std::uint32_t frame_slots = 512;               // send mode: frames that can wait to be received
  // The way in which the peer indicates writes into our pools; none: by message only. Form B needs
  // exactly one pool of at most 4 MiB, its element size a multiple of 64.
  std::optional<IdataForm> idata_form = IdataForm::kPoolElement;
  // Returns the source port, destination port and source address of a frame, as pool contexts have
  // them. Null: this side does not place frames by pool context. [S001-52]
  std::uint64_t (*flow_context_of)(base::Bytes frame) = nullptr;
  // For pools that the peer requests with BufferRecvPoolGet; 0: no such pools.
  std::uint32_t grant_bytes_max = 4 << 20;
  std::string node_name{};
  std::string program = "splitnic";  // name and version, for the peer's user
  std::uint32_t nic = 0;             // active side: number of the NIC of the I/O unit
  // The number of pairs of this connection and the number of this one (connection.h). On the
  // passive side, before a CONNECT_REQ has arrived, `queues` is the maximum that it accepts.
  std::uint32_t queues = 1;
  std::uint32_t queue = 0;
  std::uint64_t window_bytes_max = 2 << 20;
  // One of the adapter's; on the passive side, before a CONNECT_REQ has arrived, any.
  fabric::PartitionKey partition = fabric::kDefaultPartition;
  std::uint8_t sl = 0;  // of the data that this side sends, at most fabric::kSlMax
  // Active side: the level of the data of both sides on queue 1, 2 and so on, in place of `sl`.
  std::vector<std::uint8_t> levels{};
  // The account of the peer, which outlives the connection: all that grows with the configuration
  // or by what the peer does is charged to it. Null: to nobody. [M-1]
  base::MemoryAccount* memory = nullptr;
};

}  // namespace splitnic::messaging
