#include "conformance/expectations.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>

#include "conformance/messages.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using messaging::CfgCode;

constexpr base::Duration kAckWithin = 5ms;  // more than enough for one in flight

std::string echo_of(messaging::TransactionContext context) {
  messaging::cfg::EchoRequest echo;
  echo.set_data("fence" + std::to_string(context.value));
  return echo.SerializeAsString();
}

// On channel 0 an ECHO, on channel 1 a write that is permitted: one cell.
void send_fence(End& end, unsigned channel, messaging::TransactionContext context) {
  if (channel == 0) return send_request(end, context, CfgCode::kEcho, echo_of(context));
  if (end.agreed().pools.empty()) return;
  const messaging::PoolRecord& pool = end.agreed().pools.front();
  const ByteVector bytes(std::min(pool.element_bytes, 64U));
  write(end, {pool.address, pool.handle, static_cast<std::uint32_t>(bytes.size())}, bytes, {});
}

}  // namespace

bool expect_serving(End& end, std::string_view expected) {
  if (!end.is_good()) return false;
  const auto context = end.next_context();
  send_request(end, context, CfgCode::kEcho, echo_of(context));
  return end.expect(end.await_if(is_reply_to(context), {}).has_value(), expected);
}

bool expect_ignored(End& end, std::string_view expected) {
  if (!expect_serving(end, expected)) return false;
  const Inbox& inbox = end.inbox();
  return end.expect(inbox.waiting(EventKind::kNak) + inbox.waiting(EventKind::kTerminate) +
                            inbox.waiting(EventKind::kMgmt) ==
                        0,
                    expected);
}

std::optional<Event> expect_nak(End& end, unsigned channel, fabric::AckCode code,
                                std::string_view expected) {
  const auto event = end.await_if(
      [channel](const Event& e) { return e.kind == EventKind::kNak && e.channel == channel; },
      expected);
  if (event && end.expect(event->ack.code == code, expected)) return event;
  return std::nullopt;
}

bool expect_disc(End& end, std::string_view expected) {
  return end
      .await_if(
          [&end](const Event& e) {
            return e.kind == EventKind::kMgmt && e.mgmt.kind == fabric::MgmtKind::kDisc &&
                   e.mgmt.transaction == end.transaction();
          },
          expected)
      .has_value();
}

bool expect_ended(End& end, std::string_view expected) {
  if (!end.is_good()) return false;
  const auto context = end.next_context();
  send_request(end, context, CfgCode::kEcho, {});
  return expect_disc(end, expected) && end.expect(!end.inbox().has_message(context), expected);
}

bool expect_unserved(End& end, std::string_view expected) {
  if (!end.is_good()) return false;
  const auto context = end.next_context();
  send_request(end, context, CfgCode::kEcho, {});
  return end.expect(!end.await_if(is_reply_to(context), {}), expected);
}

// DISC of an unknown transaction gets a reply in any state, so that nothing needs a time-out.
bool expect_ended_by(End& end, const Event& nak, std::string_view expected) {
  if (!end.is_good()) return false;
  const auto is_of_queue_pair = [&nak](const Event& e) {
    return e.channel == nak.channel && (e.kind == EventKind::kAck || e.kind == EventKind::kNak);
  };
  Inbox& inbox = end.inbox();
  inbox.forget_if(is_of_queue_pair);
  Channel& c = end.channel(nak.channel);
  if (nak.ack.selective) c.lcn = nak.ack.cumulative + 1U;
  c.psn = nak.header.psn;
  const std::array contexts{end.next_context(), end.next_context()};
  for (const auto context : contexts) send_fence(end, nak.channel, context);
  const std::uint64_t fence = end.random().next();
  end.send(end.mgmt(fabric::MgmtKind::kDisc, fence));
  end.await_if(
      [fence](const Event& e) {
        return e.kind == EventKind::kMgmt && e.mgmt.kind == fabric::MgmtKind::kDiscRep &&
               e.mgmt.transaction == fence;
      },
      "DISC_REP");
  end.listen(kAckWithin);
  const bool has_taken = inbox.take(is_of_queue_pair).has_value();
  return end.expect(
             !has_taken && !inbox.has_message(contexts[0]) && !inbox.has_message(contexts[1]),
             expected) &&
         expect_disc(end, "DISC of a connection whose queue pair has failed");
}

}  // namespace splitnic::conformance
