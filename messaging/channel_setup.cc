// Sets up a pair: queue pairs and pools on our side, then CONNECT with capabilities in both
// directions.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "messaging/channel_pair.h"

namespace splitnic::messaging {
namespace {

// With form A, pools of more than 256 elements are split so that idata can name each element.
std::vector<PoolSpec> as_pools(const PairConfig& config) {
  if (config.idata_form == IdataForm::kOffsetLength) return config.pools;
  std::vector<PoolSpec> pools;
  for (const PoolSpec& spec : config.pools) {
    for (const PoolSpec& part : split(spec)) pools.push_back(part);
  }
  return pools;
}

bool suits_form_b(std::span<const PoolSpec> pools) {
  return pools.size() == 1 &&
         OffsetLengthIdata::suits(std::uint64_t{pools[0].count} * pools[0].size, pools[0].size);
}

}  // namespace

base::Status ChannelPair::register_frames(base::MutableBytes arena) {
  const auto handle = adapter_.memory().regions().register_region(pd_, arena, fabric::kLocalRead);
  if (!handle) return handle.error().within("memory of frames");
  frames_ = arena;
  frames_handle_ = *handle;
  frames_start_ = adapter_.memory().start_of(*handle);
  return {};
}

base::Status ChannelPair::make_channels(base::Time now) {
  const bool is_rdma = mode() == Mode::kRdma;
  auto messages =
      has_one_channel()
          ? MessageChannel::single(config_.control_message_max, DataChannel::kPushesMax,
                                   config_.window_bytes_max)
          : MessageChannel::control(is_rdma ? fabric::Service::kRc : fabric::Service::kUc,
                                    config_.control_message_max);
  auto frame_slots = MessageChannel::frames(config_.data_message_max, config_.frame_slots);
  messages.memory = frame_slots.memory = config_.memory;
  messages.partition = frame_slots.partition = config_.partition;
  frame_slots.sl = config_.sl;
  if (has_one_channel()) messages.sl = config_.sl;
  const std::vector<PoolSpec> pools = as_pools(config_);
  const std::size_t receives =
      messages.receives + (is_rdma ? DataChannel::receives_max(pools) : frame_slots.receives);
  if (!charge_.add(base::Ring<ReceivedFrame>::bytes_of(arrived_.capacity()))) {
    return base::account_error();
  }
  const auto cq = adapter_.create_cq(receives + 1, config_.memory);
  if (!cq) return cq.error();
  recv_cq_ = *cq;
  auto first = MessageChannel::open(adapter_, pd_, messages, *recv_cq_, now);
  if (!first) return first.error();
  control_ = std::move(*first);
  if (is_rdma) return make_data_channel(pools, now);
  auto second = MessageChannel::open(adapter_, pd_, frame_slots, *recv_cq_, now);
  if (!second) return second.error();
  by_send_ = std::move(*second);
  return {};
}

base::Status ChannelPair::make_data_channel(std::span<const PoolSpec> pools, base::Time now) {
  if (config_.idata_form == IdataForm::kOffsetLength && !suits_form_b(pools)) {
    return base::Error(
        "idata form B needs exactly one pool of at most 4 MiB, its element size a multiple of 64");
  }
  const DataChannel::Shape shape{
      pools,      config_.window_bytes_max, config_.partition,
      config_.sl, config_.memory,           has_one_channel() ? &control_->queue_pair() : nullptr};
  auto opened = DataChannel::open(adapter_, pd_, shape, *recv_cq_, pool_owner_, pool_user_, now);
  if (!opened) return opened.error();
  data_ = std::move(*opened);
  return {};
}

// The channels that the first connection has: both, or one by the arrangement.
unsigned ChannelPair::channels_of_first() const {
  return agreed_.channels == Channels::kTwo ? kChannel0 | kChannel1 : kChannel0;
}

std::vector<fabric::MgmtPair> ChannelPair::describe(unsigned channels) {
  std::vector<fabric::MgmtPair> pairs;
  if ((channels & kChannel0) != 0) {
    pairs.push_back(adapter_.describe(qpn(0), 0, config_.control_message_max));
  }
  if ((channels & kChannel1) != 0) {
    const std::uint32_t message_max = by_send_ != nullptr ? config_.data_message_max : 0;
    pairs.push_back(adapter_.describe(qpn(1), 1, message_max));
  }
  return pairs;
}

void ChannelPair::adopt(Agreement agreed) {
  agreed_ = std::move(agreed);
  pool_owner_.set_form(agreed_.form_in);
  pool_user_.set_form(agreed_.form_out);
  pool_user_.set_contexts_select(agreed_.peer_contexts_select);
}

// Applies the agreed limits to the channels that were made.
void ChannelPair::apply_limits() {
  control_->limit(agreed_.control_message_max);
  dispatch_.set_message_max(agreed_.control_message_max);
  cfg_.set_message_max(agreed_.control_message_max);
  if (by_send_ != nullptr) by_send_->limit(agreed_.data_message_max);
  data_dispatch_.set_message_max(agreed_.data_message_max);
}

base::Status ChannelPair::connect(fabric::Link& link, base::Time now) {
  CHECK(state_ == State::kIdle);
  if (auto made = make_channels(now); !made) {
    close(now);
    return made;
  }
  private_data_ = encode_capabilities(config_, mode(), agreed_.channels);
  id_ = adapter_.connections().connect(link, describe(channels_of_first()),
                                       base::as_bytes(private_data_), now, config_.partition);
  state_ = State::kConnecting;
  return {};
}

// Connects our queue pairs to those of the peer: these channels, in any order, with the services
// that follow from the mode.
bool ChannelPair::join(fabric::Link& link, const fabric::Mgmt& theirs, unsigned channels) {
  const auto mine = describe(channels);
  unsigned joined = 0;
  for (const fabric::MgmtPair& pair : theirs.used_pairs()) {
    const auto same = std::ranges::find(mine, pair.channel, &fabric::MgmtPair::channel);
    if (same == mine.end() || pair.service != same->service) return false;
    if ((joined & (1U << pair.channel)) != 0) return false;
    if (!adapter_.connect_qp(*same, pair, link)) return false;
    joined |= 1U << pair.channel;
  }
  return joined == channels;
}

bool ChannelPair::on_connected(fabric::Link& link, const fabric::Mgmt& reply) {
  const bool is_of_data = state_ == State::kConnected && awaits_data_;
  if (state_ != State::kConnecting && !is_of_data) return false;
  auto agreed = agree(reply.private_data, config_, ConnectRole::kActive);
  if (!agreed) {
    fail(agreed.error().text());
    return false;
  }
  if (!is_of_data) adopt(std::move(*agreed));
  if (!join(link, reply, is_of_data ? kChannel1 : channels_of_first())) {
    fail("the I/O unit's reply does not match the request");
    return false;
  }
  if (is_of_data) {
    awaits_data_ = false;
    return true;
  }
  apply_limits();
  state_ = State::kConnected;
  awaits_data_ = agreed_.channels == Channels::kSeparate;
  if (awaits_data_) link_ = &link;
  return true;
}

// Not in the callback of the adapter that completes the first connection.
void ChannelPair::connect_data(base::Time now) {
  fabric::Link& link = *std::exchange(link_, nullptr);
  private_data_ = encode_capabilities(config_, mode(), agreed_.channels, 1);
  data_id_ = adapter_.connections().connect(link, describe(kChannel1),
                                            base::as_bytes(private_data_), now, config_.partition);
}

fabric::MgmtReject ChannelPair::accept(fabric::ConnectionId id, fabric::Link& link,
                                       const fabric::Mgmt& request, fabric::Mgmt& reply,
                                       base::Time now) {
  CHECK(state_ == State::kIdle);
  if (request.partition != config_.partition) return fabric::MgmtReject::kBadParameter;
  auto agreed = agree(request.private_data, config_, ConnectRole::kPassive);
  if (!agreed) {
    private_data_ = agreed.error().text();
    reply.private_data = base::as_bytes(private_data_);
    return fabric::MgmtReject::kRefused;
  }
  adopt(std::move(*agreed));
  if (const auto made = make_channels(now); !made) {
    private_data_ = made.error().text();
    reply.private_data = base::as_bytes(private_data_);
    return fabric::MgmtReject::kNoResources;
  }
  if (!join(link, request, channels_of_first())) return fabric::MgmtReject::kBadParameter;
  id_ = id;
  apply_limits();
  fill(reply, request, channels_of_first());
  state_ = State::kConnected;
  awaits_data_ = agreed_.channels == Channels::kSeparate;
  return fabric::MgmtReject::kNone;
}

fabric::MgmtReject ChannelPair::accept_data(fabric::ConnectionId id, fabric::Link& link,
                                            const fabric::Mgmt& request, fabric::Mgmt& reply) {
  const auto agreed = agree(request.private_data, config_, ConnectRole::kPassive);
  const bool is_due = state_ == State::kConnected && awaits_data_ && data_id_.value == 0 &&
                      agreed && agreed->channels == Channels::kSeparate;
  if (!is_due) return fabric::MgmtReject::kRefused;
  if (request.partition != config_.partition || !join(link, request, kChannel1)) {
    return fabric::MgmtReject::kBadParameter;
  }
  data_id_ = id;
  awaits_data_ = false;
  fill(reply, request, kChannel1);
  return fabric::MgmtReject::kNone;
}

// Describes these channels and their counterparts in the reply.
void ChannelPair::fill(fabric::Mgmt& reply, const fabric::Mgmt& request, unsigned channels) {
  private_data_ =
      encode_capabilities(config_, mode(), agreed_.channels, (channels & kChannel0) != 0 ? 0 : 1);
  const auto mine = describe(channels);
  reply.pair_count = mine.size();
  for (std::size_t i = 0; i < mine.size(); ++i) {
    reply.pairs[i] = mine[i];
    for (const fabric::MgmtPair& theirs : request.used_pairs()) {
      if (theirs.channel == mine[i].channel) reply.pairs[i].peer_qpn = theirs.qpn;
    }
  }
  reply.private_data = base::as_bytes(private_data_);
}

}  // namespace splitnic::messaging
