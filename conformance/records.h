// Records of a keyed link: sealed under the present keys, opened under these and the ones before.
// Keys and counters are here; which handshake they come from, and when to use them, is the
// caller's. docs/protocol/session.md#keys
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "fabric_emul/session/aead.h"
#include "fabric_emul/session/messages.h"
#include "fabric_emul/session/noise.h"

namespace splitnic::conformance {

namespace session = fabric::session;

class Records {
 public:
  virtual ~Records() = default;
  bool has_keys() const { return current_.sealing != nullptr; }

  // A record, with the next counter unless another one is given. REQUIRES has_keys().
  std::vector<std::byte> seal(base::Bytes plain, std::optional<std::uint64_t> counter = {},
                              std::uint8_t flags = 0);
  // Returns the content of a record under the present keys or the ones before; else nothing.
  virtual std::optional<std::vector<std::byte>> open(base::Bytes record);

  std::uint64_t next_counter() const { return next_counter_; }
  void set_next_counter(std::uint64_t counter) { next_counter_ = counter; }
  std::uint32_t index() const { return current_.local; }

 protected:
  Records() = default;
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  struct Keys {
    std::uint32_t local = 0, remote = 0;
    std::unique_ptr<session::Aead> sealing, opening;
  };
  static Keys keys_of(std::uint32_t local, std::uint32_t remote,
                      const session::TransportKeys& keys);
  static std::optional<std::vector<std::byte>> open_with(const Keys& keys, base::Bytes record);
  // These are the present keys from now on.
  void take(Keys keys);
  // No keys at all, as a new process has them.
  void forget();

 private:
  Keys current_, previous_;
  std::uint64_t next_counter_ = 0;
};

}  // namespace splitnic::conformance
