#include "fabric_emul/session/key_log.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/endian.h"
#include "base/hex.h"
#include "fabric_emul/session/messages.h"

namespace splitnic::fabric::session {
namespace {

constexpr std::string_view kWord = "RECORD ";
constexpr std::size_t kIndexDigits = 8;
constexpr std::size_t kLineBytes = kWord.size() + kIndexDigits + 1 + 2 * kKeyBytes;

}  // namespace

std::string text_of(const KeyLogEntry& entry) {
  std::string line(kWord);
  std::array<std::byte, 4> index{};
  base::store_be(index.data(), entry.index);
  base::put_hex(line, index);
  line += ' ';
  base::put_hex(line, entry.key.bytes());
  return line + "\n";
}

std::optional<KeyLogEntry> parse_key_log_line(std::string_view line) {
  if (line.size() != kLineBytes || !line.starts_with(kWord)) return std::nullopt;
  line.remove_prefix(kWord.size());
  std::array<std::byte, 4> index{};
  KeyLogEntry entry;
  if (line[kIndexDigits] != ' ' || !base::parse_hex(line.substr(0, kIndexDigits), index) ||
      !base::parse_hex(line.substr(kIndexDigits + 1), entry.key.mutable_bytes())) {
    return std::nullopt;
  }
  entry.index = base::load_be<std::uint32_t>(index.data());
  return entry;
}

// With any rest it would be one.
bool is_cut_key_log_line(std::string_view line) {
  if (line.size() >= kLineBytes) return false;
  std::string whole = text_of(KeyLogEntry{});
  whole.pop_back();
  whole.replace(0, line.size(), line);
  return parse_key_log_line(whole).has_value();
}

void RecordOpener::add(const KeyLogEntry& entry) {
  Key key{make_aead(best_aead_provider()), {}};
  CHECK(key.aead != nullptr);
  key.aead->set_key(entry.key);
  keys_.emplace(entry.index, std::move(key));
}

RecordOpener::Opened RecordOpener::open(base::Bytes datagram, std::vector<std::byte>& plain) {
  const auto type = type_of(datagram);
  if (!type || *type != MessageType::kData) return Opened::kNotRecord;
  const auto [begin, end] = keys_.equal_range(Data::receiver(datagram));
  if (begin == end) return Opened::kNoKey;
  const std::uint64_t counter = Data::counter(datagram);
  plain.resize(datagram.size() - kDataOverheadBytes);
  for (auto at = begin; at != end; ++at) {
    Key& key = at->second;
    if (!key.aead->open(plain, Data::sealed(datagram), nonce_of(counter), Data::header(datagram))) {
      continue;
    }
    const bool is_new = key.window.accept(counter) != ReplayWindow::Verdict::kRefused;
    return is_new ? Opened::kGood : Opened::kReplay;
  }
  return Opened::kTag;
}

std::size_t first_record_bytes(base::Bytes datagram) {
  const auto type = type_of(datagram);
  if (!type || *type != MessageType::kData) return datagram.size();
  std::array<std::byte, kDataOverheadBytes> next{};
  begin_data(next, Data::flags(datagram), Data::receiver(datagram), Data::counter(datagram) + 1);
  const base::Bytes header = Data::header(next);
  const base::Bytes rest = datagram.subspan(kDataOverheadBytes);
  const auto found = std::search(rest.begin(), rest.end(), header.begin(), header.end());
  return kDataOverheadBytes + static_cast<std::size_t>(found - rest.begin());
}

}  // namespace splitnic::fabric::session
