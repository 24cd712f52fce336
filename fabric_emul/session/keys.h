// Keys as people handle them: base64 of 32 bytes, as `wg genkey` prints it, alone on the first line
// of a file. A file with a secret must be a regular file that only its owner may read and write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "fabric_emul/session/crypto.h"
#include "fabric_emul/session/secret.h"

namespace splitnic::fabric::session {

// Exactly 44 characters: 43 of the alphabet and '='. Nothing else is accepted, nor bits behind the
// 32 bytes.
std::string base64_of(const Bytes32& bytes);
std::optional<Bytes32> bytes_of_base64(std::string_view text);

inline constexpr std::string_view kPublicKeyForm =
    "a public key: 44 characters of base64, as splitnic pubkey prints it";
base::Result<PublicKey> parse_public_key(std::string_view text);

// Returns an error if no host can have this key: it is that of the I/O unit, or of nobody.
base::Status check_key_of_host(const PublicKey& key, const PublicKey& of_unit);

// Whose file may hold a key: who uses it must trust the owner, who only shows it need not.
enum class KeyOwner : std::uint8_t { kTrusted, kAnyone };

// Reads a private or pre-shared key. An error: the file cannot be read, is a symbolic link or not
// regular, is open to group or others, belongs to neither root nor the user of the process unless
// anyone may own it, or does not hold exactly one key.
base::Result<Secret> read_key_file(const std::string& path, KeyOwner owner = KeyOwner::kTrusted);
// Writes a key to a new file of mode 0600. An error: it exists (it is never overwritten), or cannot
// be written; then no file is left.
base::Status write_key_file(const std::string& path, const Secret& key);

}  // namespace splitnic::fabric::session
