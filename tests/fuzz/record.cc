#include "fabric_emul/session/record_keys.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/endian.h"
#include "tests/fuzz/targets.h"

namespace splitnic::fuzz {
namespace {

using namespace fabric::session;
using Opened = RecordKeys::Opened;
using Record = std::vector<std::byte>;

constexpr std::size_t kRecords = 16;
constexpr std::uint64_t kOpenedMax = 12;
constexpr std::uint64_t kFailedMax = 48;

RecordKeys keys_of(const SessionConfig& config, std::byte send, std::byte receive) {
  Secret sending;
  Secret receiving;
  sending.mutable_bytes().fill(send);
  receiving.mutable_bytes().fill(receive);
  return {config, {sending, receiving, {}}, {{}, 7, base::Time(), 1}};
}

Opened open(RecordKeys& keys, base::Bytes record) {
  std::vector<std::byte> plain(record.size() - kDataOverheadBytes);
  return keys.open(base::Time(), plain, record);
}

}  // namespace

// Records of every length up to 15 bytes. As it was sealed each opens once; changed or shortened it
// never opens, and neither does the input as a record. After kOpenedMax good ones, or kFailedMax
// bad ones, the keys open none any more.
void record(base::Bytes in) {
  SessionConfig config;
  config.records.failed_opens_max = kFailedMax;
  RecordKeys sender = keys_of(config, std::byte{1}, std::byte{2});
  std::array<Record, kRecords> records;
  for (std::size_t i = 0; i < kRecords; ++i) {
    records[i].resize(i + kDataOverheadBytes);
    sender.seal(records[i], Record(i, std::byte{0xA5}), 0);
  }
  config.records.reject_records = kOpenedMax;
  RecordKeys receiver = keys_of(config, std::byte{2}, std::byte{1});
  std::uint64_t good = 0;
  std::uint64_t bad = 0;
  if (type_of(in) == MessageType::kData) {
    CHECK(open(receiver, in) == Opened::kTag);
    ++bad;
  }
  std::array<bool, kRecords> has_opened{};
  for (std::size_t at = 0; at + 4 <= in.size(); at += 4) {
    const auto which = std::to_integer<std::size_t>(in[at]) % kRecords;
    Record changed = records[which];
    const std::size_t place = std::to_integer<std::size_t>(in[at + 1]) % changed.size();
    changed[place] ^= in[at + 2];
    const std::size_t cut = std::to_integer<std::size_t>(in[at + 3]) % 4;
    changed.resize(std::max(changed.size() - cut, kDataOverheadBytes));
    const Opened opened = open(receiver, changed);
    if (good == kOpenedMax || bad == kFailedMax) {
      CHECK(opened == Opened::kExpired);
    } else if (changed != records[which]) {
      CHECK(opened == Opened::kTag);
      ++bad;
    } else if (has_opened[which]) {
      CHECK(opened == Opened::kReplay);
    } else {
      CHECK(opened == Opened::kGood || opened == Opened::kGoodHighest);
      has_opened[which] = true;
      ++good;
    }
  }
}

}  // namespace splitnic::fuzz
