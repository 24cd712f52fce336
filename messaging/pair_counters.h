// Counters of what crosses a channel pair, per kind of message or frame.
#pragma once

#include <array>
#include <string_view>

#include "base/counters.h"

namespace splitnic::messaging {

enum class PairCounter {
  kControlTx,   // messages of channel 0, without SendData
  kMessageRx,   // messages of either channel, with SendData
  kSendDataTx,  // frames by SendData, on either channel
  kSendDataRx,
  kWriteTx,      // frames by RDMA write
  kWriteRx,      // received and indicated by idata
  kIndicatedRx,  // received and indicated by message
  kDropNoSlot,   // a SendData for which no slot was free
  kDropReplies,  // requests that arrived while the maximum number of replies waited to be sent
  kAsked,        // BufferRecvPoolGet sent
  kGranted,      // BufferRecvPoolGet of the peer for which a pool was made
  kRefused,      // and for which none was made
  kCount_
};

}  // namespace splitnic::messaging

template <>
struct splitnic::base::CounterNames<splitnic::messaging::PairCounter> {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"msg.tx.control", "msg.rx.messages", "msg.tx.send_data", "msg.rx.send_data", "msg.tx.writes",
       "msg.rx.writes", "msg.rx.indicated", "msg.drop.no_slot", "msg.drop.replies", "pool.asked",
       "pool.granted", "pool.refused"});
};
