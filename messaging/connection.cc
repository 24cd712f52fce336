#include "messaging/connection.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "fabric_emul/verbs/qp_init.h"
#include "messaging/cfgutil/qos_map.h"

namespace splitnic::messaging {

static_assert(QosMap::kServiceLevelMax == fabric::kSlMax);
namespace {

// Each pair has at least this many elements of each size, or all that are configured.
constexpr std::uint32_t kElementsMin = 4;
constexpr std::uint64_t kWindowMin = 256 << 10;
constexpr std::uint32_t kSlotsMin = 64;
// Channel 0 of an additional pair carries no CfgUtil, only short messages about its pools.
constexpr std::uint32_t kAdditionalMessageMax = 1024;

}  // namespace

std::uint32_t queues_given(base::Bytes private_data, const PairConfig& config) {
  const QueuesAsked asked = queues_asked(private_data);
  return asked.is_send_mode ? 1 : std::min({asked.queues, config.queues, kQueuesMax});
}

PairConfig share_of(const PairConfig& config, std::uint32_t queues) {
  PairConfig part = config;
  part.queues = queues;
  for (PoolSpec& spec : part.pools) {
    const std::uint32_t count = (spec.count + queues - 1) / queues;
    spec.count = std::max(count, std::min(spec.count, kElementsMin));
  }
  part.grant_bytes_max /= queues;
  part.frame_slots = std::max(part.frame_slots / queues, std::min(part.frame_slots, kSlotsMin));
  // The pairs share the peer's receive buffer and the memory of unacknowledged sends.
  part.window_bytes_max =
      std::max(part.window_bytes_max / queues, std::min(part.window_bytes_max, kWindowMin));
  return part;
}

Connection::Connection(fabric::Adapter& adapter, const PairConfig& config, base::Random& random,
                       PairOwner& owner)
    : adapter_(adapter),
      config_(share_of(config, config.queues)),
      levels_(config_.levels),
      random_(random),
      owner_(owner),
      pairs_(config.queues),
      possible_(config.queues),
      order_(config.queues == 1 ? 1 : kPushesMax) {
  CHECK(config.queues >= 1 && config.queues <= kQueuesMax);
  CHECK(make_pair(0).has_value());
}

Connection::~Connection() = default;

base::Status Connection::make_pair(std::uint32_t queue) {
  PairConfig config = config_;
  config.queue = queue;
  if (queue != 0 && queue <= levels_.size() && levels_[queue - 1] != QosMap::kNone) {
    config.sl = levels_[queue - 1];
  }
  if (queue != 0) {
    config.control_message_max = std::min(config.control_message_max, kAdditionalMessageMax);
  }
  PairOwner& self = *this;
  pairs_[queue] = std::make_unique<ChannelPair>(adapter_, config, random_, self);
  return frames_.empty() ? base::Status{} : pairs_[queue]->register_frames(frames_);
}

base::Status Connection::register_frames(base::MutableBytes arena) {
  frames_ = arena;
  return first().register_frames(arena);
}

std::size_t Connection::index_of(fabric::ConnectionId id) const {
  std::size_t i = 0;
  while (i < pairs_.size() && (pairs_[i] == nullptr || !pairs_[i]->has(id))) {
    ++i;
  }
  return i;
}

bool Connection::on_connected(fabric::ConnectionId id, fabric::Link& link,
                              const fabric::Mgmt& reply) {
  const std::size_t queue = index_of(id);
  if (is_down_ || queue == pairs_.size()) return false;
  if (!pairs_[queue]->on_connected(link, reply)) return false;
  if (queue != 0) return true;
  if (const std::uint32_t given = first().peer_queues(); given < queues()) {
    possible_ = given;
    fail("the I/O unit gives " + std::to_string(given) + " of " + std::to_string(queues()) +
         " queues: connecting again with those");
    return false;
  }
  if (queues() > 1) link_ = &link;
  return true;
}

void Connection::on_rejected(fabric::ConnectionId id, fabric::MgmtReject code,
                             base::Bytes private_data) {
  const std::size_t queue = index_of(id);
  if (queue == pairs_.size()) return;
  if (queue != 0 && code == fabric::MgmtReject::kNoResources) {
    possible_ = std::min(possible_, static_cast<std::uint32_t>(queue));
  }
  pairs_[queue]->on_rejected(id, code, private_data);
}

void Connection::on_disconnected(fabric::ConnectionId id, std::string_view why) {
  const std::size_t queue = index_of(id);
  if (queue < pairs_.size()) pairs_[queue]->on_disconnected(id, why);
}

void Connection::connect_additional(base::Time now) {
  fabric::Link& link = *link_;
  link_ = nullptr;
  for (std::uint32_t queue = 1; queue < queues(); ++queue) {
    auto begun = make_pair(queue);
    if (begun) begun = pairs_[queue]->connect(link, now);
    if (!begun) return fail(begun.error().text());
  }
}

fabric::MgmtReject Connection::accept(fabric::ConnectionId id, fabric::Link& link,
                                      const fabric::Mgmt& request, fabric::Mgmt& reply,
                                      base::Time now) {
  const QueuesAsked asked = queues_asked(request.private_data);
  if (asked.queue != 0) return accept_additional(asked, id, link, request, reply, now);
  if (asked.channel != 0) return first().accept_data(id, link, request, reply);
  return first().accept(id, link, request, reply, now);
}

fabric::MgmtReject Connection::accept_additional(const QueuesAsked& asked, fabric::ConnectionId id,
                                                 fabric::Link& link, const fabric::Mgmt& request,
                                                 fabric::Mgmt& reply, base::Time now) {
  const bool is_due = asked.queues == queues() && asked.queue < queues() && !asked.is_send_mode &&
                      pairs_[asked.queue] == nullptr && first().connection().value != 0 &&
                      !is_down_;
  if (!is_due || !take_level(asked)) return fabric::MgmtReject::kRefused;
  auto code = fabric::MgmtReject::kNoResources;
  if (make_pair(asked.queue)) code = pairs_[asked.queue]->accept(id, link, request, reply, now);
  if (code != fabric::MgmtReject::kNone) {
    fail("queue " + std::to_string(asked.queue) + " was refused: " + std::string(name(code)));
  }
  return code;
}

// Returns false if there is no such level. A queue without one has that of the configuration, and
// carries no frames by their class.
bool Connection::take_level(const QueuesAsked& asked) {
  if (!asked.level) return true;
  if (*asked.level > fabric::kSlMax) return false;
  levels_.resize(queues() - 1, QosMap::kNone);
  levels_[asked.queue - 1] = static_cast<std::uint8_t>(*asked.level);
  return true;
}

void Connection::fail(const std::string& why) {
  if (is_down_) return;
  is_down_ = true;
  owner_.on_pair_down(first(), why);
}

void Connection::on_pair_up(ChannelPair&) {
  if (++ups_ == queues() && !is_down_) owner_.on_pair_up(first());
}

void Connection::on_pair_down(ChannelPair&, const std::string& why) { fail(why); }

CfgReply Connection::on_cfg_request(ChannelPair& pair, const CfgRequest& request) {
  if (&pair != &first()) return {CfgStatus::kNotPermitted, {}};
  return owner_.on_cfg_request(pair, request);
}

void Connection::begin_close() {
  for_each([](ChannelPair& pair) { pair.begin_close(); });
}

bool Connection::is_drained() const {
  bool is_drained = true;
  for_each([&](const ChannelPair& pair) { is_drained = is_drained && pair.is_drained(); });
  return is_drained;
}

void Connection::close(base::Time now) {
  is_down_ = true;
  link_ = nullptr;
  for_each([&](ChannelPair& pair) { pair.close(now); });
  order_.clear();
  completed_ = {};
}

bool Connection::push_by_flow(base::Bytes frame, std::uint32_t flow, base::Time now) {
  return push_on(static_cast<std::size_t>((std::uint64_t{flow} * queues()) >> 32), frame, now);
}

bool Connection::push_on(std::size_t queue, base::Bytes frame, base::Time now) {
  if (!up() || order_.full() || !pairs_[queue]->push(frame, now)) return false;
  order_.push(static_cast<std::uint8_t>(queue));
  return true;
}

std::size_t Connection::frame_bytes_max() const {
  std::size_t smallest = SIZE_MAX;
  for_each([&](const ChannelPair& pair) { smallest = std::min(smallest, pair.frame_bytes_max()); });
  return smallest;
}

std::size_t Connection::take_completed_in_order() {
  for (std::size_t i = 0; i < queues(); ++i) {
    if (pairs_[i] != nullptr) completed_[i] += pairs_[i]->take_completed();
  }
  std::size_t count = 0;
  for (; !order_.empty() && completed_[order_.front()] > 0; ++count) {
    --completed_[order_.front()];
    order_.pop();
  }
  return count;
}

std::size_t Connection::pushes_in_flight() const {
  std::size_t pushes = 0;
  for_each([&](const ChannelPair& pair) { pushes += pair.pushes_in_flight(); });
  return pushes;
}

std::size_t Connection::unreceived() const {
  std::size_t frames = 0;
  for_each([&](const ChannelPair& pair) { frames += pair.unreceived(); });
  return frames;
}

// Each call begins with another pair.
std::size_t Connection::receive_from_all(std::span<ReceivedFrame> out) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < queues() && count < out.size(); ++i) {
    const std::size_t queue = (next_ + i) % queues();
    if (pairs_[queue] == nullptr) continue;
    const std::size_t received = pairs_[queue]->receive(out.subspan(count));
    for (ReceivedFrame& frame : out.subspan(count, received)) {
      frame.queue = static_cast<std::uint8_t>(queue);
    }
    count += received;
  }
  next_ = (next_ + 1) % queues();
  return count;
}

