#include "control/sandbox/file_rules.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace splitnic::control::sandbox {
namespace {

// Rights that came after the first version, which the headers of Debian 12 do not all name.
constexpr std::uint64_t kFirstVersion = (1ULL << 13) - 1;
constexpr std::uint64_t kRefer = 1ULL << 13;        // version 2
constexpr std::uint64_t kTruncate = 1ULL << 14;     // version 3
constexpr std::uint64_t kDeviceIoctl = 1ULL << 15;  // version 5

std::uint64_t known_rights(long version) {
  std::uint64_t rights = kFirstVersion;
  if (version >= 2) rights |= kRefer;
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kDeviceIoctl;
  return rights;
}

std::uint64_t rights_of(FileRight right) {
  switch (right) {
    case FileRight::kRemove:
      return LANDLOCK_ACCESS_FS_REMOVE_FILE;
    case FileRight::kRead:
      return LANDLOCK_ACCESS_FS_READ_FILE;
    case FileRight::kReplace:
      return LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate |
             LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE;
  }
  return 0;
}

base::Error failed() { return base::Error::from_errno("restricting files by Landlock", errno); }

base::Status add(int rules, const FolderRule& rule, std::uint64_t known) {
  const base::UniqueFd folder(::open(rule.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) {
    if (errno == ENOENT || errno == ENOTDIR || errno == EACCES) return {};
    return base::Error::from_errno("opening " + rule.folder + " for Landlock", errno);
  }
  landlock_path_beneath_attr attributes{};
  attributes.allowed_access = rights_of(rule.right) & known;
  attributes.parent_fd = folder.get();
  if (::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &attributes, 0) == 0) {
    return {};
  }
  return failed();
}

}  // namespace

base::Status restrict_files(std::span<const FolderRule> rules) {
  const long version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  // Where a filter around this process forbids the call, it is as if the kernel did not have it.
  if (version < 0 && errno == EPERM) errno = EOPNOTSUPP;
  if (version < 0) return failed();
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = known_rights(version);
  const base::UniqueFd set(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  if (!set.valid()) return failed();
  for (const FolderRule& rule : rules) {
    if (auto added = add(set.get(), rule, known_rights(version)); !added) return added;
  }
  if (::syscall(SYS_landlock_restrict_self, set.get(), 0) != 0) return failed();
  return {};
}

}  // namespace splitnic::control::sandbox
