#include "tests/sim/push_pull/models.h"

#include "base/check.h"
#include "messaging/wire/message_header.h"

namespace splitnic::sim {
namespace {

constexpr std::uint16_t kAnnouncement = 0x8001;  // private: no message of the protocol
constexpr std::size_t kAnnouncementBytes = messaging::kHeaderBytes + fabric::kVaMhBytes;

}  // namespace

void Push::send_frame(std::size_t buffer) {
  CHECK(sender().post_write(data_.b, {frame(*source_, buffer)},
                            destination_->at(buffer * kBufferBytes), destination_->handle, buffer,
                            static_cast<std::uint32_t>(buffer)));
}

void Push::on_completion(const fabric::Wc& wc, base::Bytes) {
  if (wc.op == fabric::WcOp::kReceiveRdmaIdata) on_frame(wc.idata);
}

void Pull::send_frame(std::size_t buffer) {
  const fabric::Sge there = frame(*source_, buffer);
  std::array<std::byte, kAnnouncementBytes> message{};
  messaging::MessageHeader header;
  header.function_code = kAnnouncement;
  header.emit(message);
  fabric::VaMh{there.address, there.lkey, there.length}.emit(message.data() +
                                                             messaging::kHeaderBytes);
  send_message(sender(), message);
}

void Pull::on_completion(const fabric::Wc& wc, base::Bytes message) {
  if (wc.op == fabric::WcOp::kRdmaRead) on_frame(wc.wr_id);
  if (wc.op != fabric::WcOp::kReceive) return;
  const auto header = messaging::MessageHeader::parse(message);
  CHECK(header && header->function_code == kAnnouncement && message.size() == kAnnouncementBytes);
  const auto announced = fabric::VaMh::parse(message.subspan(messaging::kHeaderBytes));
  CHECK(announced && announced->length == config_.frame_bytes);
  fabric::SendWr read;
  read.op = fabric::WrOp::kRdmaRead;
  read.wr_id = (announced->address.value - source_->start.value) / kBufferBytes;
  const std::array<fabric::Sge, 1> to{frame(*destination_, read.wr_id)};
  read.gather = to;
  read.remote_address = announced->address;
  read.remote_handle = announced->handle;
  CHECK(receiver().adapter->post_send(data_.a, read));
}

}  // namespace splitnic::sim
