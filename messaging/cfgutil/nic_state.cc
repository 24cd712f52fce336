#include "messaging/cfgutil/nic_state.h"

#include <openssl/evp.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "base/endian.h"

namespace splitnic::messaging {
namespace {

template <typename T>
void put(std::string& out, T value) {
  std::array<std::byte, sizeof(T)> raw;
  base::store_be(raw.data(), value);
  out += base::as_text(raw);
}

void put(std::string& out, const NicState::Mac& mac) { out.append(mac.begin(), mac.end()); }

// Appends the number of entries (32), then the entries in rising order.
template <typename T>
void put_sorted(std::string& out, std::vector<T> list) {
  std::ranges::sort(list);
  put(out, static_cast<std::uint32_t>(list.size()));
  for (const T& entry : list) put(out, entry);
}

}  // namespace

std::string NicState::bytes() const {
  std::string out;
  put(out, mac);
  std::uint8_t flags = 0;
  unsigned bit = 0;
  for (const bool flag : {promiscuous, all_multicast, no_unicast, no_multicast, no_broadcast}) {
    if (flag) flags = static_cast<std::uint8_t>(flags | 1U << bit);
    ++bit;
  }
  put(out, flags);
  put_sorted(out, unicast);
  put_sorted(out, multicast);
  put_sorted(out, vlans);
  put(out, pvid);
  put(out, mtu);
  put(out, offloads);
  // An I/O unit that does not serve these three settings has the same digest without them.
  if (queues == 0 && coalescing == Coalescing{} && qos.empty()) return out;
  put(out, queues);
  put(out, coalescing.microseconds);
  put(out, coalescing.frames);
  put(out, coalescing.bytes);
  put(out, static_cast<std::uint8_t>(coalescing.is_adaptive));
  out.append(qos.priorities.begin(), qos.priorities.end());
  out.append(qos.code_points.begin(), qos.code_points.end());
  return out;
}

std::string NicState::digest() const {
  const std::string in = bytes();
  std::array<unsigned char, EVP_MAX_MD_SIZE> out;
  unsigned length = 0;
  CHECK(EVP_Digest(in.data(), in.size(), out.data(), &length, EVP_sha256(), nullptr) == 1);
  return {out.begin(), out.begin() + length};
}

}  // namespace splitnic::messaging
