#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/check.h"
#include "messaging/capabilities.h"
#include "messaging/message_dispatch.h"
#include "messaging/wire/idata.h"
#include "tests/fuzz/targets.h"

namespace splitnic::fuzz {
namespace {

using namespace messaging;

// Reads every field of a message and handles it. Emitted again it has the same bytes, but for the
// padding.
class Reader final : public MessageHandler {
 public:
  explicit Reader(base::Bytes message) : message_(message) {}

  std::size_t taken = 0;
  std::size_t refused = 0;

  Verdict on_buffer_recv_pool(const BufferRecvPool& message) override { return take(message); }
  Verdict on_buffer_recv_pool_get(const BufferRecvPoolGet& message) override {
    CHECK(message.packet_bytes != 0 && message.packets != 0);
    return take_plain(message);
  }
  Verdict on_buffer_recv_pool_update(const BufferRecvPoolUpdate& message) override {
    return take(message);
  }
  Verdict on_buffer_pool_flush_request(const BufferPoolFlushRequest& message) override {
    return take(message);
  }
  Verdict on_buffer_pool_flush_reply(const BufferPoolFlushReply& message) override {
    return take_plain(message);
  }
  Verdict on_send_data(const SendData& message) override {
    CHECK(!message.data.empty());
    return take_data(message);
  }
  Verdict on_buffer_rdma_indicate(const BufferRdmaIndicate& message, base::Time /*now*/) override {
    return take(message);
  }
  Verdict on_cfg_util_request(const CfgUtilRequest& message) override {
    check_code(message.code);
    return take_data(message);
  }
  void on_cfg_util_refused(const CfgUtilRefusal& refusal) override {
    CHECK(refusal.status != CfgStatus::kOk && name(refusal.status) != "unknown");
    check_code(refusal.code);
    ++refused;
  }
  Verdict on_cfg_util_reply(const CfgUtilReply& message) override {
    check_code(message.code);
    CHECK((name(message.status) != "unknown") == (message.status <= CfgStatus::kVersion));
    return take_data(message);
  }

 private:
  // A code has a name if it is one of the 15 of family 1 or of the 10 of family 2.
  static void check_code(CfgCode code) {
    const auto value = static_cast<std::uint32_t>(code);
    const std::uint32_t number = value & 0xFFFF;
    const std::uint32_t last = value >> 16 == 1 ? 15 : value >> 16 == 2 ? 10 : 0;
    CHECK((name(code) != "unknown") == (number >= 1 && number <= last));
  }
  static std::size_t length_of(std::size_t bytes) { return bytes; }
  static std::size_t length_of(const Parsed<std::size_t>& bytes) { return bytes.value(); }
  Verdict take() {
    ++taken;
    return {};
  }
  template <typename Message>
  Verdict take_plain(const Message& message) {
    CHECK(message_.size() == Message::kBytes);
    std::vector<std::byte> again(Message::kBytes);
    CHECK(message.emit(again) == again.size() && std::ranges::equal(again, message_));
    return take();
  }
  // The data lies in the message, and 0 to 3 bytes of padding are behind it.
  template <typename Message>
  Verdict take_data(const Message& message) {
    const std::size_t end = Message::kFixedBytes + message.data.size();
    CHECK(message.data.data() == message_.data() + Message::kFixedBytes);
    CHECK(end <= message_.size() && message_.size() - end < 4 && message_.size() % 4 == 0);
    std::vector<std::byte> again(message_.size());
    CHECK(length_of(message.emit(again)) == again.size());
    CHECK(std::ranges::equal(base::Bytes(again).first(end), message_.first(end)));
    return take();
  }
  // Emitted again from its records, it has the same bytes and the same records.
  template <typename Message>
  Verdict take(const Message& message) {
    CHECK(message.size() != 0);
    std::vector<typename Message::Record> records;
    for (std::size_t i = 0; i < message.size(); ++i) records.push_back(message[i]);
    std::vector<std::byte> again(Message::bytes(records.size()));
    CHECK(Message::emit(message.context(), records, again) == again.size());
    CHECK(std::ranges::equal(again, message_));
    const auto parsed = Message::parse(again);
    CHECK(parsed && parsed->size() == records.size());
    for (std::size_t i = 0; i < records.size(); ++i) CHECK((*parsed)[i] == records[i]);
    return take();
  }

  const base::Bytes message_;
};

// The header alone: written as the same bytes, and a function of the table has a name.
void check_header_of(base::Bytes message) {
  const auto header = MessageHeader::parse(message);
  CHECK(header.has_value() == (message.size() >= kHeaderBytes));
  if (!header) return;
  std::vector<std::byte> again(kHeaderBytes);
  header->emit(again);
  CHECK(std::ranges::equal(again, message.first(kHeaderBytes)));
  const auto function = header->function();
  CHECK(function.has_value() ==
        (header->function_code >= 1 && header->function_code <= kFunctionLast));
  CHECK((name(static_cast<Function>(header->function_code)) != "unknown") == function.has_value());
  if (!function) return;
  const auto context = check_header(message, *function, kHeaderBytes);
  CHECK(context.has_value() == (header->version == kMessageVersion));
  if (!context) return;
  emit_header(*function, *context, again);
  CHECK(std::ranges::equal(again, message.first(kHeaderBytes)));
}

// The same bytes as the private data of a connection: whatever is agreed is within the bounds of
// both sides.
void check_capabilities(base::Bytes bytes) {
  std::array<PairConfig, 4> configs;
  configs[0].idata_form = IdataForm::kOffsetLength;
  configs[1].channels = Channels::kOne;
  configs[2].mode = configs[3].mode = Mode::kSend;
  configs[3].channels = Channels::kSeparate;
  configs[3].follows_peer_mode = true;
  for (const PairConfig& config : configs) {
    const std::string ours = encode_capabilities(config, config.mode, config.channels);
    CHECK(agree(base::as_bytes(ours), config, ConnectRole::kPassive));
    for (const ConnectRole role : {ConnectRole::kActive, ConnectRole::kPassive}) {
      const auto agreed = agree(bytes, config, role);
      if (!agreed) {
        CHECK(!agreed.error().text().empty());
        continue;
      }
      const bool may_follow = role == ConnectRole::kPassive && config.follows_peer_mode;
      CHECK((agreed->mode == config.mode || may_follow) && agreed->peer_queues >= 1);
      CHECK(agreed->control_message_max % 4 == 0 && agreed->control_message_max <= kMsgMaxMost);
      CHECK(agreed->data_message_max % 4 == 0 && agreed->data_message_max <= kMsgMaxMost);
      const auto is_printable = [](char c) { return c >= ' ' && c < '\x7F'; };
      CHECK(std::ranges::all_of(agreed->peer_name + agreed->peer_program, is_printable));
    }
  }
  const QueuesAsked asked = queues_asked(bytes);
  CHECK(asked.queues >= 1 && asked.is_additional() == (asked.queue != 0 || asked.channel != 0));
  static_cast<void>(nic_asked(bytes));
}

}  // namespace

void pushpush_decode(base::Bytes in) {
  if (in.empty()) return;
  check_header_of(in.subspan(1));
  check_capabilities(in.subspan(1));
  const bool is_data = (std::to_integer<unsigned>(in[0]) & 1) != 0;
  Reader reader(in.subspan(1));
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
