#include "fabric_emul/link/challenge.h"

#include <bit>
#include <cstring>

#include "base/endian.h"

namespace splitnic::fabric {
namespace {

struct SipState {
  std::uint64_t a, b, c, d;

  void round() {
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }
  void absorb(std::uint64_t word) {
    d ^= word;
    round();
    round();
    a ^= word;
  }
};

// SipHash reads its words little endian.
std::uint64_t load_le(const std::byte* at) {
  return __builtin_bswap64(base::load_be<std::uint64_t>(at));
}

}  // namespace

std::uint64_t siphash(const SipKey& key, base::Bytes bytes) {
  SipState state{key.k0 ^ 0x736f6d6570736575ULL, key.k1 ^ 0x646f72616e646f6dULL,
                 key.k0 ^ 0x6c7967656e657261ULL, key.k1 ^ 0x7465646279746573ULL};
  const std::size_t whole = bytes.size() / 8 * 8;
  for (std::size_t at = 0; at < whole; at += 8) state.absorb(load_le(bytes.data() + at));
  std::array<std::byte, 8> tail{};
  if (whole < bytes.size()) std::memcpy(tail.data(), bytes.data() + whole, bytes.size() - whole);
  tail[7] = static_cast<std::byte>(bytes.size() & 0xFF);
  state.absorb(load_le(tail.data()));
  state.c ^= 0xFF;
  for (int i = 0; i < 4; ++i) state.round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

Challenge::Challenge(base::Random& random) : random_(random), current_(draw()), previous_(draw()) {}

SipKey Challenge::draw() {
  const std::uint64_t k0 = random_.next();
  return {k0, random_.next()};
}

void Challenge::renew(base::Time now) {
  if (now < renew_at_) return;
  // After a long pause the current key is too old, too.
  previous_ = now - renew_at_ < kLifetime ? current_ : draw();
  current_ = draw();
  renew_at_ = now + std::chrono::duration_cast<base::Time::duration>(kLifetime);
}

namespace {

std::uint64_t token_of(const SipKey& key, const Challenge::Subject& subject) {
  std::array<std::byte, 28 + 3 * 8> bytes{};
  std::memcpy(bytes.data(), subject.address.bytes.data(), subject.address.bytes.size());
  base::store_be(bytes.data() + 28, subject.eui64.value);
  base::store_be(bytes.data() + 36, subject.instance);
  base::store_be(bytes.data() + 44, subject.replaced_instance);
  const std::uint64_t token = siphash(key, bytes);
  return token == 0 ? 1 : token;
}

}  // namespace

std::uint64_t Challenge::token(base::Time now, const Subject& subject) {
  renew(now);
  return token_of(current_, subject);
}

bool Challenge::accepts(base::Time now, const Subject& subject, std::uint64_t token) {
  renew(now);
  return token == token_of(current_, subject) || token == token_of(previous_, subject);
}

}  // namespace splitnic::fabric
