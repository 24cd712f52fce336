#include "control/config/nic_request.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "control/config/values.h"
#include "lan_bridge/frame/offload.h"
#include "lan_bridge/frame/vlan_id.h"

namespace splitnic::control {
namespace {

using Kind = NicRequest::Kind;

constexpr std::size_t kGroupBytesMax = 32;
constexpr std::uint32_t kPriorityMax = 7;
constexpr std::uint32_t kCodePointMax = 63;
constexpr std::size_t kQosChangesMax = 72;  // all priorities and DSCPs

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
    {"rings", Kind::kRings},
    {"features", Kind::kFeatures},
    {"set-features", Kind::kSetFeatures},
    {"statistics", Kind::kStatistics},
    {"clear-statistics", Kind::kClearStatistics},
    {"reset", Kind::kReset},
    {"vlans", Kind::kVlans},
    {"vlan-add", Kind::kVlanAdd},
    {"vlan-del", Kind::kVlanDel},
    {"pvid", Kind::kPvid},
    {"set-channels", Kind::kSetChannels},
    {"coalescing", Kind::kCoalescing},
    {"set-coalescing", Kind::kSetCoalescing},
    {"qos", Kind::kQos},
    {"set-qos", Kind::kSetQos},
    {"clear-qos", Kind::kClearQos},
    {"list", Kind::kList},
    {"filter", Kind::kFilter},
    {"filter-add", Kind::kFilterAdd},
    {"filter-del", Kind::kFilterDel},
    {"filter-multicast", Kind::kFilterGroups},
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

// "combined 2"
base::Status read_channels(const std::string& text, NicRequest& out) {
  std::istringstream words(text);
  std::string name;
  std::string value;
  std::string more;
  words >> name >> value;
  if (name != "combined" || words >> more) return base::Error("-L: combined and a number");
  const auto queues = number_option("-L: combined", value, 1, NicRequest::kQueuesMax);
  if (!queues) return queues.error();
  out.queues = *queues;
  return {};
}

// "adaptive-rx off rx-usecs 50 rx-frames 16"
base::Status read_coalescing(const std::string& text, NicRequest& out) {
  using Change = NicRequest::CoalescingChange;
  Change& change = out.coalescing;
  std::istringstream words(text);
  std::string name;
  std::string value;
  while (words >> name) {
    words >> value;
    if (!words) return base::Error("-C: " + name + " has no value");
    if (name == "adaptive-rx") {
      if (value != "on" && value != "off") return base::Error("-C: adaptive-rx is on or off");
      change.is_adaptive = value == "on";
      continue;
    }
    const bool is_time = name == "rx-usecs";
    const bool is_count = name == "rx-frames";
    if (!is_time && !is_count && name != "rx-bytes") {
      return base::Error("-C: '" + name +
                         "' is none of adaptive-rx, rx-usecs, rx-frames and rx-bytes");
    }
    const std::uint32_t most = is_time    ? Change::kMicrosecondsMax
                               : is_count ? Change::kFramesMax
                                          : Change::kBytesMax;
    const auto number = number_option("-C: " + name, value, 0, most);
    if (!number) return number.error();
    (is_time ? change.microseconds : is_count ? change.frames : change.bytes) = *number;
  }
  if (change == Change{}) {
    return base::Error("-C: adaptive-rx on|off, rx-usecs N, rx-frames N or rx-bytes N");
  }
  return {};
}

// "pcp 5 3 dscp 46 none"
base::Status read_qos(const std::string& text, NicRequest& out) {
  std::istringstream words(text);
  std::string name;
  std::string number;
  std::string level;
  while (words >> name) {
    words >> number >> level;
    if (!words || (name != "pcp" && name != "dscp")) {
      return base::Error("qos: pcp PRIORITY LEVEL or dscp NUMBER LEVEL, and more of them");
    }
    NicRequest::QosChange change{.is_code_point = name == "dscp"};
    const auto which = number_option("qos: " + name, number, 0,
                                     change.is_code_point ? kCodePointMax : kPriorityMax);
    if (!which) return which.error();
    change.number = static_cast<std::uint8_t>(*which);
    if (level != "none") {
      const auto to = number_option("qos: the level", level, 0, NicRequest::kLevelMax);
      if (!to) return to.error();
      change.level = static_cast<std::uint8_t>(*to);
    }
    out.qos.push_back(change);
    if (out.qos.size() > kQosChangesMax) return base::Error("qos: too many at once");
  }
  if (out.qos.empty()) return base::Error("qos: pcp PRIORITY LEVEL or dscp NUMBER LEVEL");
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
    case Kind::kRings:
    case Kind::kFeatures:
    case Kind::kStatistics:
    case Kind::kVlans:
    case Kind::kCoalescing:
    case Kind::kQos:
    case Kind::kList:
    case Kind::kFilter:
      return true;
    case Kind::kSetFeatures:
    case Kind::kClearStatistics:
    case Kind::kReset:
    case Kind::kVlanAdd:
    case Kind::kVlanDel:
    case Kind::kPvid:
    case Kind::kSetChannels:
    case Kind::kSetCoalescing:
    case Kind::kSetQos:
    case Kind::kClearQos:
    case Kind::kFilterAdd:
    case Kind::kFilterDel:
    case Kind::kFilterGroups:
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
      const auto id = number_option("VLAN", value, 0, lan::kVlanIdMax);
      if (!id) return id.error();
      out.vlan = static_cast<std::uint16_t>(*id);
      return out;
    }
    case Kind::kFilterAdd:
    case Kind::kFilterDel: {
      const auto mac = parse_any_mac(value);
      if (!mac) return mac.error();
      if (*mac == lan::MacAddress{} || lan::is_broadcast(*mac)) {
        return base::Error("filter: " + value + " is no address of one NIC or of a group");
      }
      out.mac = *mac;
      return out;
    }
    case Kind::kFilterGroups:
      if (value != "all" && value != "listed")
        return base::Error("filter: multicast all or listed");
      out.all_multicast = value == "all";
      return out;
    case Kind::kSetChannels:
      if (auto read = read_channels(value, out); !read) return read.error();
      return out;
    case Kind::kSetCoalescing:
      if (auto read = read_coalescing(value, out); !read) return read.error();
      return out;
    case Kind::kSetQos:
      if (auto read = read_qos(value, out); !read) return read.error();
      return out;
    default:
      if (!value.empty()) return base::Error("'" + value + "' is one word too many");
      return out;
  }
}

}  // namespace splitnic::control
