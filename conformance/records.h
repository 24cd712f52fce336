// Seals and opens the records of a keyed link: under the present keys, and opens those under the
// previous keys too. It has the keys and the counters; the caller runs the handshakes that they
// come from and decides when to use them. docs/protocol/session.md#keys  Thread: its owner.
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

  // Returns a record under the present keys with this counter, or with the next one, which is then
  // used up. `reserved`: the first reserved byte of its header, which the tag covers.
  // REQUIRES has_keys().
  std::vector<std::byte> seal(base::Bytes plain, std::optional<std::uint64_t> counter = {},
                              std::uint8_t flags = 0, std::uint8_t reserved = 0);
  // Returns the content of a record under the present or the previous keys; nothing if neither
  // opens it.
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
  // Makes these the present keys and the present ones the previous.
  void take(Keys keys);
  // Drops all keys, as a new process has none.
  void forget();

 private:
  Keys current_, previous_;
  std::uint64_t next_counter_ = 0;
};

}  // namespace splitnic::conformance
