#include "control/nic_request.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "control/values.h"
#include "lan_bridge/frame/offload.h"

namespace splitnic::control {
namespace {

using Kind = NicRequest::Kind;

constexpr std::size_t kGroupBytesMax = 32;
constexpr std::uint32_t kVlanMax = 4094;

constexpr auto kFeatures = std::to_array<Feature>({
    {lan::kOffloadChecksum, "tx-checksumming", "tx"},
    {lan::kOffloadTso4, "tx-tcp-segmentation", "tso"},
    {lan::kOffloadTso6, "tx-tcp6-segmentation", "tso6"},
    {lan::kOffloadUso, "tx-udp-segmentation", "uso"},
});

struct Word {
  std::string_view text;
  Kind kind;
};
constexpr auto kWords = std::to_array<Word>({
    {"link", Kind::kLink},
    {"driver", Kind::kDriver},
    {"address", Kind::kAddress},
    {"channels", Kind::kChannels},
    {"features", Kind::kFeatures},
    {"set-features", Kind::kSetFeatures},
    {"statistics", Kind::kStatistics},
    {"clear-statistics", Kind::kClearStatistics},
    {"reset", Kind::kReset},
    {"vlans", Kind::kVlans},
    {"vlan-add", Kind::kVlanAdd},
    {"vlan-del", Kind::kVlanDel},
    {"pvid", Kind::kPvid},
});

// "tso off uso on"
base::Status read_features(const std::string& text, NicRequest& out) {
  std::istringstream words(text);
  std::string name;
  std::string state;
  while (words >> name) {
    const auto* const feature = std::ranges::find_if(
        kFeatures, [&](const Feature& f) { return f.name == name || f.alias == name; });
    if (feature == kFeatures.end()) {
      return base::Error("-K: '" + name + "' is none of tx, tso, tso6 and uso");
    }
    if (!(words >> state) || (state != "on" && state != "off")) {
      return base::Error("-K: " + name + " is on or off");
    }
    if (((out.features_on | out.features_off) & feature->bit) != 0) {
      return base::Error("-K: " + name + " is there twice");
    }
    (state == "on" ? out.features_on : out.features_off) |= feature->bit;
  }
  if ((out.features_on | out.features_off) == 0) {
    return base::Error("-K: a feature and on or off: tx, tso, tso6 or uso");
  }
  return {};
}

}  // namespace

std::span<const Feature> nic_features() { return kFeatures; }

bool only_looks(Kind kind) {
  switch (kind) {
    case Kind::kLink:
    case Kind::kDriver:
    case Kind::kAddress:
    case Kind::kChannels:
    case Kind::kFeatures:
    case Kind::kStatistics:
    case Kind::kVlans:
      return true;
    case Kind::kSetFeatures:
    case Kind::kClearStatistics:
    case Kind::kReset:
    case Kind::kVlanAdd:
    case Kind::kVlanDel:
    case Kind::kPvid:
      return false;
  }
  return false;
}

base::Result<NicRequest> parse_nic_request(const std::string& what, const std::string& value) {
  const auto* const word = std::ranges::find(kWords, what, &Word::text);
  if (word == kWords.end()) return base::Error("the NIC: '" + what + "' is not a request");
  NicRequest out;
  out.kind = word->kind;
  switch (out.kind) {
    case Kind::kStatistics:
    case Kind::kClearStatistics:
      if (value.size() > kGroupBytesMax) return base::Error("the name of the group is too long");
      out.group = value;
      return out;
    case Kind::kSetFeatures:
      if (auto read = read_features(value, out); !read) return read.error();
      return out;
    case Kind::kVlanAdd:
    case Kind::kVlanDel:
    case Kind::kPvid: {
      const auto id = number_option("VLAN", value, 0, kVlanMax);
      if (!id) return id.error();
      out.vlan = static_cast<std::uint16_t>(*id);
      return out;
    }
    default:
      if (!value.empty()) return base::Error("'" + value + "' is one word too many");
      return out;
  }
}

}  // namespace splitnic::control
