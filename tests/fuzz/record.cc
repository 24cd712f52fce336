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
constexpr std::uint64_t kSealedMax = 2 * kLongRecordWeight;

RecordKeys keys_of(const SessionConfig& config, std::byte send, std::byte receive) {
  Secret sending;
  Secret receiving;
  sending.mutable_bytes().fill(send);
  receiving.mutable_bytes().fill(receive);
  return {config, {sending, receiving, {}}, {{}, 7, base::Time(), 1}};
}

Opened open(RecordKeys& keys, base::Time now, base::Bytes record) {
  std::vector<std::byte> plain(record.size() - kDataOverheadBytes);
  return keys.open(now, plain, record);
}

// The input as lengths of records that are sealed, each byte 16 bytes: a record of more than
// 2048 bytes counts 32 times, and the limits hold.
void seal_lengths(base::Bytes in) {
  SessionConfig config;
  config.records.rekey_records = kLongRecordWeight;
  config.records.reject_records = kSealedMax;
  RecordKeys keys = keys_of(config, std::byte{3}, std::byte{4});
  std::uint64_t weight = 0;
  for (const std::byte length : in.first(std::min<std::size_t>(in.size(), 64))) {
    CHECK(keys.wants_rekey({}) == (weight >= kLongRecordWeight));
    CHECK(keys.may_seal({}, 1) == (weight + kLongRecordWeight <= kSealedMax));
    if (!keys.may_seal({}, 1)) break;
    const Record plain(std::to_integer<std::size_t>(length) * 16, std::byte{0x5A});
    Record sealed(plain.size() + kDataOverheadBytes);
    keys.seal(sealed, plain, 0);
    weight += plain.size() > kShortRecordBytes ? kLongRecordWeight : 1;
  }
  CHECK(keys.wants_rekey(base::Time() + config.records.rekey_after));
  CHECK(!keys.may_seal(base::Time() + config.records.reject_after, 1));
}

}  // namespace

// Records of every length up to 15 bytes. As it was sealed each opens once; changed or shortened it
// never opens, and neither does the input as a record. After kOpenedMax good ones, or kFailedMax
// bad ones, or when they are too old, the keys open none any more. The key log has both keys of
// each end, under the numbers by which the other end names them.
void record(base::Bytes in) {
  seal_lengths(in);
  SessionConfig config;
  std::vector<KeyLogEntry> logged;
  config.log_key = [&](const KeyLogEntry& entry) { logged.push_back(entry); };
  config.records.failed_opens_max = kFailedMax;
  RecordKeys sender = keys_of(config, std::byte{1}, std::byte{2});
  std::array<Record, kRecords> records;
  for (std::size_t i = 0; i < kRecords; ++i) {
    records[i].resize(i + kDataOverheadBytes);
    sender.seal(records[i], Record(i, std::byte{0xA5}), 0);
  }
  config.records.reject_records = kOpenedMax;
  RecordKeys receiver = keys_of(config, std::byte{2}, std::byte{1});
  CHECK(logged.size() == 4);
  CHECK(std::ranges::equal(logged[0].key.bytes(), logged[3].key.bytes()));
  CHECK(std::ranges::equal(logged[1].key.bytes(), logged[2].key.bytes()));
  std::uint64_t good = 0;
  std::uint64_t bad = 0;
  base::Time now;
  if (type_of(in) == MessageType::kData) {
    CHECK(open(receiver, now, in) == Opened::kTag);
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
    now += std::chrono::seconds(std::to_integer<unsigned>(in[at + 3]) / 16);
    const Opened opened = open(receiver, now, changed);
    if (good == kOpenedMax || bad == kFailedMax || now >= receiver.reject_at()) {
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
