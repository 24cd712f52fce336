#include "messaging/capabilities.h"

#include <algorithm>

#include "base/node_name.h"
#include "base/parse_message.h"
#include "messaging/connect.pb.h"

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

// The writer uses the form that the owner of the pools asks for, if it can produce that form. A
// writer that can produce form B can produce form A.
std::optional<IdataForm> agreed_form(connect::IdataForm owner_in, connect::IdataForm writer_out) {
  if (owner_in == connect::IDATA_FORM_POOL_ELEMENT && writer_out != connect::IDATA_FORM_NONE) {
    return IdataForm::kPoolElement;
  }
  if (owner_in == connect::IDATA_FORM_OFFSET_LENGTH && writer_out == owner_in) {
    return IdataForm::kOffsetLength;
  }
  return std::nullopt;
}

connect::Channels coded(Channels channels) {
  if (channels == Channels::kTwo) return connect::CHANNELS_TWO;
  return channels == Channels::kOne ? connect::CHANNELS_ONE : connect::CHANNELS_SEPARATE;
}

// Nothing for an arrangement that does not exist, or not in this mode. [S001-51]
std::optional<Channels> channels_of(const connect::Capabilities& theirs) {
  if (theirs.channels() == connect::CHANNELS_TWO) return Channels::kTwo;
  const bool is_rdma = theirs.mode() == connect::MODE_RDMA;
  if (theirs.channels() == connect::CHANNELS_ONE && is_rdma) return Channels::kOne;
  if (theirs.channels() == connect::CHANNELS_SEPARATE && !is_rdma) return Channels::kSeparate;
  return std::nullopt;
}

bool contexts_select(const PairConfig& config) {
  return std::ranges::any_of(config.pools, [](const PoolSpec& pool) { return pool.context != 0; });
}

base::Status check_contexts(const connect::Capabilities& theirs, const PairConfig& config) {
  const bool is_rdma = theirs.mode() == connect::MODE_RDMA;
  if (is_rdma && contexts_select(config) && theirs.context_out() != connect::POOL_CONTEXT_FLOW) {
    return base::Error("the other side places no frames by pool context: give --pool without one");
  }
  if (theirs.context_in() == connect::POOL_CONTEXT_FLOW && config.flow_context_of == nullptr) {
    return base::Error("this side places no frames by pool context");
  }
  return {};
}

bool is_message_max(std::uint32_t bytes) {
  return bytes >= kMsgMaxLeast && bytes <= kMsgMaxMost && bytes % 4 == 0;
}

bool parse(base::Bytes bytes, connect::Capabilities& out) {
  return base::parse_message(bytes, out);
}

base::Status check(const connect::Capabilities& theirs, const PairConfig& config,
                   ConnectRole role) {
  if (theirs.version_lowest() > kVersion || theirs.version_highest() < kVersion) {
    return base::Error("message protocol version " + std::to_string(kVersion) + " is needed");
  }
  const bool may_follow = role == ConnectRole::kPassive && config.follows_peer_mode;
  const bool is_mode = theirs.mode() == connect::MODE_RDMA || theirs.mode() == connect::MODE_SEND;
  if (!is_mode || (theirs.mode() != coded(config.mode) && !may_follow)) {
    return base::Error("the other side speaks another mode: give both the same --mode");
  }
  if (theirs.msg_max_size() < 2 || !is_message_max(theirs.msg_max(0)) ||
      !is_message_max(theirs.msg_max(1))) {
    return base::Error("a message length that is not a multiple of 4 from " +
                       std::to_string(kMsgMaxLeast) + " to " + std::to_string(kMsgMaxMost));
  }
  const auto channels = channels_of(theirs);
  if (!channels) return base::Error("an arrangement of channels that this mode does not have");
  if (role == ConnectRole::kActive && *channels != config.channels) {
    return base::Error("the other side does not have these channels: leave --channels out");
  }
  return check_contexts(theirs, config);
}

}  // namespace

base::Result<Agreement> agree(base::Bytes private_data, const PairConfig& config,
                              ConnectRole role) {
  connect::Capabilities theirs;
  if (!parse(private_data, theirs)) return base::Error("capabilities that do not parse");
  if (const auto checked = check(theirs, config, role); !checked) return checked.error();
  return Agreement{
      .mode = theirs.mode() == connect::MODE_RDMA ? Mode::kRdma : Mode::kSend,
      .control_message_max = std::min(theirs.msg_max(0), config.control_message_max),
      .data_message_max = std::min(theirs.msg_max(1), config.data_message_max),
      .form_in = agreed_form(coded(config.idata_form), theirs.idata_form_out()),
      .form_out = agreed_form(theirs.idata_form_in(), connect::IDATA_FORM_OFFSET_LENGTH),
      .peer_name = base::clean_node_name(theirs.node_name()),
      .peer_program = base::clean_program_name(theirs.program()),
      .peer_queues = std::max(theirs.queues(), 1U),
      .channels = *channels_of(theirs),
      .peer_contexts_select = theirs.context_in() == connect::POOL_CONTEXT_FLOW,
  };
}

std::string encode_capabilities(const PairConfig& config, Mode mode, Channels channels,
                                unsigned channel) {
  connect::Capabilities mine;
  mine.set_mode(coded(mode));
  mine.set_version_lowest(kVersion);
  mine.set_version_highest(kVersion);
  mine.add_msg_max(config.control_message_max);
  mine.add_msg_max(config.data_message_max);
  mine.set_idata_form_in(coded(config.idata_form));
  mine.set_idata_form_out(connect::IDATA_FORM_OFFSET_LENGTH);
  mine.set_node_name(config.node_name.substr(0, base::kNodeNameMax));
  mine.set_queues(config.queues);
  mine.set_queue(config.queue);
  mine.set_program(config.program.substr(0, base::kProgramNameMax));
  mine.set_nic(config.nic);
  if (config.queue > 0 && config.queue <= config.levels.size()) {
    mine.set_level(config.levels[config.queue - 1]);
  }
  mine.set_channels(coded(channels));
  mine.set_channel(channel);
  if (contexts_select(config)) mine.set_context_in(connect::POOL_CONTEXT_FLOW);
  if (config.flow_context_of != nullptr) mine.set_context_out(connect::POOL_CONTEXT_FLOW);
  return mine.SerializeAsString();
}

std::uint32_t nic_asked(base::Bytes private_data) {
  connect::Capabilities theirs;
  return parse(private_data, theirs) ? theirs.nic() : 0;
}

QueuesAsked queues_asked(base::Bytes private_data) {
  connect::Capabilities theirs;
  if (!parse(private_data, theirs)) return {};
  QueuesAsked asked{std::max(theirs.queues(), 1U), theirs.queue(),
                    theirs.mode() == connect::MODE_SEND};
  if (theirs.channels() == connect::CHANNELS_SEPARATE) asked.channel = theirs.channel();
  if (theirs.has_level()) asked.level = theirs.level();
  return asked;
}

}  // namespace splitnic::messaging