bool Connection::poll_all(base::Time now) {
  if (is_down_) return false;
  bool made_progress = link_ != nullptr;
  if (made_progress) connect_additional(now);
  for_each([&](ChannelPair& pair) {
    if (!is_down_) made_progress |= pair.poll(now);
  });
  return made_progress;
}

base::Time Connection::deadline() const {
  if (is_down_) return base::kNever;
  base::Time at = base::kNever;
  for_each([&](const ChannelPair& pair) { at = std::min(at, pair.deadline()); });
  return at;
}

std::size_t Connection::release_idle(std::uint32_t keep) {
  std::size_t bytes = 0;
  for_each([&](ChannelPair& pair) { bytes += pair.release_idle(keep); });
  return bytes;
}

bool Connection::has_refused_access() const {
  return std::ranges::any_of(
      pairs_, [](const auto& pair) { return pair != nullptr && pair->has_refused_access(); });
}

std::vector<PoolView> Connection::pools() const {
  std::vector<PoolView> all;
  for_each(
      [&](const ChannelPair& pair) { std::ranges::copy(pair.pools(), std::back_inserter(all)); });
  return all;
}

std::vector<ChannelView> Connection::channels() const {
  std::vector<ChannelView> all;
  for_each([&](const ChannelPair& pair) {
    std::ranges::copy(pair.channels(), std::back_inserter(all));
  });
  return all;
}

void Connection::visit_counters(const base::CounterVisitor& visitor) const {
  CounterSums sums;
  for_each([&](const ChannelPair& pair) { pair.add_to(sums); });
  sums.visit(visitor);
}

}  // namespace splitnic::messaging
