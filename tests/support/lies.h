// The messages and writes of a peer that obeys nothing, as an Input chooses: each function with
// records that name pools of the receiver, pools near them or none; and an RDMA write into a pool
// or near it, with idata that fits, or any. Close to what a correct peer sends, so that it passes
// the first checks and reaches the state behind them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "messaging/wire/buffer_pool_flush.h"
#include "messaging/wire/buffer_rdma_indicate.h"
#include "messaging/wire/buffer_recv_pool.h"
#include "messaging/wire/buffer_recv_pool_get.h"
#include "messaging/wire/buffer_recv_pool_update.h"
#include "messaging/wire/cfg_util.h"
#include "messaging/wire/flow_context.h"
#include "messaging/wire/idata.h"
#include "messaging/wire/send_data.h"
#include "tests/support/input.h"

namespace splitnic::support {

class Lies {
 public:
  // The pools are those of the receiver. With `names_flows` those that it advertises have contexts.
  Lies(Input& in, std::span<const messaging::PoolRecord> pools, bool names_flows = false)
      : in_(in), pools_(pools), names_flows_(names_flows) {}

  // Writes a message and returns its length. REQUIRES out.size() >= 256.
  std::size_t message(base::MutableBytes out) {
    using namespace messaging;
    const std::uint8_t choice = in_.u8();
    const std::size_t bytes = emit(choice % kFunctionLast, out);
    if (choice >= 240) out[in_.below(bytes)] ^= std::byte{in_.u8()};
    return bytes;
  }

  struct Write {
    fabric::MemoryHandle handle;
    fabric::VirtualAddress to;
    std::uint32_t bytes = 0;
    std::optional<std::uint32_t> idata;
  };
  // REQUIRES bytes_max > 0.
  Write write(messaging::IdataForm form, std::uint32_t bytes_max) {
    using namespace messaging;
    const std::uint8_t choice = in_.u8();
    const PoolRecord pool = any_pool();
    const std::uint32_t element = number(choice & 3U);
    const std::uint64_t offset = std::uint64_t{element} * pool.element_bytes;
    Write out{pool.handle,
              fabric::VirtualAddress(pool.address.value + offset),
              std::min(number(100), bytes_max),
              {}};
    out.idata = form == IdataForm::kOffsetLength
                    ? OffsetLengthIdata::encode(offset, out.bytes)
                    : PoolElementIdata::encode(pool.pool, element, out.bytes);
    if (choice % 16 == 12) out.idata = in_.u32();
    if (choice % 16 == 13) out.idata.reset();
    if (choice % 16 == 14) out.to.value += static_cast<std::uint64_t>(in_.delta());
    if (choice == 255) out.handle = fabric::MemoryHandle(in_.u32());
    return out;
  }

 private:
  messaging::TransactionContext context() {
    const std::uint8_t choice = in_.u8();
    const std::uint64_t top = choice >= 128 ? messaging::kFlushOfReceiversPools : 0;
    return messaging::TransactionContext(top | (choice & 0x3FU));
  }
  messaging::PoolRecord any_pool() {
    const std::uint8_t choice = in_.u8();
    messaging::PoolRecord pool;
    if (!pools_.empty()) pool = pools_[choice % pools_.size()];
    if (choice >= 224) pool.pool.value += choice - 224U;
    return pool;
  }
  // Each field names a value of two, or every one.
  std::uint64_t context_of_flows() {
    const unsigned choice = in_.u8();
    return messaging::flow_context(static_cast<std::uint16_t>(choice & 3U),
                                   static_cast<std::uint16_t>(choice >> 2 & 3U), choice >> 4);
  }
  // Most often this one, else one near it or any.
  std::uint32_t number(std::uint32_t near) {
    const std::uint8_t choice = in_.u8();
    if (choice >= 240) return in_.u32();
    return choice >= 64 ? near : near + choice - 32U;
  }
  template <class Message, class Make>
  std::size_t records(base::MutableBytes out, Make&& make) {
    std::vector<typename Message::Record> all;
    const std::size_t count = 1 + in_.below(3);
    for (std::size_t i = 0; i < count; ++i) all.push_back(make());
    return Message::emit(context(), all, out);
  }
  std::size_t emit(unsigned function, base::MutableBytes out) {
    using namespace messaging;
    switch (function) {
      case 0:
        return records<BufferRecvPool>(out, [&] {
          PoolRecord pool = any_pool();
          pool.elements = number(pool.elements);
          pool.element_bytes = number(pool.element_bytes);
          if (names_flows_) pool.pool_context = context_of_flows();
          return pool;
        });
      case 1:
        return BufferRecvPoolGet{context(), number(256), number(4)}.emit(out);
      case 2:
        return records<BufferRecvPoolUpdate>(out, [&] {
          return ElementRange{any_pool().pool, number(0), number(1)};
        });
      case 3:
        return records<BufferPoolFlushRequest>(out, [&] { return FlushRecord{any_pool().pool}; });
      case 4:
        return BufferPoolFlushReply{context()}.emit(out);
      case 5:
        return send_data(out);
      case 6:
        return records<BufferRdmaIndicate>(out, [&] {
          const PoolRecord pool = any_pool();
          return ConsumedRecord{pool.pool, number(0), number(1), number(pool.element_bytes)};
        });
      case 7:
        return CfgUtilRequest{context(), code(), in_.bytes(100)}.emit(out);
      default:
        return CfgUtilReply{context(), code(), CfgStatus::kOk, in_.bytes(100)}.emit(out);
    }
  }
  std::size_t send_data(base::MutableBytes out) {
    using namespace messaging;
    const auto bytes = SendData{context(), in_.bytes(200)}.emit(out);
    return bytes ? *bytes : BufferPoolFlushReply{context()}.emit(out);  // there was no data
  }
  messaging::CfgCode code() {
    const std::uint8_t choice = in_.u8();
    if (choice < 64) return messaging::CfgCode::kEcho;
    return static_cast<messaging::CfgCode>((choice & 1U) << 16 | 0x10000U | (choice >> 1 & 15U));
  }

  Input& in_;
  std::span<const messaging::PoolRecord> pools_;
  bool names_flows_;
};

}  // namespace splitnic::support
