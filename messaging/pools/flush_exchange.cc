#include "messaging/pools/flush_exchange.h"

namespace splitnic::messaging {

bool FlushExchange::on_reply(TransactionContext context) {
  const auto at = std::ranges::find(open_, context, &OpenRequest::context);
  if (at == open_.end()) return false;
  open_.erase(at);
  return true;
}

std::optional<TransactionContext> FlushExchange::next_expired(base::Time now) {
  const auto at =
      std::ranges::find_if(open_, [&](const OpenRequest& open) { return open.deadline <= now; });
  if (at == open_.end()) return std::nullopt;
  const TransactionContext context = at->context;
  open_.erase(at);
  return context;
}

base::Time FlushExchange::deadline() const {
  base::Time at = base::kNever;
  for (const OpenRequest& open : open_) at = std::min(at, open.deadline);
  return at;
}

void FlushExchange::clear() {
  open_.clear();
  due_.clear();
  has_unsent_ = false;
}

}  // namespace splitnic::messaging
