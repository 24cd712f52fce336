#include "iou_module/hosts_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/private_file.h"
#include "base/unique_fd.h"
#include "control/toml.h"
#include "iou_module/host_entry_parser.h"

namespace splitnic::iou {
namespace {

using control::TomlValue;

base::Error too_long() {
  return base::Error("longer than " + std::to_string(kHostsFileBytesMax >> 20) + " MiB");
}

// Opened without waiting, so that a FIFO is refused and not waited for.
base::Result<std::string> read_file(const std::string& path) {
  const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return base::Error::from_errno("opening it", errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return base::Error::from_errno("reading it", errno);
  if (!S_ISREG(status.st_mode)) return base::Error("not a regular file");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return base::Error("others than its owner may write to it: chmod go-w");
  }
  if (!base::is_trusted_owner(status.st_uid)) {
    return base::Error("it belongs to another user: chown it to root or the user of this program");
  }
  std::string text(kHostsFileBytesMax + 1, '\0');
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + bytes, text.size() - bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::Error::from_errno("reading it", errno);
    if (got == 0) break;
    bytes += static_cast<std::size_t>(got);
  }
  text.resize(bytes);
  return {boost::system::in_place_value, std::move(text)};
}

base::Result<HostsFile> parse_hosts(const TomlValue& hosts, const UnitFacts& unit) {
  HostsFile file;
  TakenByHosts taken;
  for (const TomlValue& table : hosts.inside) {
    if (file.hosts.size() == kHostsInFileMax) {
      return control::error_at(table.name_at,
                               "more than " + std::to_string(kHostsInFileMax) + " hosts");
    }
    auto entry = parse_host_entry(table, unit, taken);
    if (!entry) return entry.error();
    file.hosts.push_back(*std::move(entry));
  }
  return file;
}

}  // namespace

base::Result<HostsFile> parse_hosts_file(std::string_view text, const UnitFacts& unit) {
  if (text.size() > kHostsFileBytesMax) return too_long();
  const auto parsed = control::parse_toml(text, control::TomlStrings::kAscii);
  if (!parsed) return parsed.error();
  for (const TomlValue& value : parsed->inside) {
    if (value.name != "hosts" || value.kind != TomlValue::Kind::kTable) {
      return control::error_at(value.name_at, "there are only tables [hosts.NAME] in this file");
    }
  }
  // An editor that empties the file before it writes it must not end all hosts.
  if (parsed->inside.empty()) {
    return control::error_at({1, 1}, "there is no host: [hosts] alone admits nobody");
  }
  return parse_hosts(parsed->inside.front(), unit);
}

base::Result<HostsFile> read_hosts_file(const std::string& path, const UnitFacts& unit) {
  const auto text = read_file(path);
  if (!text) return text.error().within(path);
  auto file = parse_hosts_file(*text, unit);
  if (!file) return file.error().within(path);
  return file;
}

}  // namespace splitnic::iou
