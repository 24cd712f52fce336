#include "fabric_emul/link/challenge.h"

#include <array>
#include <cstring>

#include "base/endian.h"

namespace splitnic::fabric {

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
