#include "lan_bridge/frame/flow.h"

#include "base/endian.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/frame_layout.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::lan {
namespace {

// Each word changes every bit of the state: it is multiplied by the increment of SplitMix64
// (Steele, Lea and Flood, OOPSLA 2014), 2^64 / the golden ratio. The last step is the finaliser of
// SplitMix64, without its last shift, which leaves the high half unchanged.
class Mixer {
 public:
  void add(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9E3779B97F4A7C15ULL;
    state_ ^= state_ >> 29;
  }
  std::uint32_t finish() {
    state_ = (state_ ^ (state_ >> 30)) * 0xBF58476D1CE4E5B9ULL;
    state_ = (state_ ^ (state_ >> 27)) * 0x94D049BB133111EBULL;
    return static_cast<std::uint32_t>(state_ >> 32);
  }

 private:
  std::uint64_t state_ = 0x243F6A8885A308D3ULL;
};

std::uint64_t word64(base::Bytes frame, std::size_t at) {
  return base::load_be<std::uint64_t>(frame.data() + at);
}

}  // namespace

std::uint32_t flow_of(base::Bytes frame) {
  const auto layout = layout_of(frame);
  if (!layout) return 0;
  const base::Bytes ethernet = frame.subspan(VnetHeader::kBytes);
  Mixer mixer;
  mixer.add(word64(ethernet, 0));
  mixer.add(base::load_be<std::uint32_t>(ethernet.data() + 8));
  mixer.add(layout->ethertype);
  const std::size_t ip = layout->l3_offset;
  if (layout->l3 == L3::kIp4) mixer.add(word64(ethernet, ip + 12));
  if (layout->l3 == L3::kIp6) {
    for (std::size_t at = ip + 8; at < ip + 40; at += 8) mixer.add(word64(ethernet, at));
  }
  if (layout->l4 != L4::kOther) {
    mixer.add(static_cast<std::uint64_t>(layout->l4) << 32 |
              base::load_be<std::uint32_t>(ethernet.data() + layout->l4_offset));
  }
  return mixer.finish();
}

}  // namespace splitnic::lan
