#include "messaging/cfgutil/cfg_exchange.h"

#include <algorithm>
#include <utility>

#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::messaging {
namespace {

CfgReply no_reply() { return {CfgStatus::kOk, {}, false}; }

std::vector<std::byte> bytes_of(const CfgUtilReply& message) {
  std::vector<std::byte> bytes(CfgUtilReply::bytes(message.data.size()));
  message.emit(bytes);
  return bytes;
}

// Of a reply that is longer than `max` bytes of data. Counters that do not fit are left out, from
// the end; no other reply has a part that its reader can do without.
CfgReply cut(CfgCode code, const CfgReply& reply, std::size_t max) {
  cfg::GetStatsReply stats;
  if (code != CfgCode::kGetStats || !stats.ParseFromString(reply.data)) {
    return {CfgStatus::kDeviceError, {}};
  }
  while (stats.counters_size() > 0 && stats.ByteSizeLong() > max) {
    stats.mutable_counters()->RemoveLast();
  }
  return {reply.status, stats.SerializeAsString()};
}

}  // namespace

base::Status CfgExchange::request(CfgCode code, const std::string& data, CfgDone done) {
  if (transactions_.full()) return base::Error("too many requests are open");
  const CfgUtilRequest message{contexts_.next(), code, base::as_bytes(data)};
  if (CfgUtilRequest::bytes(data.size()) > message_max_) {
    return base::Error("the request is too long");
  }
  std::vector<std::byte> bytes(CfgUtilRequest::bytes(data.size()));
  message.emit(bytes);
  waiting_[message.context] = std::move(done);
  transactions_.open(message.context, std::move(bytes));
  return {};
}

Verdict CfgExchange::on_reply(const CfgUtilReply& message) {
  if (!transactions_.close(message.context)) return DropReason::kContext;
  finish(message.context, {message.status, std::string(base::as_text(message.data))});
  return {};
}

void CfgExchange::on_time(base::Time now) {
  while (const auto failed = transactions_.next_failed(now)) finish(*failed, no_reply());
}

void CfgExchange::fail_requests() {
  while (!waiting_.empty()) finish(waiting_.begin()->first, no_reply());
  transactions_.clear();
}

void CfgExchange::finish(TransactionContext context, const CfgReply& reply) {
  const auto at = waiting_.find(context);
  if (at == waiting_.end()) return;
  const CfgDone done = std::move(at->second);
  waiting_.erase(at);
  if (done) done(reply);
}

bool CfgExchange::on_request(const CfgUtilRequest& message, const Execute& execute) {
  if (is_full()) return false;
  switch (replies_.begin(message.context)) {
    case ReplyCache::Seen::kWorking:
      return true;
    case ReplyCache::Seen::kReplied: {
      const base::Bytes cached = replies_.reply(message.context);
      replies_due_.emplace_back(cached.begin(), cached.end());
      return true;
    }
    case ReplyCache::Seen::kBusy:
      queue_reply({message.context, message.code, CfgStatus::kBusy, {}});
      return true;
    case ReplyCache::Seen::kNew:
      break;
  }
  CfgReply result = execute({message.code, message.data});
  if (CfgUtilReply::bytes(result.data.size()) > message_max_) {
    const std::size_t around = CfgUtilReply::bytes(0);
    result = cut(message.code, result, message_max_ - std::min(message_max_, around));
  }
  queue_reply({message.context, message.code, result.status, base::as_bytes(result.data)});
  return true;
}

bool CfgExchange::on_refused(const CfgUtilRefusal& refusal) {
  if (is_full()) return false;
  // A reply that is kept for this context stays.
  replies_due_.push_back(bytes_of({refusal.context, refusal.code, refusal.status, {}}));
  return true;
}

void CfgExchange::queue_reply(const CfgUtilReply& message) {
  std::vector<std::byte> bytes = bytes_of(message);
  replies_.store(message.context, bytes);
  replies_due_.push_back(std::move(bytes));
}

std::size_t CfgExchange::next_message(base::Time now, base::MutableBytes out) {
  if (!replies_due_.empty()) {
    std::ranges::copy(replies_due_.front(), out.begin());
    const std::size_t length = replies_due_.front().size();
    replies_due_.pop_front();
    return length;
  }
  const base::Bytes message = transactions_.next_message(now);
  std::ranges::copy(message, out.begin());
  return message.size();
}

}  // namespace splitnic::messaging
