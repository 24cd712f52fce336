#include "conformance/messages.h"

#include <algorithm>

#include "conformance/cells.h"

namespace splitnic::conformance {

using fabric::Op;
using messaging::Function;

void send_message(End& end, base::Bytes message, unsigned channel) {
  const std::size_t mcp = end.channel(channel).mcp;
  if (!end.is_good() || mcp == 0) return;
  const auto cells =
      static_cast<std::uint32_t>(std::max<std::size_t>(1, (message.size() + mcp - 1) / mcp));
  for (std::uint32_t csn = 0; csn < cells; ++csn) {
    const base::Bytes part = message.subspan(csn * mcp, std::min(mcp, message.size() - csn * mcp));
    put_cell(end, channel,
             end.cell(channel, Op::kSend, fabric::position_of(csn, cells),
                      static_cast<std::uint16_t>(csn)),
             part);
  }
}

std::optional<Event> await_message(End& end, Function function, std::string_view expected) {
  return end.await_if(
      [function](const Event& e) {
        return e.kind == EventKind::kMessage && e.function() == function;
      },
      expected);
}

void send_request(End& end, messaging::TransactionContext context, messaging::CfgCode code,
                  std::string_view data) {
  ByteVector message(messaging::CfgUtilRequest::bytes(data.size()));
  messaging::CfgUtilRequest{context, code, base::as_bytes(data)}.emit(message);
  send_message(end, message);
}

std::function<bool(const Event&)> is_reply_to(messaging::TransactionContext context) {
  return [context](const Event& e) {
    return e.kind == EventKind::kMessage && e.message.context == context &&
           e.function() == Function::kCfgUtilReply;
  };
}

std::optional<messaging::CfgUtilReply> await_reply(End& end,
                                                   messaging::TransactionContext context) {
  const auto event = end.await_if(is_reply_to(context),
                                  "CfgUtilReply with the Transaction Context of the request");
  if (!event) return std::nullopt;
  const auto reply = messaging::CfgUtilReply::parse(event->bytes);
  if (!end.expect(reply.has_value(), "a CfgUtilReply that parses")) return std::nullopt;
  return *reply;
}

std::optional<messaging::CfgUtilReply> request_cfg(End& end, messaging::CfgCode code,
                                                   std::string_view data) {
  const auto context = end.next_context();
  send_request(end, context, code, data);
  return await_reply(end, context);
}

void write(End& end, const fabric::VaMh& target, base::Bytes bytes,
           std::optional<std::uint32_t> idata) {
  const unsigned channel = end.data();
  const std::size_t mcp = end.channel(channel).mcp;
  if (!end.is_good() || mcp == 0) return;
  const auto cells =
      static_cast<std::uint32_t>(std::max<std::size_t>(1, (bytes.size() + mcp - 1) / mcp));
  for (std::uint32_t csn = 0; csn < cells; ++csn) {
    const fabric::Pos pos = fabric::position_of(csn, cells);
    fabric::CellHead head = end.cell(channel, Op::kRdmaWrite, pos, static_cast<std::uint16_t>(csn));
    if (csn == 0) head.va_mh = target;
    if (fabric::is_last(pos)) head.idata = idata;
    put_cell(end, channel, head, bytes.subspan(csn * mcp, std::min(mcp, bytes.size() - csn * mcp)));
  }
}

}  // namespace splitnic::conformance
