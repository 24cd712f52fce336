// How a pair comes to be: queue pairs and pools on our side, then CONNECT with capabilities both
// ways.
#include <algorithm>

#include "base/check.h"
#include "messaging/cfgutil/node_name.h"
#include "messaging/channel_impl.h"

namespace splitnic::messaging {
namespace {

constexpr std::uint32_t kVersion = 1;

connect::Mode coded(Mode mode) {
  return mode == Mode::kRdma ? connect::MODE_RDMA : connect::MODE_SEND;
}

connect::IdataForm coded(std::optional<IdataForm> form) {
  if (!form) return connect::IDATA_FORM_NONE;
  return *form == IdataForm::kPoolElement ? connect::IDATA_FORM_POOL_ELEMENT
                                          : connect::IDATA_FORM_OFFSET_LENGTH;
}

// What the writer uses: what the owner of the pools asks for, if the writer can produce it. Who can
// produce form B can produce form A.
std::optional<IdataForm> agreed(connect::IdataForm owner_in, connect::IdataForm writer_out) {
  if (owner_in == connect::IDATA_FORM_POOL_ELEMENT && writer_out != connect::IDATA_FORM_NONE) {
    return IdataForm::kPoolElement;
  }
  if (owner_in == connect::IDATA_FORM_OFFSET_LENGTH && writer_out == owner_in) {
    return IdataForm::kOffsetLength;
  }
  return std::nullopt;
}

// One pool, or pools of at most 256 elements so that form A can name each.
std::vector<PoolSpec> as_pools(const PairConfig& config) {
  if (config.idata_form == IdataForm::kOffsetLength) return config.pools;
  std::vector<PoolSpec> pools;
  for (const PoolSpec& spec : config.pools) {
    for (const PoolSpec& part : split(spec)) pools.push_back(part);
  }
  return pools;
}

// Fills `theirs`, or says what is wrong with it.
std::string judge(base::Bytes bytes, connect::Mode mode, bool may_follow,
                  connect::Capabilities& theirs) {
  if (!theirs.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return "capabilities that do not parse";
  }
  if (theirs.version_lowest() > kVersion || theirs.version_highest() < kVersion) {
    return "message protocol version " + std::to_string(kVersion) + " is needed";
  }
  const bool is_mode = theirs.mode() == connect::MODE_RDMA || theirs.mode() == connect::MODE_SEND;
  if (!is_mode || (theirs.mode() != mode && !may_follow)) {
    return "the other side speaks another mode: give both the same --mode";
  }
  const auto is_message_max = [](std::uint32_t bytes_max) {
    return bytes_max >= kMsgMaxLeast && bytes_max <= kMsgMaxMost && bytes_max % 4 == 0;
  };
  if (theirs.msg_max_size() < 2 || !is_message_max(theirs.msg_max(0)) ||
      !is_message_max(theirs.msg_max(1))) {
    return "a message length that is not a multiple of 4 from 256 to 65536";
  }
  return {};
}

}  // namespace

std::string capabilities_refused(base::Bytes private_data, const PairConfig& config) {
  connect::Capabilities theirs;
  return judge(private_data, coded(config.mode), config.follows_peer_mode, theirs);
}

std::uint32_t nic_asked(base::Bytes private_data) {
  connect::Capabilities theirs;
  if (!theirs.ParseFromArray(private_data.data(), static_cast<int>(private_data.size()))) return 0;
  return theirs.nic();
}

QueuesAsked queues_asked(base::Bytes private_data) {
  connect::Capabilities theirs;
  if (!theirs.ParseFromArray(private_data.data(), static_cast<int>(private_data.size()))) return {};
  return {std::max(theirs.queues(), 1U), theirs.queue(), theirs.mode() == connect::MODE_SEND};
}

base::Status ChannelPair::Impl::register_frames(base::MutableBytes arena) {
  const auto handle = adapter.memory().register_region(pd, arena, fabric::kLocalRead);
  if (!handle) return handle.error().within("memory of frames");
  frames = arena;
  frames_handle = *handle;
  frames_start = adapter.memory().start_of(*handle);
  return {};
}

base::Status ChannelPair::Impl::make_channels(base::Time now) {
  const bool rdma = mode == Mode::kRdma;
  const auto service = rdma ? fabric::Service::kRc : fabric::Service::kUc;
  const auto messages = MessageChannel::control(service, config.control_message_max);
  const auto frame_slots = MessageChannel::frames(config.data_message_max);
  const std::vector<PoolSpec> pools = as_pools(config);
  const std::size_t receives =
      messages.receives + (rdma ? DataChannel::receives_max(pools) : frame_slots.receives);
  const auto cq = adapter.create_cq(receives + 1);
  if (!cq) return cq.error();
  recv_cq = *cq;
  auto first = MessageChannel::open(adapter, pd, messages, *recv_cq, now);
  if (!first) return first.error();
  control = std::move(*first);
  if (rdma) return make_data_channel(now);
  auto second = MessageChannel::open(adapter, pd, frame_slots, *recv_cq, now);
  if (!second) return second.error();
  by_send = std::move(*second);
  return {};
}

base::Status ChannelPair::Impl::make_data_channel(base::Time now) {
  const std::vector<PoolSpec> pools = as_pools(config);
  if (config.idata_form == IdataForm::kOffsetLength &&
      (pools.size() != 1 ||
       !OffsetLengthIdata::suits(std::uint64_t{pools[0].count} * pools[0].size, pools[0].size))) {
    return base::Error(
        "idata form B needs exactly one pool of at most 4 MiB, its element size a multiple of 64");
  }
  auto opened = DataChannel::open(adapter, pd, pools, config.window_bytes_max, *recv_cq, pool_owner,
                                  pool_user, now);
  if (!opened) return opened.error();
  data = std::move(*opened);
  return {};
}

std::array<fabric::MgmtPair, 2> ChannelPair::Impl::describe() {
  if (by_send != nullptr) {
    return {adapter.describe(control->qpn(), 0, config.control_message_max),
            adapter.describe(by_send->qpn(), 1, config.data_message_max)};
  }
  return {adapter.describe(control->qpn(), 0, config.control_message_max),
          adapter.describe(data->qpn(), 1, 0)};
}

std::string ChannelPair::Impl::capabilities() const {
  connect::Capabilities mine;
  mine.set_mode(coded(mode));
  mine.set_version_lowest(kVersion);
  mine.set_version_highest(kVersion);
  mine.add_msg_max(config.control_message_max);
  mine.add_msg_max(config.data_message_max);
  mine.set_idata_form_in(coded(config.idata_form));
  mine.set_idata_form_out(connect::IDATA_FORM_OFFSET_LENGTH);
  mine.set_node_name(config.node_name.substr(0, kNodeNameMax));
  mine.set_queues(config.queues);
  mine.set_queue(config.queue);
  mine.set_program("splitnic");
  mine.set_nic(config.nic);
  return mine.SerializeAsString();
}

// Changes nothing unless all of it can be taken.
bool ChannelPair::Impl::take_capabilities(base::Bytes bytes, bool may_follow, std::string& why) {
  connect::Capabilities theirs;
  why = judge(bytes, coded(mode), may_follow, theirs);
  if (!why.empty()) return false;
  agree(theirs);
  return true;
}

void ChannelPair::Impl::agree(const connect::Capabilities& theirs) {
  mode = theirs.mode() == connect::MODE_RDMA ? Mode::kRdma : Mode::kSend;
  control_max = std::min(theirs.msg_max(0), config.control_message_max);
  data_max = std::min(theirs.msg_max(1), config.data_message_max);
  pool_owner.set_form(agreed(coded(config.idata_form), theirs.idata_form_out()));
  pool_user.set_form(agreed(theirs.idata_form_in(), connect::IDATA_FORM_OFFSET_LENGTH));
  peer_name = clean_node_name(theirs.node_name());
  peer_queues = std::max(theirs.queues(), 1U);
}

// What was agreed holds for the channels that are there.
void ChannelPair::Impl::apply_limits() {
  control->limit(control_max);
  dispatch.set_message_max(control_max);
  if (by_send != nullptr) by_send->limit(data_max);
  data_dispatch.set_message_max(data_max);
}

base::Status ChannelPair::Impl::connect(fabric::Link& link, base::Time now) {
  CHECK(state == ChannelState::kIdle);
  if (auto made = make_channels(now); !made) {
    close(now);
    return made;
  }
  private_data = capabilities();
  id = adapter.connections().connect(link, describe(), base::as_bytes(private_data), now);
  state = ChannelState::kConnecting;
  return {};
}

// Channel 0 and channel 1 of the peer, in any order; the service follows from the mode.
bool ChannelPair::Impl::join(fabric::Link& link, const fabric::Mgmt& theirs) {
  const auto mine = describe();
  unsigned joined = 0;
  for (const fabric::MgmtPair& pair : theirs.used_pairs()) {
    if (pair.channel > 1 || pair.service != mine[pair.channel].service) return false;
    if ((joined & (1U << pair.channel)) != 0) return false;
    if (!adapter.connect_qp(mine[pair.channel], pair, link)) return false;
    joined |= 1U << pair.channel;
  }
  return joined == 3;
}

bool ChannelPair::Impl::on_connected(fabric::Link& link, const fabric::Mgmt& reply) {
  if (state != ChannelState::kConnecting) return false;
  std::string why;
  if (!take_capabilities(reply.private_data, false, why) || !join(link, reply)) {
    fail(why.empty() ? "the I/O unit's answer does not fit" : why);
    return false;
  }
  apply_limits();
  state = ChannelState::kConnected;
  return true;
}

fabric::MgmtReject ChannelPair::Impl::accept(fabric::ConnectionId new_id, fabric::Link& link,
                                             const fabric::Mgmt& request, fabric::Mgmt& reply,
                                             base::Time now) {
  CHECK(state == ChannelState::kIdle);
  if (!take_capabilities(request.private_data, config.follows_peer_mode, private_data)) {
    reply.private_data = base::as_bytes(private_data);
    return fabric::MgmtReject::kRefused;
  }
  if (!make_channels(now)) return fabric::MgmtReject::kNoResources;
  if (!join(link, request)) return fabric::MgmtReject::kBadParameter;
  id = new_id;
  apply_limits();
  private_data = capabilities();
  const auto mine = describe();
  reply.pair_count = mine.size();
  for (std::size_t i = 0; i < mine.size(); ++i) {
    reply.pairs[i] = mine[i];
    for (const fabric::MgmtPair& theirs : request.used_pairs()) {
      if (theirs.channel == mine[i].channel) reply.pairs[i].peer_qpn = theirs.qpn;
    }
  }
  reply.private_data = base::as_bytes(private_data);
  state = ChannelState::kConnected;
  return fabric::MgmtReject::kNone;
}

}  // namespace splitnic::messaging
