#include "iou_module/policy/hosts_file.h"

#include "control/config/text_file.h"
#include "control/config/toml.h"
#include "iou_module/policy/host_entry_parser.h"

namespace splitnic::iou {
namespace {

using control::TomlValue;

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
  if (text.size() > kHostsFileBytesMax) return control::too_long(kHostsFileBytesMax);
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
  const auto text = control::read_text_file(path, kHostsFileBytesMax);
  if (!text) return text.error().within(path);
  if (!text->untrusted.empty()) return base::Error(text->untrusted).within(path);
  auto file = parse_hosts_file(text->bytes, unit);
  if (!file) return file.error().within(path);
  return file;
}

}  // namespace splitnic::iou
