#include "messaging/channel_pair.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace splitnic::messaging {
namespace {

// Frames that wait in slots: at most all receives of the send mode, or the spares of channel 0.
constexpr std::size_t kSlotsMax = 512 + 64;

// Returns the peer's text as a line for our log: printable ASCII, at most 200 characters.
std::string clean_line(std::string_view theirs) {
  std::string line(theirs.substr(0, 200));
  std::ranges::replace_if(
      line, [](char c) { return c < ' ' || c > '~'; }, '_');
  return line;
}

}  // namespace

ChannelPair::ChannelPair(fabric::Adapter& adapter, const PairConfig& config, base::Random& random,
                         PairOwner& owner)
    : adapter_(adapter),
      config_(config),
      owner_(owner),
      agreed_{.mode = config.mode, .peer_name = "unknown", .channels = config.channels},
      pd_(adapter.alloc_pd()),
      contexts_(random.next()),
      pool_owner_({.form = config.idata_form}, contexts_, drops_),
      pool_user_({.memory = config.memory}, contexts_, drops_),
      pool_control_(pool_owner_, pool_user_, *this),
      cfg_(contexts_, config.control_message_max),
      dispatch_(MessageDispatch::Channel::kControl, config.control_message_max, *this, drops_),
      data_dispatch_(MessageDispatch::Channel::kData, config.data_message_max, *this, drops_),
      arrived_(DataChannel::receives_max(config.pools) + kSlotsMax),
      grants_(config.grant_bytes_max),
      charge_(config.memory) {}

ChannelPair::~ChannelPair() {
  CHECK(control_ == nullptr && data_ == nullptr && by_send_ == nullptr && !recv_cq_);
}

// The queue pairs stay until close(): this may run inside a callback of the adapter.
void ChannelPair::fail(const std::string& why) {
  if (state_ == State::kDown || state_ == State::kIdle) return;
  state_ = State::kDown;
  cfg_.fail_requests();
  owner_.on_pair_down(*this, why);
}

void ChannelPair::on_rejected(fabric::ConnectionId id, fabric::MgmtReject code,
                              base::Bytes private_data) {
  std::string why = "refused: " + std::string(fabric::name(code));
  if (!private_data.empty()) why += " (" + clean_line(base::as_text(private_data)) + ")";
  on_disconnected(id, why);
}

void ChannelPair::on_disconnected(fabric::ConnectionId id, std::string_view why) {
  (id == data_id_ ? data_id_ : id_) = fabric::ConnectionId(0);
  fail(std::string(why));
}

void ChannelPair::begin_close() {
  if (state_ != State::kUp && state_ != State::kConnected) return;
  state_ = State::kClosing;
  if (mode() == Mode::kSend) return;
  pool_owner_.request_flush_all();
  pool_user_.request_flush_all();
}

bool ChannelPair::is_drained() const {
  if (state_ != State::kClosing) return true;
  return pool_owner_.is_closed() && pool_user_.empty() && pushes_in_flight() == 0;
}

void ChannelPair::close(base::Time now) {
  for (fabric::ConnectionId* const id : {&data_id_, &id_}) {
    if (id->value != 0) adapter_.connections().disconnect(*id, now);
    *id = fabric::ConnectionId(0);
  }
  state_ = State::kIdle;
  link_ = nullptr;
  cfg_.fail_requests();
  pool_owner_.close_all();
  pool_user_.close_all();
  arrived_.clear();
  if (control_ != nullptr) control_->close(now);
  if (data_ != nullptr) data_->close(now);
  if (by_send_ != nullptr) by_send_->close(now);
  if (recv_cq_) adapter_.destroy_cq(*recv_cq_);
  recv_cq_.reset();
  adapter_.free_pd(pd_);
  charge_.reset();
  control_.reset();
  data_.reset();
  by_send_.reset();
}

void ChannelPair::flush(std::span<const std::uint32_t> pool_refs, bool ours) {
  if (!up()) return;
  const std::vector<PoolRef> pools(pool_refs.begin(), pool_refs.end());
  if (ours)
    pool_owner_.request_flush(pools);
  else
    pool_user_.request_flush(pools);
}

base::Status ChannelPair::flush(std::uint32_t pool, bool ours) {
  if (!up()) return base::Error("not connected");
  bool is_known = false;
  bool has_other = false;
  for (const PoolView& view : pools()) {
    if (view.ours != ours || view.is_ending) continue;
    if (view.ref == pool)
      is_known = true;
    else
      has_other = has_other || view.context == 0;
  }
  const std::string whose = ours ? "own" : "peer's";
  if (!is_known) {
    return base::Error("there is no pool " + std::to_string(pool) + " among the " + whose +
                       " ones, or it is ending: see splitnic show");
  }
  if (!has_other) {
    return base::Error("pool " + std::to_string(pool) + " is the last of the " + whose +
                       " ones that takes any frame");
  }
  flush({&pool, 1}, ours);
  return {};
}

