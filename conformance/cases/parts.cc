#include "conformance/cases/parts.h"

#include <algorithm>

#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::conformance {

ByteVector echo_message(messaging::TransactionContext context, std::size_t data_bytes) {
  messaging::cfg::EchoRequest echo;
  std::string data(data_bytes, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>('a' + i % 26);
  echo.set_data(data);
  const std::string body = echo.SerializeAsString();
  ByteVector message(messaging::CfgUtilRequest::bytes(body.size()));
  messaging::CfgUtilRequest{context, messaging::CfgCode::kEcho, base::as_bytes(body)}.emit(message);
  return message;
}

ByteVector next_echo(Host& host, messaging::TransactionContext context) {
  const auto head = host.cell(0, fabric::Op::kSend, fabric::Pos::kOnly);
  ByteVector cell = host.make(head, echo_message(context, 8));
  host.advance(0, fabric::Pos::kOnly);
  return cell;
}

void expect_missing(Host& host, const ByteVector& missing, messaging::TransactionContext context) {
  const auto second = host.next_context();
  host.send_cell(next_echo(host, second));
  const auto ack = host.await_if(
      [](const Event& e) { return e.kind == EventKind::kAck && e.ack.bitmap_words > 0; },
      "an ACK whose bitmap shows a gap: the cell was not taken");
  if (!ack) return;
  host.expect(!host.has_message(context), "no reply to a cell that is to be dropped");
  host.send_cell(missing);
  host.await_reply(context);
  host.await_reply(second);
}

ByteVector words(const std::vector<std::uint32_t>& words) {
  ByteVector out(4 * words.size());
  for (std::size_t i = 0; i < words.size(); ++i) base::store_be(&out[4 * i], words[i]);
  return out;
}

ByteVector message(messaging::Function function, messaging::TransactionContext context,
                   const std::vector<std::uint32_t>& behind) {
  ByteVector out(messaging::kHeaderBytes);
  messaging::emit_header(function, context, out);
  const ByteVector rest = words(behind);
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

void patch(const Host& host, ByteVector& cell, std::size_t at,
           const std::vector<std::uint8_t>& bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) cell.at(at + i) = std::byte{bytes[i]};
  host.reseal(cell);
}

ByteVector frame(std::string_view to, std::string_view from, std::size_t bytes, unsigned number) {
  ByteVector out(kVnetBytes + std::max<std::size_t>(bytes, kEthernetBytes));
  std::ranges::copy(base::as_bytes(to), out.begin() + kVnetBytes);
  std::ranges::copy(base::as_bytes(from), out.begin() + kVnetBytes + 6);
  base::store_be(&out[kVnetBytes + 12], std::uint16_t{0x88B5});
  for (std::size_t i = kVnetBytes + 14; i < out.size(); ++i) {
    out[i] = static_cast<std::byte>(i + number);
  }
  return out;
}

fabric::VaMh element_of(const messaging::PoolRecord& pool, std::uint32_t element,
                        std::size_t bytes) {
  return {pool.element_address(element), pool.handle, static_cast<std::uint32_t>(bytes)};
}

const messaging::PoolRecord& small_pool(const Host& h) {
  return *std::ranges::min_element(h.pools(), {}, &messaging::PoolRecord::elements);
}

std::optional<messaging::CfgUtilReply> expect_status(Host& host, messaging::CfgCode code,
                                                     std::string_view data,
                                                     messaging::CfgStatus status) {
  const auto reply = host.request(code, data);
  if (!reply) return std::nullopt;
  const std::string expected =
      std::string(name(code)) + " with status " + std::string(name(status));
  if (reply->status != status) {
    host.outcome().fail(expected, "status " + std::string(name(reply->status)));
  }
  if (!host.expect(reply->code == code, "the code of the request in the reply")) return {};
  return reply;
}

}  // namespace splitnic::conformance
