// The replies to CfgUtil requests that a server keeps. A repeated context with other data shows by
// its reply whether the request was executed. docs/protocol/cfgutil.md#clauses
#include "conformance/case.h"
#include "conformance/cases/cfg_requests.h"
#include "conformance/messages.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::conformance {
namespace {

namespace cfg = messaging::cfg;
using messaging::CfgCode;
using messaging::CfgStatus;
using messaging::Function;
using messaging::TransactionContext;

constexpr int kRepliesKept = 8;

// ECHO of this text returns that one.
bool expect_echo(End& h, TransactionContext context, std::string_view text,
                 std::string_view returned) {
  send_request(h, context, CfgCode::kEcho,
               data_of<cfg::EchoRequest>([text](auto& m) { m.set_data(std::string(text)); }));
  const auto reply = await_reply(h, context);
  cfg::EchoReply echo;
  return reply && h.expect(reply->status == CfgStatus::kOk, "status 0") && read(h, reply, echo) &&
         h.expect(echo.data() == returned, "ECHO of \"" + std::string(returned) + "\"");
}

bool expect_unreadable(End& h, TransactionContext context) {
  ByteVector other_version = echo_message(context, 8);
  other_version[3] = std::byte{2};
  send_message(h, other_version);
  const auto first = await_reply(h, context);
  if (!first || !h.expect(first->status == CfgStatus::kVersion, "status 7")) return false;
  send_message(h, message(Function::kCfgUtilRequest, context, {0x00020005, 400, 0x0A016100}));
  const auto second = await_reply(h, context);
  return second && h.expect(second->status == CfgStatus::kBadSize, "status 2");
}

}  // namespace

std::vector<Case> cfg_reply_cases() {
  SharedGroup group("cfg");
  group.add("eight_replies_kept", "P-CFG-3", "The last 8 replies are kept, the oldest of them too.",
            [](End& h) {
              if (!h.attach()) return;
              const auto context = h.next_context();
              if (!expect_echo(h, context, "one", "one")) return;
              for (int i = 1; i < kRepliesKept && h.is_good(); ++i)
                request_cfg(h, CfgCode::kEcho, {});
              expect_echo(h, context, "two", "one");
            });
  group.add("context_zero_executed", "P-CFG-3", "The reply to context 0 is not kept.", [](End& h) {
    if (!h.attach()) return;
    for (const std::string_view text : {"one", "two"}) {
      if (!expect_echo(h, messaging::kUnsolicited, text, text)) return;
    }
  });
  group.add("unreadable_not_kept", "P-CFG-3",
            "The reply to a request that cannot be read is not kept.", [](End& h) {
              if (!h.attach()) return;
              const auto context = h.next_context();
              if (expect_unreadable(h, context)) expect_echo(h, context, "one", "one");
            });
  group.add("unreadable_changes_none", "P-CFG-3",
            "Nor does it change the reply that is kept for the same context.", [](End& h) {
              if (!h.attach()) return;
              const auto context = h.next_context();
              if (!expect_echo(h, context, "one", "one") || !expect_unreadable(h, context)) return;
              expect_echo(h, context, "two", "one");
            });
  return group.take();
}

}  // namespace splitnic::conformance
