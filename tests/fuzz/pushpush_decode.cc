#include "base/check.h"
#include "messaging/message_dispatch.h"
#include "messaging/wire/idata.h"
#include "tests/fuzz/targets.h"

namespace splitnic::fuzz {
namespace {

using namespace messaging;

// Reads every field of a message and handles it.
class Reader final : public MessageHandler {
 public:
  std::size_t taken = 0;
  std::size_t refused = 0;

  Verdict on_buffer_recv_pool(const BufferRecvPool& message) override { return take(message); }
  Verdict on_buffer_recv_pool_get(const BufferRecvPoolGet& message) override {
    CHECK(message.packet_bytes != 0 && message.packets != 0);
    return take();
  }
  Verdict on_buffer_recv_pool_update(const BufferRecvPoolUpdate& message) override {
    return take(message);
  }
  Verdict on_buffer_pool_flush_request(const BufferPoolFlushRequest& message) override {
    return take(message);
  }
  Verdict on_buffer_pool_flush_reply(const BufferPoolFlushReply& /*message*/) override {
    return take();
  }
  Verdict on_send_data(const SendData& message) override {
    sum(message.data);
    return take();
  }
  Verdict on_buffer_rdma_indicate(const BufferRdmaIndicate& message, base::Time /*now*/) override {
    return take(message);
  }
  Verdict on_cfg_util_request(const CfgUtilRequest& message) override {
    sum(message.data);
    return take();
  }
  void on_cfg_util_refused(const CfgUtilRefusal& refusal) override {
    CHECK(refusal.status != CfgStatus::kOk);
    ++refused;
  }
  Verdict on_cfg_util_reply(const CfgUtilReply& message) override {
    sum(message.data);
    return take();
  }

 private:
  Verdict take() {
    ++taken;
    return {};
  }
  // Emitted again from its records, it has the same records.
  template <typename Message>
  Verdict take(const Message& message) {
    CHECK(message.size() != 0);
    std::vector<typename Message::Record> records;
    for (std::size_t i = 0; i < message.size(); ++i) records.push_back(message[i]);
    std::vector<std::byte> again(Message::bytes(records.size()));
    CHECK(Message::emit(message.context(), records, again) == again.size());
    const auto parsed = Message::parse(again);
    CHECK(parsed && parsed->size() == records.size());
    for (std::size_t i = 0; i < records.size(); ++i) CHECK((*parsed)[i] == records[i]);
    return take();
  }
  // Touches every byte, so that a sanitizer sees a span that is too long.
  void sum(base::Bytes data) {
    for (const std::byte byte : data) sum_ += std::to_integer<unsigned>(byte);
  }

  unsigned sum_ = 0;
};

}  // namespace

void pushpush_decode(base::Bytes in) {
  if (in.empty()) return;
  const bool is_data = (std::to_integer<unsigned>(in[0]) & 1) != 0;
  Reader reader;
  DropCounters drops;
  MessageDispatch dispatch(
      is_data ? MessageDispatch::Channel::kData : MessageDispatch::Channel::kControl,
      is_data ? kMsgMaxData : kMsgMaxControl, reader, drops);
  const Verdict verdict = dispatch.dispatch(in.subspan(1), base::Time{});
  std::uint64_t dropped = 0;
  drops.visit([&](std::string_view, std::uint64_t n) { dropped += n; });
  // Taken once or counted once, and a refused request is counted too.
  CHECK(reader.taken + dropped == 1 && verdict.has_value() == (reader.taken == 1));
  CHECK(reader.refused <= dropped);
  if (in.size() >= 5) {
    const auto idata = base::load_be<std::uint32_t>(in.data() + 1);
    const auto a = PoolElementIdata::decode(idata);
    CHECK(PoolElementIdata::encode(PoolRef(a.pool), a.element, a.bytes) == idata);
    const auto b = OffsetLengthIdata::decode(idata);
    CHECK(OffsetLengthIdata::encode(b.offset, b.bytes) == idata);
  }
}

}  // namespace splitnic::fuzz
