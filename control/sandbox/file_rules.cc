#include "control/sandbox/file_rules.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/log.h"
#include "base/unique_fd.h"

namespace splitnic::control::sandbox {
namespace {

namespace fs = std::filesystem;

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
    case FileRight::kReadAndList:
      return LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
    case FileRight::kReplace:
      return LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate |
             LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE;
  }
  return 0;
}

base::Error failed() { return base::Error::from_errno("restricting files by Landlock", errno); }

base::Status add(int rules, const FileRule& rule, std::uint64_t known) {
  const int kind = rule.right == FileRight::kRead ? 0 : O_DIRECTORY;
  const base::UniqueFd path(::open(rule.path.c_str(), O_PATH | kind | O_CLOEXEC));
  if (!path.valid()) {
    if (errno == ENOENT || errno == ENOTDIR || errno == EACCES) return {};
    return base::Error::from_errno("opening " + rule.path + " for Landlock", errno);
  }
  landlock_path_beneath_attr attributes{};
  attributes.allowed_access = rights_of(rule.right) & known;
  attributes.parent_fd = path.get();
  if (::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &attributes, 0) == 0) {
    return {};
  }
  return failed();
}

// `hidden`: files, and folders with all that is in them.
void add_all_but(const fs::path& path, std::span<const fs::path> hidden,
                 std::vector<FileRule>& rules) {
  if (std::ranges::find(hidden, path) != hidden.end()) return;
  const auto is_below = [&](const fs::path& one) {
    return std::ranges::mismatch(path, one).in1 == path.end();
  };
  if (std::ranges::none_of(hidden, is_below)) {
    rules.push_back({path.string(), FileRight::kRead});
    return;
  }
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_symlink(error)) add_all_but(at->path(), hidden, rules);
  }
}

}  // namespace

base::Status restrict_files(std::span<const FileRule> rules) {
  const long version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 0) {
    // EPERM: a filter around this process forbids the call.
    if (errno != ENOSYS && errno != EOPNOTSUPP && errno != EPERM) return failed();
    base::log_debug(failed().text() + ": only the modes of files protect them");
    return {};
  }
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = known_rights(version);
  const base::UniqueFd set(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  if (!set.valid()) return failed();
  for (const FileRule& rule : rules) {
    if (auto added = add(set.get(), rule, known_rights(version)); !added) return added;
  }
  if (::syscall(SYS_landlock_restrict_self, set.get(), 0) != 0) return failed();
  return {};
}

std::vector<FileRule> rules_to_read_all_but(std::span<const std::string> folders,
                                            std::span<const std::string> secrets) {
  std::error_code error;
  std::vector<FileRule> rules;
  for (const std::string& folder : folders) {
    const fs::path root = fs::weakly_canonical(folder, error);
    std::vector<fs::path> hidden;
    for (const std::string& secret : secrets) {
      fs::path file = fs::weakly_canonical(fs::absolute(secret, error), error);
      if (file.empty()) file = fs::absolute(secret, error).lexically_normal();
      hidden.push_back(file.parent_path() == root ? file : file.parent_path());
    }
    add_all_but(root, hidden, rules);
  }
  return rules;
}

}  // namespace splitnic::control::sandbox
