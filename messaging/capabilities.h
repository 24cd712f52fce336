// The private data of CONNECT_REQ and CONNECT_REP: each side describes what it can do, and both
// compute the same agreement from the two descriptions. Pure functions; nothing here changes state.
// docs/protocol/channels.md#capabilities
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "messaging/pair_config.h"

namespace splitnic::messaging {

enum class ConnectRole : std::uint8_t {
  kActive,   // sent the CONNECT_REQ; its mode is fixed
  kPassive,  // received it; it may follow the mode of the active side
};

// The terms that hold for both sides of a pair.
struct Agreement {
  Mode mode = Mode::kRdma;
  std::size_t control_message_max = 0;  // the smaller of both sides
  std::size_t data_message_max = 0;
  std::optional<IdataForm> form_in{};   // of the peer's writes into our pools
  std::optional<IdataForm> form_out{};  // of our writes into the peer's pools
  std::string peer_name{};              // safe to log
  std::string peer_program{};           // likewise
  std::uint32_t peer_queues = 1;
  Channels channels = Channels::kTwo;
  bool peer_contexts_select = false;  // the contexts of the peer's pools select flows
};

// Returns the agreement with a peer that sent this private data, or the line with which to refuse.
// The passive side calls this before it builds a pair, since it allocates nothing but strings.
base::Result<Agreement> agree(base::Bytes private_data, const PairConfig& config, ConnectRole role);
// Returns our private data; mode and arrangement are those in use. `channel` is the one that the
// connection is for, if each has one.
std::string encode_capabilities(const PairConfig& config, Mode mode,
                                Channels channels = Channels::kTwo, unsigned channel = 0);

// Returns the number of the NIC that a CONNECT_REQ with this private data asks for; 0 if it names
// none.
std::uint32_t nic_asked(base::Bytes private_data);

// The number of pairs that a CONNECT_REQ asks for, and the pair and channel that it is for.
struct QueuesAsked {
  // Whether it adds to a connection that is there.
  bool is_additional() const { return queue != 0 || channel != 0; }

  std::uint32_t queues = 1;
  std::uint32_t queue = 0;
  bool is_send_mode = false;
  std::uint32_t channel = 0;
  std::optional<std::uint32_t> level{};  // service level of this pair, of any value
};
QueuesAsked queues_asked(base::Bytes private_data);

}  // namespace splitnic::messaging