bool ChannelPair::poll(base::Time now) {
  if (!is_alive()) return false;
  const auto sent = poll_sends();
  if (!sent) {
    fail(sent.error().text());
    return true;
  }
  bool made_progress = *sent;
  end_closed_pools();
  grant_buffer_requests();  // of the previous call: messages that came with them are handled
  made_progress |= poll_receives(now);
  if (!is_alive()) return true;
  if (pool_control_.is_broken()) {
    fail("the peer returned an element that it did not have");
    return true;
  }
  if (dispatch_.errors().is_exceeded() || data_dispatch_.errors().is_exceeded()) {
    fail("eight errors of the peer within a minute");
    return true;
  }
  pool_control_.on_time(now);
  if (link_ != nullptr) connect_data(now);
  const bool is_joined = state_ == State::kConnected && !awaits_data_;
  if (is_joined && (by_send_ != nullptr || !pool_user_.empty())) {
    state_ = State::kUp;
    owner_.on_pair_up(*this);
    made_progress = true;
  }
  if (is_alive()) send_due(now);
  end_closed_pools();  // before the peer can know: its next write must not land
  return made_progress;
}

void ChannelPair::end_closed_pools() {
  while (const auto closed = pool_owner_.next_closed()) data_->end_pool(*closed);
}

base::Time ChannelPair::deadline() const {
  if (!is_alive()) return base::kNever;
  return std::min(pool_control_.deadline(), cfg_.deadline());
}

base::Status ChannelPair::request(CfgCode code, const std::string& data, CfgDone done) {
  if (!up()) return base::Error("not connected");
  return cfg_.request(code, data, std::move(done));
}

std::size_t ChannelPair::release_idle(std::uint32_t keep) {
  return up() && data_ != nullptr ? data_->release_idle(keep) : 0;
}

fabric::Qpn ChannelPair::qpn(unsigned channel) const {
  if (control_ == nullptr) return {};
  if (channel == 0 || has_one_channel()) return control_->qpn();
  return by_send_ != nullptr ? by_send_->qpn() : data_->qpn();
}

bool ChannelPair::has_refused_access() const {
  for (const unsigned channel : {0U, 1U}) {
    const fabric::Qp* qp = adapter_.find_qp(qpn(channel));
    if (qp != nullptr && qp->has_refused_access()) return true;
  }
  return false;
}

std::uint16_t ChannelPair::cell_payload_max() const {
  const fabric::Qp* qp = control_ == nullptr ? nullptr : adapter_.find_qp(qpn(1));
  return qp == nullptr ? std::uint16_t{0} : qp->attr().mcp;
}

std::vector<PoolView> ChannelPair::pools() const {
  std::vector<PoolView> out;
  pool_owner_.visit([&](const OwnerPoolView& v) {
    out.push_back({v.record.pool.value, v.record.elements, v.record.element_bytes, v.posted, true,
                   v.filled, v.record.handle, v.record.address, config_.queue,
                   v.record.pool_context, v.indicated, v.state != PoolState::kAdvertised});
  });
  pool_user_.visit([&](const UserPoolView& v) {
    out.push_back({v.record.pool.value, v.record.elements, v.record.element_bytes, v.available,
                   false, v.writing, v.record.handle, v.record.address, config_.queue,
                   v.record.pool_context, 0, v.is_flushing});
  });
  return out;
}

std::vector<ChannelView> ChannelPair::channels() const {
  std::vector<ChannelView> out;
  if (control_ == nullptr) return out;
  const std::uint8_t count = has_one_channel() ? 1 : 2;
  for (std::uint8_t number = 0; number < count; ++number) {
    const fabric::Qp* qp = adapter_.find_qp(qpn(number));
    if (qp == nullptr) continue;
    out.push_back({number, qpn(number), qp->attr().remote_qpn, fabric::name(qp->service()),
                   fabric::name(qp->state()), config_.queue,
                   qp->requester().congestion().round_trip()});
  }
  return out;
}

void ChannelPair::visit_counters(const base::CounterVisitor& visitor) const {
  CounterSums sums;
  add_to(sums);
  sums.visit(visitor);
}

void ChannelPair::add_to(CounterSums& sums) const {
  sums.pairs.merge(counters_);
  sums.drops.merge(drops_);
  sums.pools.merge(pool_user_.counters());
}

std::vector<base::MutableBytes> ChannelPair::TEST_pool_memory() {
  return data_ == nullptr ? std::vector<base::MutableBytes>{} : data_->TEST_pool_memory();
}

void ChannelPair::TEST_send(base::Bytes message) {
  const base::MutableBytes room = control_->room(true);
  CHECK(room.size() >= message.size());
  std::ranges::copy(message, room.begin());
  CHECK(control_->send(message.size()).has_value());
}

}  // namespace splitnic::messaging
