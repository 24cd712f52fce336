// Expectations of cases.
#include <algorithm>

#include "conformance/end.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using messaging::Function;

constexpr base::Duration kAckWithin = 5ms;  // more than enough for one in flight

std::function<bool(const Event&)> is_reply_to(messaging::TransactionContext context) {
  return [context](const Event& e) {
    return e.kind == EventKind::kMessage && e.message.context == context &&
           e.function() == Function::kCfgUtilReply;
  };
}

std::string echo_of(messaging::TransactionContext context) {
  messaging::cfg::EchoRequest echo;
  echo.set_data("fence" + std::to_string(context.value));
  return echo.SerializeAsString();
}

}  // namespace

bool End::expect(bool is_met, std::string_view expected) {
  if (!is_met) outcome_.miss(std::string(expected), inbox_.last());
  return is_good();
}

std::optional<Event> End::await(EventKind kind, std::string_view expected) {
  return await_if([kind](const Event& e) { return e.kind == kind; }, expected);
}

std::optional<Event> End::await_message(Function function, std::string_view expected) {
  return await_if(
      [function](const Event& e) {
        return e.kind == EventKind::kMessage && e.function() == function;
      },
      expected);
}

std::optional<messaging::CfgUtilReply> End::await_reply(messaging::TransactionContext context) {
  const auto event =
      await_if(is_reply_to(context), "CfgUtilReply with the Transaction Context of the request");
  if (!event) return std::nullopt;
  const auto reply = messaging::CfgUtilReply::parse(event->bytes);
  if (!expect(reply.has_value(), "a CfgUtilReply that parses")) return std::nullopt;
  return *reply;
}

std::optional<messaging::CfgUtilReply> End::request(messaging::CfgCode code,
                                                    std::string_view data) {
  const auto context = next_context();
  send_request(context, code, data);
  return await_reply(context);
}

bool End::expect_serving(std::string_view expected) {
  if (!is_good()) return false;
  const auto context = next_context();
  send_request(context, messaging::CfgCode::kEcho, echo_of(context));
  return expect(await_if(is_reply_to(context), {}).has_value(), expected);
}

bool End::expect_ignored(std::string_view expected) {
  return expect_serving(expected) &&
         expect(inbox_.waiting(EventKind::kNak) + inbox_.waiting(EventKind::kTerminate) +
                        inbox_.waiting(EventKind::kMgmt) ==
                    0,
                expected);
}

std::optional<Event> End::expect_nak(unsigned channel, fabric::AckCode code,
                                     std::string_view expected) {
  const auto event = await_if(
      [channel](const Event& e) { return e.kind == EventKind::kNak && e.channel == channel; },
      expected);
  if (event && expect(event->ack.code == code, expected)) return event;
  return std::nullopt;
}

bool End::expect_disc(std::string_view expected) {
  return await_if(
             [this](const Event& e) {
               return e.kind == EventKind::kMgmt && e.mgmt.kind == fabric::MgmtKind::kDisc &&
                      e.mgmt.transaction == transaction();
             },
             expected)
      .has_value();
}

bool End::expect_ended(std::string_view expected) {
  if (!is_good()) return false;
  const auto context = next_context();
  send_request(context, messaging::CfgCode::kEcho, {});
  return expect_disc(expected) && expect(!inbox_.has_message(context), expected);
}

bool End::expect_unserved(std::string_view expected) {
  if (!is_good()) return false;
  const auto context = next_context();
  send_request(context, messaging::CfgCode::kEcho, {});
  return expect(!await_if(is_reply_to(context), {}), expected);
}

// On channel 0 an ECHO, on channel 1 a write that is permitted: one cell.
void End::send_fence(unsigned channel, messaging::TransactionContext context) {
  if (channel == 0) return send_request(context, messaging::CfgCode::kEcho, echo_of(context));
  if (pools_.empty()) return;
  const messaging::PoolRecord& pool = pools_.front();
  const ByteVector bytes(std::min(pool.element_bytes, 64U));
  write({pool.address, pool.handle, static_cast<std::uint32_t>(bytes.size())}, bytes, {});
}

// DISC of an unknown transaction gets a reply in any state, so that nothing needs a time-out.
bool End::expect_ended_by(const Event& nak, std::string_view expected) {
  if (!is_good()) return false;
  const auto is_of_queue_pair = [&nak](const Event& e) {
    return e.channel == nak.channel && (e.kind == EventKind::kAck || e.kind == EventKind::kNak);
  };
  inbox_.forget_if(is_of_queue_pair);
  Channel& c = channel(nak.channel);
  if (nak.ack.selective) c.lcn = nak.ack.cumulative + 1U;
  c.psn = nak.header.psn;
  const std::array contexts{next_context(), next_context()};
  for (const auto context : contexts) send_fence(nak.channel, context);
  const std::uint64_t fence = random_.next();
  send(mgmt(fabric::MgmtKind::kDisc, fence));
  await_if(
      [fence](const Event& e) {
        return e.kind == EventKind::kMgmt && e.mgmt.kind == fabric::MgmtKind::kDiscRep &&
               e.mgmt.transaction == fence;
      },
      "DISC_REP");
  listen(kAckWithin);
  const bool has_taken = inbox_.take(is_of_queue_pair).has_value();
  return expect(!has_taken && !inbox_.has_message(contexts[0]) && !inbox_.has_message(contexts[1]),
                expected) &&
         expect_disc("DISC of a connection whose queue pair has failed");
}

}  // namespace splitnic::conformance
