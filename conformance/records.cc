#include "conformance/records.h"

#include <utility>

#include "base/check.h"

namespace splitnic::conformance {
namespace {

std::unique_ptr<session::Aead> aead_with(const session::Secret& key) {
  auto aead = session::make_aead(session::AeadProvider::kOpenSsl);
  aead->set_key(key);
  return aead;
}

}  // namespace

Records::Keys Records::keys_of(std::uint32_t local, std::uint32_t remote,
                               const session::TransportKeys& keys) {
  return {local, remote, aead_with(keys.send), aead_with(keys.receive)};
}

void Records::take(Keys keys) {
  previous_ = std::exchange(current_, std::move(keys));
  next_counter_ = 0;
}

void Records::forget() {
  current_ = {};
  previous_ = {};
  next_counter_ = 0;
}

std::vector<std::byte> Records::seal(base::Bytes plain, std::optional<std::uint64_t> counter,
                                     std::uint8_t flags, std::uint8_t reserved) {
  constexpr std::size_t kReservedAt = 2;  // P-KEY-5
  CHECK(has_keys());
  const std::uint64_t number = counter ? *counter : next_counter_++;
  std::vector<std::byte> record(plain.size() + session::kDataOverheadBytes);
  const base::MutableBytes room = session::begin_data(record, flags, current_.remote, number);
  record[kReservedAt] = std::byte{reserved};
  current_.sealing->seal(room, plain, session::nonce_of(number), session::Data::header(record));
  return record;
}

std::optional<std::vector<std::byte>> Records::open_with(const Keys& keys, base::Bytes record) {
  if (session::type_of(record) != session::MessageType::kData) return std::nullopt;
  if (keys.opening == nullptr || keys.local != session::Data::receiver(record)) return std::nullopt;
  std::vector<std::byte> plain(record.size() - session::kDataOverheadBytes);
  const auto nonce = session::nonce_of(session::Data::counter(record));
  if (!keys.opening->open(plain, session::Data::sealed(record), nonce,
                          session::Data::header(record))) {
    return std::nullopt;
  }
  return plain;
}

std::optional<std::vector<std::byte>> Records::open(base::Bytes record) {
  auto plain = open_with(current_, record);
  return plain ? plain : open_with(previous_, record);
}

}  // namespace splitnic::conformance
