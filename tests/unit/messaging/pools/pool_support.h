// One side of a connection without a fabric: both pool roles, the elements that were filled, and
// its messages.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "messaging/message_dispatch.h"
#include "messaging/pools/pool_control.h"
#include "tests/unit/messaging/wire_support.h"

namespace splitnic::messaging::test {

inline constexpr base::Time kStart{std::chrono::seconds(1000)};
inline base::Time after(std::chrono::microseconds us) { return kStart + us; }

inline PoolMemory memory(std::uint32_t elements, std::uint32_t element_bytes,
                         std::uint32_t handle) {
  return {elements, element_bytes, fabric::MemoryHandle(handle),
          fabric::VirtualAddress(std::uint64_t{handle} << 40), 0};
}

// A write with idata that began at the address which the idata names.
inline Parsed<FilledElement> written(PoolOwner& owner, std::uint32_t code, std::uint32_t bytes,
                                     base::Time now,
                                     std::optional<IdataForm> form = IdataForm::kPoolElement) {
  fabric::VirtualAddress at;
  owner.visit([&](const OwnerPoolView& v) {
    if (form == IdataForm::kOffsetLength) {
      at = fabric::VirtualAddress(v.record.address.value + OffsetLengthIdata::decode(code).offset);
    } else if (v.record.pool == PoolRef(PoolElementIdata::decode(code).pool)) {
      at = v.record.element_address(PoolElementIdata::decode(code).element);
    }
  });
  return owner.on_idata(code, bytes, at, now);
}

class Side : public FilledSink, public MessageHandler {
 public:
  explicit Side(std::uint64_t first_context = 100,
                std::optional<IdataForm> form = IdataForm::kPoolElement,
                base::MemoryAccount* memory = nullptr)
      : contexts(first_context),
        owner({.form = form}, contexts, drops),
        user({.form = form, .memory = memory}, contexts, drops),
        control(owner, user, *this),
        dispatch(MessageDispatch::Channel::kControl, kMsgMaxControl, *this, drops) {}

  // Returns the next message; empty if there is none.
  Message next(base::Time now) {
    Message out(kMsgMaxControl);
    out.resize(control.next_message(now, out));
    return out;
  }
  Verdict receive(const Message& message, base::Time now) {
    return dispatch.dispatch(message, now);
  }
  OwnerPoolView owned(PoolRef ref) const {
    OwnerPoolView found;
    owner.visit([&](const OwnerPoolView& v) { found = v.record.pool == ref ? v : found; });
    return found;
  }
  UserPoolView used(PoolRef ref) const {
    UserPoolView found;
    user.visit([&](const UserPoolView& v) { found = v.record.pool == ref ? v : found; });
    return found;
  }

  void on_filled(const FilledElement& one) override { filled.push_back(one); }
  Verdict on_buffer_recv_pool(const BufferRecvPool& m) override {
    return control.on_buffer_recv_pool(m);
  }
  Verdict on_buffer_recv_pool_get(const BufferRecvPoolGet& m) override {
    return control.on_buffer_recv_pool_get(m);
  }
  Verdict on_buffer_recv_pool_update(const BufferRecvPoolUpdate& m) override {
    return control.on_buffer_recv_pool_update(m);
  }
  Verdict on_buffer_pool_flush_request(const BufferPoolFlushRequest& m) override {
    return control.on_buffer_pool_flush_request(m);
  }
  Verdict on_buffer_pool_flush_reply(const BufferPoolFlushReply& m) override {
    return control.on_buffer_pool_flush_reply(m);
  }
  Verdict on_buffer_rdma_indicate(const BufferRdmaIndicate& m, base::Time now) override {
    return control.on_buffer_rdma_indicate(m, now);
  }
  Verdict on_send_data(const SendData& m) override {
    sent_data.emplace_back(base::as_text(m.data));
    return {};
  }
  Verdict on_cfg_util_request(const CfgUtilRequest& m) override {
    requests.push_back(m.code);
    return {};
  }
  void on_cfg_util_refused(const CfgUtilRefusal& r) override { refused.push_back(r); }
  Verdict on_cfg_util_reply(const CfgUtilReply&) override {
    return DropReason::kContext;  // nothing is open here
  }

  DropCounters drops;
  ContextSource contexts;
  PoolOwner owner;
  PoolUser user;
  PoolControl control;
  MessageDispatch dispatch;
  std::vector<FilledElement> filled;
  std::vector<std::string> sent_data;
  std::vector<CfgCode> requests;
  std::vector<CfgUtilRefusal> refused;
};

// Delivers all messages in both directions until none is left.
inline void settle(Side& a, Side& b, base::Time now) {
  for (bool any = true; any;) {
    any = false;
    for (auto [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      for (Message m = from->next(now); !m.empty(); m = from->next(now)) {
        ASSERT_TRUE(to->receive(m, now)) << hex(m);
        any = true;
      }
    }
  }
}

template <typename... Records>
Message update(Records... ranges) {
  Message out(kMsgMaxControl);
  const std::array all{ElementRange(ranges)...};
  out.resize(BufferRecvPoolUpdate::emit(kUnsolicited, all, out));
  return out;
}
template <typename... Records>
Message indicate(Records... records) {
  Message out(kMsgMaxControl);
  const std::array all{ConsumedRecord(records)...};
  out.resize(BufferRdmaIndicate::emit(kUnsolicited, all, out));
  return out;
}
template <typename... Records>
Message advertise(Records... records) {
  Message out(kMsgMaxControl);
  const std::array all{PoolRecord(records)...};
  out.resize(BufferRecvPool::emit(kUnsolicited, all, out));
  return out;
}
template <typename... Refs>
Message flush_request(TransactionContext context, Refs... refs) {
  Message out(kMsgMaxControl);
  const std::array all{FlushRecord{PoolRef(refs)}...};
  out.resize(BufferPoolFlushRequest::emit(context, all, out));
  return out;
}
inline Message flush_reply(TransactionContext context) {
  Message out(kHeaderBytes);
  BufferPoolFlushReply{context}.emit(out);
  return out;
}
inline PoolRecord record(std::uint32_t ref, std::uint32_t elements, std::uint32_t element_bytes,
                         std::uint32_t handle = 1, std::uint64_t address = 0) {
  return {PoolRef(ref),
          elements,
          element_bytes,
          fabric::MemoryHandle(handle),
          fabric::VirtualAddress(address),
          0};
}
inline DropReason reason(const Verdict& verdict) {
  return verdict ? DropReason::kCount_ : verdict.error();
}

}  // namespace splitnic::messaging::test
