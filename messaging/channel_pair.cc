#include "messaging/channel_pair.h"

#include <algorithm>

#include "base/check.h"
#include "messaging/cfgutil/node_name.h"
#include "messaging/channel_impl.h"

namespace splitnic::messaging {
namespace {

// Frames that wait in slots: at most all receives of the send mode, or the spares of channel 0.
constexpr std::size_t kSlotsMax = 512 + 64;

}  // namespace

ChannelPair::Impl::Impl(ChannelPair& self_in, fabric::Adapter& adapter_in,
                        const PairConfig& config_in, base::Random& random, PairOwner& owner_in)
    : self(self_in),
      adapter(adapter_in),
      config(config_in),
      owner(owner_in),
      mode(config_in.mode),
      pd(adapter_in.alloc_pd()),
      contexts(random.next()),
      pool_owner({.form = config_in.idata_form}, contexts, drops),
      pool_user({}, contexts, drops),
      pool_control(pool_owner, pool_user, *this),
      dispatch(MessageDispatch::Channel::kControl, config_in.control_message_max, *this, drops),
      data_dispatch(MessageDispatch::Channel::kData, config_in.data_message_max, *this, drops),
      arrived(DataChannel::receives_max(config_in.pools) + kSlotsMax) {}

ChannelPair::Impl::~Impl() {
  CHECK(control == nullptr && data == nullptr && by_send == nullptr && !recv_cq);
}

// The queue pairs stay until close(): this may run inside a callback of the adapter.
void ChannelPair::Impl::fail(const std::string& why) {
  if (state == ChannelState::kDown || state == ChannelState::kIdle) return;
  state = ChannelState::kDown;
  fail_requests();
  owner.on_pair_down(self, why);
}

void ChannelPair::Impl::begin_close() {
  if (state != ChannelState::kUp && state != ChannelState::kConnected) return;
  state = ChannelState::kClosing;
  if (mode == Mode::kSend) return;
  pool_owner.request_flush_all();
  pool_user.request_flush_all();
}

bool ChannelPair::Impl::is_drained() const {
  if (state != ChannelState::kClosing) return true;
  return pool_owner.is_closed() && pool_user.empty() && pushes_in_flight() == 0;
}

void ChannelPair::Impl::close(base::Time now) {
  if (id.value != 0) adapter.connections().disconnect(id, now);
  state = ChannelState::kIdle;
  id = fabric::ConnectionId(0);
  fail_requests();
  pool_owner.close_all();
  pool_user.close_all();
  arrived.clear();
  if (control != nullptr) control->close(now);
  if (data != nullptr) data->close(now);
  if (by_send != nullptr) by_send->close(now);
  if (recv_cq) adapter.destroy_cq(*recv_cq);
  recv_cq.reset();
  adapter.free_pd(pd);
  control.reset();
  data.reset();
  by_send.reset();
}

void ChannelPair::Impl::flush(std::span<const std::uint32_t> refs, bool ours) {
  std::vector<PoolRef> pools;
  for (const std::uint32_t ref : refs) pools.emplace_back(ref);
  if (ours)
    pool_owner.request_flush(pools);
  else
    pool_user.request_flush(pools);
}

bool ChannelPair::Impl::poll(base::Time now) {
  if (!is_alive()) return false;
  bool made_progress = false;
  if (!poll_sends(made_progress)) return true;
  end_closed_pools();
  grant_buffer_requests();  // of the turn before: what came with them has been read since
  made_progress |= poll_receives(now);
  if (!is_alive()) return true;
  if (pool_control.is_broken()) {
    fail("the peer returned an element that it did not have");
    return true;
  }
  if (dispatch.errors().is_exceeded() || data_dispatch.errors().is_exceeded()) {
    fail("eight errors of the peer within a minute");
    return true;
  }
  pool_control.on_time(now);
  if (state == ChannelState::kConnected && (by_send != nullptr || !pool_user.empty())) {
    state = ChannelState::kUp;
    owner.on_pair_up(self);
    made_progress = true;
  }
  if (is_alive()) send_due(now);
  end_closed_pools();  // before the peer can know: its next write must not land
  return made_progress;
}

void ChannelPair::Impl::end_closed_pools() {
  while (const auto closed = pool_owner.next_closed()) data->end_pool(*closed);
}

base::Time ChannelPair::Impl::deadline() const {
  if (!is_alive()) return base::kNever;
  return std::min(pool_control.deadline(), transactions.deadline());
}

ChannelPair::ChannelPair(fabric::Adapter& adapter, const PairConfig& config, base::Random& random,
                         PairOwner& owner)
    : impl_(std::make_unique<Impl>(*this, adapter, config, random, owner)) {}
ChannelPair::~ChannelPair() = default;

base::Status ChannelPair::register_frames(base::MutableBytes arena) {
  return impl_->register_frames(arena);
}
base::Status ChannelPair::connect(fabric::Link& link, base::Time now) {
  return impl_->connect(link, now);
}
bool ChannelPair::on_connected(fabric::Link& link, const fabric::Mgmt& reply, base::Time) {
  return impl_->on_connected(link, reply);
}
void ChannelPair::on_rejected(fabric::MgmtReject code, base::Bytes private_data) {
  std::string why = "refused: " + std::string(fabric::name(code));
  if (!private_data.empty()) why += " (" + clean_line(base::as_text(private_data)) + ")";
  impl_->id = fabric::ConnectionId(0);
  impl_->fail(why);
}
void ChannelPair::on_disconnected(std::string_view why) {
  impl_->id = fabric::ConnectionId(0);
  impl_->fail(std::string(why));
}
fabric::MgmtReject ChannelPair::accept(fabric::ConnectionId id, fabric::Link& link,
                                       const fabric::Mgmt& request, fabric::Mgmt& reply,
                                       base::Time now) {
  return impl_->accept(id, link, request, reply, now);
}
fabric::ConnectionId ChannelPair::connection() const { return impl_->id; }
void ChannelPair::begin_close() { impl_->begin_close(); }
bool ChannelPair::is_drained() const { return impl_->is_drained(); }
void ChannelPair::close(base::Time now) { impl_->close(now); }
void ChannelPair::flush(std::span<const std::uint32_t> pool_refs, bool ours) {
  if (up()) impl_->flush(pool_refs, ours);
}
bool ChannelPair::up() const { return impl_->state == ChannelState::kUp; }

bool ChannelPair::push(base::Bytes frame, base::Time now) { return impl_->push(frame, now); }
std::size_t ChannelPair::frame_bytes_max() const { return impl_->frame_bytes_max(); }
std::size_t ChannelPair::take_completed() { return impl_->take_completed(); }
std::size_t ChannelPair::pushes_in_flight() const { return impl_->pushes_in_flight(); }
std::size_t ChannelPair::unreceived() const { return impl_->arrived.size(); }
std::size_t ChannelPair::receive(std::span<ReceivedFrame> out) {
  return impl_->is_alive() ? impl_->receive(out) : 0;
}
void ChannelPair::release(const ReceivedFrame& frame, base::Time now) {
  if (!impl_->is_alive()) return;
  if (auto released = impl_->release(frame, now); !released) {
    impl_->fail(released.error().text());
  }
}
base::Status ChannelPair::request(CfgCode code, const std::string& data, base::Time now,
                                  CfgDone done) {
  return impl_->request(code, data, now, std::move(done));
}
std::size_t ChannelPair::give_back_idle(std::uint32_t keep) {
  return up() && impl_->data != nullptr ? impl_->data->give_back_idle(keep) : 0;
}
bool ChannelPair::poll(base::Time now) { return impl_->poll(now); }
base::Time ChannelPair::deadline() const { return impl_->deadline(); }
const std::string& ChannelPair::peer_name() const { return impl_->peer_name; }
std::uint32_t ChannelPair::peer_queues() const { return impl_->peer_queues; }
Mode ChannelPair::mode() const { return impl_->mode; }
fabric::Qpn ChannelPair::qpn(unsigned channel) const {
  if (impl_->control == nullptr) return {};
  if (channel == 0) return impl_->control->qpn();
  return impl_->by_send != nullptr ? impl_->by_send->qpn() : impl_->data->qpn();
}

bool ChannelPair::has_refused_access() const {
  for (const unsigned channel : {0U, 1U}) {
    const fabric::Qp* qp = impl_->adapter.find_qp(qpn(channel));
    if (qp != nullptr && qp->has_refused_access()) return true;
  }
  return false;
}

std::uint16_t ChannelPair::cell_payload_max() const {
  const fabric::Qp* qp = impl_->control == nullptr ? nullptr : impl_->adapter.find_qp(qpn(1));
  return qp == nullptr ? std::uint16_t{0} : qp->attr().mcp;
}

std::vector<PoolView> ChannelPair::pools() const {
  std::vector<PoolView> out;
  impl_->pool_owner.visit([&](const OwnerPoolView& v) {
    out.push_back({v.record.pool.value, v.record.elements, v.record.element_bytes, v.posted, true,
                   v.filled, v.record.handle, v.record.address, impl_->config.queue});
  });
  impl_->pool_user.visit([&](const UserPoolView& v) {
    out.push_back({v.record.pool.value, v.record.elements, v.record.element_bytes, v.available,
                   false, v.writing, v.record.handle, v.record.address, impl_->config.queue});
  });
  return out;
}

std::vector<ChannelView> ChannelPair::channels() const {
  std::vector<ChannelView> out;
  if (impl_->control == nullptr) return out;
  for (std::uint8_t number = 0; number < 2; ++number) {
    const fabric::Qp* qp = impl_->adapter.find_qp(qpn(number));
    if (qp == nullptr) continue;
    out.push_back({number, qpn(number), qp->attr().remote_qpn, fabric::name(qp->service()),
                   fabric::name(qp->state()), impl_->config.queue});
  }
  return out;
}

std::vector<base::MutableBytes> ChannelPair::TEST_pool_memory() {
  return impl_->data == nullptr ? std::vector<base::MutableBytes>{}
                                : impl_->data->TEST_pool_memory();
}

void ChannelPair::TEST_send(base::Bytes message) {
  const base::MutableBytes room = impl_->control->room(true);
  CHECK(room.size() >= message.size());
  std::ranges::copy(message, room.begin());
  CHECK(impl_->control->send(message.size()).has_value());
}

void ChannelPair::visit_counters(const base::CounterVisitor& visitor) const {
  impl_->counters.visit(visitor);
  impl_->drops.visit(visitor);
  impl_->pool_user.counters().visit(visitor);
}

}  // namespace splitnic::messaging
