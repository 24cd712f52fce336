#include "control/daemon/machine_key.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/endian.h"
#include "control/random_file.h"

namespace splitnic::control {
namespace {

std::string file_name() { return "splitnic_key." + std::to_string(::geteuid()); }

base::Result<base::UniqueFd> open_tmpfs(const std::string& folder) {
  auto fd = open_folder(folder);
  if (!fd) return fd.error();
  struct statfs found {};
  if (::fstatfs(fd->get(), &found) != 0) {
    return base::Error::from_errno("looking at " + folder, errno);
  }
  if (found.f_type != TMPFS_MAGIC) return base::Error(folder + " is not a tmpfs: mount one there");
  return fd;
}

fabric::SipKey bound_to(const RandomBytes& bytes, const std::string& boot_id) {
  const fabric::SipKey key{base::load_be<std::uint64_t>(bytes.data()),
                           base::load_be<std::uint64_t>(bytes.data() + 8)};
  std::vector<std::byte> text(boot_id.size() + 1);
  std::memcpy(text.data() + 1, boot_id.data(), boot_id.size());
  const std::uint64_t k0 = fabric::siphash(key, text);
  text[0] = std::byte{1};
  return {k0, fabric::siphash(key, text)};
}

}  // namespace

base::Result<fabric::SipKey> machine_key(const std::string& folder, const std::string& boot_id,
                                         base::Random& random) {
  if (boot_id.empty()) return base::Error("this kernel reports no boot identifier: mount /proc");
  const auto at = open_tmpfs(folder);
  if (!at) return at.error();
  const auto bytes = random_file(at->get(), folder + "/" + file_name(), random);
  if (!bytes) return bytes.error();
  return bound_to(*bytes, boot_id);
}

std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

}  // namespace splitnic::control
