#include "control/identity.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/random.h"
#include "base/shortage.h"
#include "control/random_file.h"

namespace splitnic::control {
namespace {

using Id = std::array<std::uint8_t, 16>;

// Drawn at random once, for this program.
constexpr Id kApplicationId = {0x3c, 0x8e, 0x51, 0xd0, 0x7a, 0x94, 0x4b, 0x1f,
                               0x9e, 0x26, 0x0d, 0xb7, 0x65, 0xf1, 0xc8, 0x42};

Id hmac(std::span<const std::uint8_t> key, std::span<const std::uint8_t> data) {
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest{};
  const auto* made = ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data.data(),
                            data.size(), digest.data(), nullptr);
  CHECK(made != nullptr);
  Id id{};
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// The bytes that 32 hex digits stand for, or those of the text.
std::vector<std::uint8_t> key_of(const std::string& machine_id) {
  std::vector<std::uint8_t> key(Id{}.size());
  if (base::parse_hex(machine_id, std::as_writable_bytes(std::span(key)))) return key;
  const auto text = bytes_of(machine_id);
  return {text.begin(), text.end()};
}

// Another identity is no way out of a shortage: nic0 would have another address this time.
void end_if_short(const std::string& file, int error) {
  if (!base::is_shortage(error)) return;
  throw std::system_error(error, std::generic_category(), "reading the identity in " + file);
}

std::string machine_id() {
  std::string id;
  std::ifstream file("/etc/machine-id");
  if (!file.is_open()) end_if_short("/etc/machine-id", errno);
  file >> id;
  return id.empty() ? machine_name() : id;
}

base::Result<Id> id_in(const std::string& folder) {
  const auto at = open_folder(folder);
  if (!at) return at.error();
  base::OsRandom random;
  const auto bytes = random_file(at->get(), folder + "/" + kIdentityFile, random);
  if (!bytes) return bytes.error();
  Id id{};
  std::ranges::transform(*bytes, id.begin(),
                         [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
  return id;
}

Id secret() {
  std::string folder = state_folder();
  if (folder.empty() && ::access(kSharedStateFolder, W_OK | X_OK) == 0) folder = kSharedStateFolder;
  if (!folder.empty()) {
    const auto id = id_in(folder);
    if (id) return *id;
    end_if_short(folder, id.error().errno_value());
    base::log_warn(
        "the identity follows from /etc/machine-id, which copies of this machine share: " +
        id.error().text());
  }
  return machine_app_id(machine_id());
}

// 64 bits that follow from this installation and `subject`.
std::uint64_t hash_of(const std::string& subject) {
  const Id id = hmac(secret(), bytes_of(subject));
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < sizeof(hash); ++i) hash = hash << 8 | id[i];
  return hash;
}

}  // namespace

std::string state_folder() {
  const char* const folders = std::getenv("STATE_DIRECTORY");
  if (folders == nullptr) return "";
  const std::string all = folders;
  return all.substr(0, all.find(':'));
}

Id machine_app_id(const std::string& machine_id) {
  Id id = hmac(key_of(machine_id), kApplicationId);
  id[6] = static_cast<std::uint8_t>((id[6] & 0x0F) | 0x40);  // version 4
  id[8] = static_cast<std::uint8_t>((id[8] & 0x3F) | 0x80);  // RFC 4122
  return id;
}

std::uint64_t node_eui64(const std::string& name, const std::string& role) {
  return hash_of("eui64/" + role + "/" + name) | 1;
}

lan::MacAddress stable_mac(const std::string& name) {
  const std::uint64_t hash = hash_of("mac/" + name);
  lan::MacAddress mac{0x02};
  for (std::size_t i = 1; i < mac.size(); ++i) mac[i] = static_cast<std::uint8_t>(hash >> (8 * i));
  return mac;
}

std::string machine_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "node";
  const std::string whole = name.data();
  const std::string first = whole.substr(0, whole.find('.'));
  return first.empty() ? "node" : first;
}

}  // namespace splitnic::control
