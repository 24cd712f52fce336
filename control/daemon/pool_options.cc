#include "control/daemon/pool_options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/named_value.h"
#include "control/config/ip_address.h"
#include "control/config/values.h"
#include "lan_bridge/frame/flow_fields.h"
#include "messaging/wire/flow_context.h"
#include "messaging/wire/idata.h"

namespace splitnic::control {
namespace {

using messaging::PoolSpec;

constexpr std::uint32_t kElementsMax = messaging::kIdataPools * messaging::kIdataElements;
constexpr std::uint64_t kPoolBytesMax = std::uint64_t{1} << 32;
// Of --idata offset, where --pool does not name one: as much as its form can name.
constexpr PoolSpec kOffsetPool{64, 65536};

struct ContextField {
  std::string_view name;
  std::uint32_t max;
  unsigned shift;
};
constexpr auto kContextFields = std::to_array<ContextField>(
    {{"source-port", 65535, 48}, {"destination-port", 65535, 32}, {"source", 0xFFFF'FFFF, 0}});

constexpr auto kIdataForms = std::to_array<base::NamedValue<std::optional<messaging::IdataForm>>>(
    {{"pool", messaging::IdataForm::kPoolElement},
     {"offset", messaging::IdataForm::kOffsetLength},
     {"message", std::nullopt}});
constexpr auto kChannels = std::to_array<base::NamedValue<messaging::Channels>>(
    {{"1", messaging::Channels::kOne},
     {"2", messaging::Channels::kTwo},
     {"separate", messaging::Channels::kSeparate}});

// Nothing if it is no value of this field, or 0.
std::optional<std::uint64_t> parse_field(const ContextField& field, std::string_view value) {
  std::uint64_t number = 0;
  if (field.name == "source") {
    const auto address = parse_ip(value);
    if (!address || !address->is_v4()) return std::nullopt;
    number = address->to_v4().to_uint();
  } else if (const auto port = parse_number(value, field.max); port) {
    number = *port;
  }
  if (number == 0) return std::nullopt;
  return number << field.shift;
}

// NAME=VALUE,NAME=VALUE
base::Result<std::uint64_t> parse_context(std::string_view text) {
  std::uint64_t context = 0;
  for (;;) {
    const std::size_t end = text.find(',');
    const std::string_view one = text.substr(0, end);
    const std::size_t equals = std::min(one.find('='), one.size());
    const auto field =
        std::ranges::find(kContextFields, one.substr(0, equals), &ContextField::name);
    if (field == kContextFields.end() || equals == one.size()) {
      return base::Error("'" + std::string(one) +
                         "' is none of source-port=N, destination-port=N and source=ADDRESS");
    }
    const auto value = parse_field(*field, one.substr(equals + 1));
    if (!value) {
      return base::Error("'" + std::string(one) +
                         "' is not a port from 1 to 65535, or an IPv4 "
                         "address");
    }
    if (((context >> field->shift) & field->max) != 0) {
      return base::Error("'" + std::string(one) + "': " + std::string(field->name) +
                         " is given twice");
    }
    context |= *value;
    if (end == std::string_view::npos) return context;
    text.remove_prefix(end + 1);
  }
}

base::Status check_contexts(const std::vector<PoolSpec>& pools) {
  std::vector<std::uint64_t> contexts;
  bool has_general = pools.empty();
  for (const PoolSpec& pool : pools) {
    if (pool.context == 0) has_general = true;
    if (pool.context != 0 && std::ranges::find(contexts, pool.context) == contexts.end()) {
      contexts.push_back(pool.context);
    }
  }
  if (!has_general) {
    return base::Error("--pool: every pool has a context: add one without, for all other frames");
  }
  if (contexts.size() > messaging::kFlowContextsMax) {
    return base::Error("--pool: more than " + std::to_string(messaging::kFlowContextsMax) +
                       " contexts");
  }
  return {};
}

base::Status check_amount(const std::vector<PoolSpec>& pools) {
  std::uint64_t references = 0;
  std::uint64_t bytes = 0;
  for (const PoolSpec& pool : pools) {
    references += (pool.count + messaging::kIdataElements - 1) / messaging::kIdataElements;
    bytes += std::uint64_t{pool.count} * pool.size;
  }
  if (references > messaging::kIdataPools) {
    return base::Error("--pool: more than " + std::to_string(messaging::kIdataPools) +
                       " pools of " + std::to_string(messaging::kIdataElements) +
                       " elements in all");
  }
  if (bytes > kPoolBytesMax) return base::Error("--pool: more than 4 GiB in all");
  return {};
}

bool suits_offset(const std::vector<PoolSpec>& pools) {
  if (pools.size() != 1) return false;
  const std::uint64_t bytes = std::uint64_t{pools[0].count} * pools[0].size;
  return messaging::OffsetLengthIdata::suits(bytes, pools[0].size);
}

}  // namespace

base::Result<PoolSpec> parse_pool(const std::string& text) {
  const std::string_view whole = text;
  const std::size_t comma = whole.find(',');
  const std::string_view shape = whole.substr(0, comma);
  const std::size_t x = shape.find('x');
  if (x != std::string_view::npos) {
    const auto count = parse_number(shape.substr(0, x), kElementsMax);
    const auto size = parse_number(shape.substr(x + 1), messaging::kIdataBytesMax);
    if (count && *count > 0 && size && *size >= kElementBytesMin) {
      PoolSpec pool{static_cast<std::uint32_t>(*count), static_cast<std::uint32_t>(*size)};
      if (comma == std::string_view::npos) return pool;
      const auto context = parse_context(whole.substr(comma + 1));
      if (!context) return context.error();
      pool.context = *context;
      return pool;
    }
  }
  return base::Error("'" + text + "' is not COUNTxSIZE like 1024x2048, with 1 to " +
                     std::to_string(kElementsMax) + " elements of " +
                     std::to_string(kElementBytesMin) + " to " +
                     std::to_string(messaging::kIdataBytesMax) + " bytes");
}

std::string pool_context_text(std::uint64_t context) {
  std::string text;
  for (const ContextField& field : kContextFields) {
    const auto value = static_cast<std::uint32_t>((context >> field.shift) & field.max);
    if (value == 0) continue;
    text += (text.empty() ? "" : ",") + std::string(field.name) + "=";
    text += field.name == "source" ? boost::asio::ip::address_v4(value).to_string()
                                   : std::to_string(value);
  }
  return text;
}

std::string default_pools_text() {
  std::string text;
  for (const PoolSpec& pool : messaging::kDefaultPools) {
    text += (text.empty() ? "" : " and ") + std::to_string(pool.count) + "x" +
            std::to_string(pool.size);
  }
  return text;
}

base::Status check_pools(const std::vector<std::string>& typed, const std::string& idata,
                         messaging::PairConfig& out) {
  std::vector<PoolSpec> pools;
  for (const std::string& text : typed) {
    const auto pool = parse_pool(text);
    if (!pool) return pool.error().within("--pool");
    pools.push_back(*pool);
  }
  if (auto checked = check_amount(pools); !checked) return checked;
  if (auto checked = check_contexts(pools); !checked) return checked;
  std::stable_sort(pools.begin(), pools.end(),
                   [](const PoolSpec& a, const PoolSpec& b) { return a.size < b.size; });

  const auto form = base::value_named(kIdataForms, idata);
  if (!form) {
    return base::Error("--idata: '" + idata + "' is none of pool, offset and message");
  }
  out.idata_form = *form;
  if (out.idata_form == messaging::IdataForm::kOffsetLength) {
    if (pools.empty()) pools = {kOffsetPool};
    if (!suits_offset(pools)) {
      return base::Error(
          "--idata: offset needs exactly one --pool, of at most 4 MiB, with elements of a multiple "
          "of 64 bytes");
    }
  }
  if (pools.empty()) pools.assign(messaging::kDefaultPools.begin(), messaging::kDefaultPools.end());
  out.pools = std::move(pools);
  return {};
}

const char* idata_name(std::optional<messaging::IdataForm> form) {
  return base::name_of(kIdataForms, form);
}

base::Status check_channels(const std::string& typed, messaging::PairConfig& out) {
  const auto channels = base::value_named(kChannels, typed);
  if (!channels) {
    return base::Error("--channels: '" + typed + "' is none of 1, 2 and separate");
  }
  if (*channels == messaging::Channels::kOne && out.mode != messaging::Mode::kRdma) {
    return base::Error("--channels: 1 is for --mode rdma");
  }
  if (*channels == messaging::Channels::kSeparate && out.mode != messaging::Mode::kSend) {
    return base::Error("--channels: separate is for --mode send");
  }
  out.channels = *channels;
  return {};
}

const char* channels_name(messaging::Channels channels) {
  return base::name_of(kChannels, channels);
}

std::uint64_t flow_context_of(base::Bytes frame) {
  const lan::FlowFields fields = lan::flow_fields_of(frame);
  return messaging::flow_context(fields.source_port, fields.destination_port,
                                 fields.source_address);
}

}  // namespace splitnic::control
