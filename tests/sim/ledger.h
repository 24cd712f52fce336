// The frames put in and the frames that came out, one direction: every frame at most once,
// unchanged, in the order of its flow. Frames carry their number and a pattern that follows from
// it. Violations are kept as text, not thrown.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/endian.h"
#include "lan_bridge/frame_port.h"

namespace splitnic::sim {

class Ledger {
 public:
  static constexpr std::size_t kHead = lan::kVnetHeaderBytes + 14;
  static constexpr std::size_t kFrameMin = kHead + 16;

  // The flows alternate frame by frame; they differ by their ethertype. REQUIRES 1 to kFlowsMax.
  static constexpr std::size_t kFlowsMax = 16;
  Ledger(std::string name, const lan::MacAddress& from, const lan::MacAddress& to,
         std::size_t flows = 1)
      : name_(std::move(name)), from_(from), to_(to), flows_(flows) {
    CHECK(flows >= 1 && flows <= kFlowsMax);
    for (std::size_t i = 0; i < flows; ++i) next_[i] = i;
  }

  // A new frame, vnet header and Ethernet header included. REQUIRES bytes >= kFrameMin.
  std::vector<std::byte> make(std::size_t bytes) {
    CHECK(bytes >= kFrameMin);
    std::vector<std::byte> frame(bytes);
    std::byte* at = frame.data() + lan::kVnetHeaderBytes;
    std::memcpy(at, to_.data(), 6);
    std::memcpy(at + 6, from_.data(), 6);
    const std::uint64_t number = lengths_.size();
    base::store_be(at + 12, static_cast<std::uint16_t>(0x88B5 + number % flows_));
    base::store_be<std::uint64_t>(at + 14, number);
    base::store_be<std::uint64_t>(at + 22, bytes);
    fill(base::MutableBytes(frame).subspan(kFrameMin), number);
    lengths_.push_back(bytes);
    return frame;
  }
  void take(base::Bytes frame) {
    ++taken_;
    if (frame.size() < kFrameMin) return fail("a frame that is too short");
    const auto number = base::load_be<std::uint64_t>(frame.data() + kHead);
    if (number >= lengths_.size()) return fail("a frame that was never sent");
    if (frame.size() != lengths_[number])
      return fail("another length of frame " + std::to_string(number));
    if (!is_filled(frame.subspan(kFrameMin), number)) {
      return fail("frame " + std::to_string(number) + " changed");
    }
    std::uint64_t& next = next_[number % flows_];
    if (number < next) return fail("frame " + std::to_string(number) + " twice or late");
    if (number > next) ++gaps_;
    next = number + flows_;
    if (number >= mark_) ++taken_since_mark_;
    hash_ = (hash_ ^ number ^ (frame.size() << 40)) * 0x100000001B3ULL;
  }
  // From here on all that is sent is to arrive.
  void mark() {
    mark_ = lengths_.size();
    taken_since_mark_ = 0;
  }
  bool all_arrived_since_mark() const { return taken_since_mark_ == lengths_.size() - mark_; }

  std::uint64_t sent() const { return lengths_.size(); }
  std::uint64_t taken() const { return taken_; }
  std::uint64_t gaps() const { return gaps_; }
  std::uint64_t hash() const { return hash_; }
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  // A period of 251 bytes, entered at a place that depends on the number: no two neighbours are
  // alike.
  static constexpr std::size_t kPeriod = 251;
  static const std::array<std::byte, 2 * kPeriod>& pattern() {
    static const auto table = [] {
      std::array<std::byte, 2 * kPeriod> t;
      for (std::size_t i = 0; i < t.size(); ++i)
        t[i] = static_cast<std::byte>((i % kPeriod) * 7 + 3);
      return t;
    }();
    return table;
  }
  static const std::byte* start(std::uint64_t number) {
    return pattern().data() + number * 37 % kPeriod;
  }
  static void fill(base::MutableBytes out, std::uint64_t number) {
    for (std::size_t i = 0; i < out.size(); i += kPeriod) {
      std::memcpy(out.data() + i, start(number), std::min(kPeriod, out.size() - i));
    }
  }
  static bool is_filled(base::Bytes in, std::uint64_t number) {
    for (std::size_t i = 0; i < in.size(); i += kPeriod) {
      if (std::memcmp(in.data() + i, start(number), std::min(kPeriod, in.size() - i)) != 0)
        return false;
    }
    return true;
  }
  void fail(const std::string& what) {
    if (violations_.size() < 10) violations_.push_back(name_ + ": " + what);
  }

  std::string name_;
  lan::MacAddress from_, to_;
  std::vector<std::size_t> lengths_;
  std::uint64_t taken_ = 0;
  std::uint64_t flows_;
  std::array<std::uint64_t, kFlowsMax> next_{};  // of each flow
  std::uint64_t gaps_ = 0;
  std::uint64_t mark_ = 0;
  std::uint64_t taken_since_mark_ = 0;
  std::uint64_t hash_ = 0xCBF29CE484222325ULL;
  std::vector<std::string> violations_;
};

}  // namespace splitnic::sim
