// What crosses a channel pair, by kind.
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
  kWriteRx,      // of these indicated by idata
  kIndicatedRx,  // and by message
  kDropNoSlot,   // a SendData that found no slot to stay in
  kDropReplies,  // requests that came while as many answers as may be open waited to be sent
  kAsked,        // BufferRecvPoolGet sent
  kGranted,      // pools made for the peer's BufferRecvPoolGet
  kRefused,      // and not made
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
