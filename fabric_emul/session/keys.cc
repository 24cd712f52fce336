#include "fabric_emul/session/keys.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/private_file.h"
#include "base/unique_fd.h"

namespace splitnic::fabric::session {
namespace {

constexpr std::size_t kTextBytes = 44;
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

base::Error in_file(const std::string& path, const std::string& why) {
  return base::Error("key file " + path + " " + why);
}

std::string_view without_line_end(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string base64_of(const Bytes32& bytes) {
  std::array<unsigned char, kTextBytes + 1> text{};  // with a NUL
  ::EVP_EncodeBlock(text.data(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    static_cast<int>(bytes.size()));
  return {text.begin(), text.end() - 1};
}

// EVP_DecodeBlock ignores blanks, and bits beyond the last byte: the text must be the one of the
// bytes.
std::optional<Bytes32> bytes_of_base64(std::string_view text) {
  if (text.size() != kTextBytes || text.back() != '=') return {};
  std::array<unsigned char, kTextBytes / 4 * 3> decoded{};
  const int count =
      ::EVP_DecodeBlock(decoded.data(), reinterpret_cast<const unsigned char*>(text.data()),
                        static_cast<int>(text.size()));
  if (count != static_cast<int>(decoded.size())) return {};
  Bytes32 bytes{};
  std::memcpy(bytes.data(), decoded.data(), bytes.size());
  ::OPENSSL_cleanse(decoded.data(), decoded.size());
  if (base64_of(bytes) != text) return {};
  return bytes;
}

base::Result<PublicKey> parse_public_key(std::string_view text) {
  const auto bytes = bytes_of_base64(text);
  if (bytes) return PublicKey{*bytes};
  return base::Error("'" + std::string(text) + "' is not " + std::string(kPublicKeyForm));
}

// Any private key shows a point of low order.
base::Status check_key_of_host(const PublicKey& key, const PublicKey& of_unit) {
  if (key == of_unit) return base::Error("this is the key of the I/O unit: give that of the host");
  Secret any;
  any.mutable_bytes().fill(std::byte{0x40});
  if (!x25519(any, key)) return base::Error("this is not the public key of anybody");
  return {};
}

base::Result<Secret> read_key_file(const std::string& path, KeyOwner owner) {
  // Without O_NONBLOCK a FIFO would stop the program.
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid()) {
    if (errno == ELOOP) return in_file(path, "is a symbolic link: name the file itself");
    return base::Error::from_errno("opening key file " + path, errno);
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) {
    return base::Error::from_errno("reading key file " + path, errno);
  }
  if (!S_ISREG(status.st_mode)) return in_file(path, "is not a regular file");
  if ((status.st_mode & kOthers) != 0) {
    return in_file(path, "is open to group or others: chmod 600 it");
  }
  if (owner == KeyOwner::kTrusted && !base::is_trusted_owner(status.st_uid)) {
    return in_file(path, "belongs to another user: chown it to root or the user of this program");
  }
  std::array<char, kTextBytes + 3> text{};  // with a line end, and one byte too many
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  if (got < 0) return base::Error::from_errno("reading key file " + path, errno);
  auto bytes = bytes_of_base64(
      without_line_end(std::string_view(text.data(), static_cast<std::size_t>(got))));
  cleanse(std::as_writable_bytes(std::span(text)));
  if (!bytes) {
    return in_file(path, "does not hold one key in base64, as splitnic keygen writes it");
  }
  Secret secret(*bytes);
  cleanse(*bytes);
  return secret;
}

base::Status write_key_file(const std::string& path, const Secret& key) {
  const base::UniqueFd fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) {
    if (errno == EEXIST) return in_file(path, "exists and is not overwritten: choose another");
    return base::Error::from_errno("creating key file " + path, errno);
  }
  std::string text = base64_of(key.bytes()) + "\n";
  // The umask may have taken bits of the mode.
  bool is_written = ::fchmod(fd.get(), 0600) == 0;
  is_written = is_written &&
               ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
               ::fsync(fd.get()) == 0;
  const int error = errno;
  cleanse(std::as_writable_bytes(std::span(text)));
  if (is_written) return {};
  ::unlink(path.c_str());
  return base::Error::from_errno("writing key file " + path, error);
}

}  // namespace splitnic::fabric::session
