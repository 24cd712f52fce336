// The receive pools of a program, as typed: --pool, with the flows that a pool is for, and --idata,
// how the peer indicates what it wrote into them. docs/protocol/channels.md#pool-contexts
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "messaging/pair_config.h"

namespace splitnic::control {

inline constexpr std::uint32_t kElementBytesMin = 64;

// COUNTxSIZE, and after it ,source-port=N ,destination-port=N ,source=IPV4-ADDRESS, each once at
// most.
base::Result<messaging::PoolSpec> parse_pool(const std::string& text);
// The same of a context that is not 0, without the comma in front.
std::string pool_context_text(std::uint64_t context);
// The defaults, as COUNTxSIZE.
std::string default_pools_text();

// Sets pools, smallest size first, and idata form.
base::Status check_pools(const std::vector<std::string>& pools, const std::string& idata,
                         messaging::PairConfig& out);
// pool, offset or message.
const char* idata_name(std::optional<messaging::IdataForm> form);
// --channels: 1 and separate are for one mode each. Sets the arrangement.
base::Status check_channels(const std::string& typed, messaging::PairConfig& out);
// 1, 2 or separate.
const char* channels_name(messaging::Channels channels);

// The context of a frame, for messaging::PairConfig.
std::uint64_t flow_context_of(base::Bytes frame);

}  // namespace splitnic::control
