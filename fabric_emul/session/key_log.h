// The log of the keys of records, and the opening of captured records with it: what `--key-log`
// writes and `splitnic decrypt` reads. A key opens the records with one receiver index, in one
// direction of one handshake. Pure. docs/wireshark.md#keyed-links
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "fabric_emul/session/aead.h"
#include "fabric_emul/session/replay_window.h"
#include "fabric_emul/session/secret.h"

namespace splitnic::fabric::session {

struct KeyLogEntry {
  std::uint32_t index = 0;  // the receiver's, in the records
  Secret key;
};

// "RECORD", the index and the key in hexadecimal, and a line end.
std::string text_of(const KeyLogEntry& entry);
// Without its line end. Nothing for any other line.
std::optional<KeyLogEntry> parse_key_log_line(std::string_view line);
// Whether it is the begin of such a line, or empty: the disk had no room for the rest.
bool is_cut_key_log_line(std::string_view line);

class RecordOpener {
 public:
  void add(const KeyLogEntry& entry);
  std::size_t keys() const { return keys_.size(); }

  enum class Opened : std::uint8_t {
    kGood,
    kNotRecord,  // no datagram of a session, or one of a handshake
    kNoKey,      // no key of this index
    kTag,        // none of the keys of this index opens it
    kReplay,     // it was opened before, or is too far behind
  };
  // Opens a datagram. `plain` is what was in it if it is good, which may be nothing.
  Opened open(base::Bytes datagram, std::vector<std::byte>& plain);

 private:
  struct Key {
    std::unique_ptr<Aead> aead;
    ReplayWindow window;
  };
  std::unordered_multimap<std::uint32_t, Key> keys_;
};

// Returns the length of the first of several records that a kernel passed to a capture as one
// datagram: up to where the record with the next counter begins. All of them if there is one.
std::size_t first_record_bytes(base::Bytes datagram);

}  // namespace splitnic::fabric::session
