// Wrong implementations of the replies to CfgUtil requests that a server keeps: I/O units.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "messaging/wire/cfg_util.h"
#include "tests/conformance/faults.h"

namespace splitnic::conformance {
namespace {

using messaging::CfgStatus;
using messaging::Function;

using Context = std::pair<std::uint32_t, std::uint32_t>;
Context context_of(base::Bytes message) {
  return {word_of(message, kContextWord), word_of(message, kContextWord + 1)};
}

bool is_unreadable(base::Bytes reply) {
  const std::uint32_t status = word_of(reply, kStatusWord);
  return status == static_cast<std::uint32_t>(CfgStatus::kVersion) ||
         status == static_cast<std::uint32_t>(CfgStatus::kBadSize);
}

Rule requests(const ChangeMessage& change) {
  return message_rule(To::kTarget, Function::kCfgUtilRequest, change);
}
Rule replies(const ChangeMessage& change) {
  return message_rule(To::kSuite, Function::kCfgUtilReply, change);
}

// A context that the unit does not know: it executes the request.
class Renamed {
 public:
  void rename(base::MutableBytes request) {
    flip(request);
    all_.insert(context_of(request));
  }
  void restore(base::MutableBytes reply) const {
    if (all_.contains(context_of(reply))) flip(reply);
  }

 private:
  static void flip(base::MutableBytes message) {
    constexpr std::uint32_t kBit = 0x100;
    set_word(message, kContextWord, word_of(message, kContextWord) ^ kBit);
  }
  std::set<Context> all_;
};

Rule keeps_four() {
  struct Server {
    std::map<Context, unsigned> at{};
    unsigned requests = 0;
    Renamed renamed{};
  };
  const auto server = std::make_shared<Server>();
  return both(requests([server](base::MutableBytes request) {
                constexpr unsigned kKept = 4;
                const auto [known, is_new] =
                    server->at.try_emplace(context_of(request), server->requests);
                server->requests += is_new ? 1U : 0U;
                const bool is_old = server->requests - known->second > kKept;
                if (!is_new && is_old) server->renamed.rename(request);
                return true;
              }),
              replies([server](base::MutableBytes reply) {
                server->renamed.restore(reply);
                return true;
              }));
}

Rule keeps_zero() {
  return replies([kept = std::make_shared<RelayBytes>()](base::MutableBytes reply) {
    if (context_of(reply) != Context{}) return true;
    if (kept->size() == reply.size()) std::ranges::copy(*kept, reply.begin());
    kept->assign(reply.begin(), reply.end());
    return true;
  });
}

Rule keeps_unreadable() {
  return replies(
      [kept = std::make_shared<std::map<Context, std::uint32_t>>()](base::MutableBytes reply) {
        if (is_unreadable(reply)) {
          (*kept)[context_of(reply)] = word_of(reply, kStatusWord);
        } else if (const auto at = kept->find(context_of(reply)); at != kept->end()) {
          set_word(reply, kStatusWord, at->second);
        }
        return true;
      });
}

Rule forgets_at_unreadable() {
  struct Server {
    std::set<Context> forgotten{};
    Renamed renamed{};
  };
  const auto server = std::make_shared<Server>();
  return both(requests([server](base::MutableBytes request) {
                constexpr std::size_t kHead = 20, kSizeWord = 4;
                const bool is_readable = request.size() >= kHead && request[3] == std::byte{1} &&
                                         word_of(request, kSizeWord) <= request.size() - kHead;
                if (is_readable && server->forgotten.contains(context_of(request))) {
                  server->renamed.rename(request);
                }
                return true;
              }),
              replies([server](base::MutableBytes reply) {
                if (is_unreadable(reply)) server->forgotten.insert(context_of(reply));
                server->renamed.restore(reply);
                return true;
              }));
}

}  // namespace

std::vector<Fault> cfg_faults() {
  return {
      of_unit("four_replies_kept", "of the replies to CfgUtil requests four are kept",
              "cfg.eight_replies_kept", keeps_four),
      of_unit("reply_to_zero_kept", "the reply to context 0 is kept", "cfg.context_zero_executed",
              keeps_zero),
      of_unit("unreadable_kept", "the reply to a request that cannot be read is kept",
              "cfg.unreadable_not_kept", keeps_unreadable),
      of_unit("unreadable_replaces",
              "a request that cannot be read replaces the reply of its context",
              "cfg.unreadable_changes_none", forgets_at_unreadable),
  };
}

}  // namespace splitnic::conformance
