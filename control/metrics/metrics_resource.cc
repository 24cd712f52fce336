#include "control/metrics/metrics_resource.h"

#include <algorithm>
#include <string>

#include "control/config/ip_address.h"
#include "control/config/values.h"
#include "control/metrics/metrics_text.h"
#include "control/metrics/page_files.h"

namespace splitnic::control {
namespace {

// "[::1]:9477": "::1". Returns "" if the port is none.
std::string_view without_port(std::string_view host) {
  const bool has_brackets = host.starts_with('[');
  const std::size_t end = has_brackets ? host.find(']') : std::min(host.find(':'), host.size());
  if (end == std::string_view::npos) return {};
  const std::string_view port = host.substr(has_brackets ? end + 1 : end);
  if (!port.empty() && (port[0] != ':' || !parse_number(port.substr(1), 65535))) return {};
  return has_brackets ? host.substr(1, end - 1) : host.substr(0, end);
}

}  // namespace

std::optional<MetricsResource> resource_at(std::string_view target) {
  using Kind = MetricsResource::Kind;
  if (target == "/metrics") return MetricsResource{Kind::kMetrics, kMetricsType, {}};
  if (target == "/state.json") return MetricsResource{Kind::kState, "application/json", {}};
  const auto files = page_files();
  const auto file = std::ranges::find(files, target, &PageFile::target);
  if (file == files.end()) return std::nullopt;
  return MetricsResource{Kind::kFile, file->type, file->text};
}

bool is_local_host(std::string_view host) {
  std::string name(without_port(host));
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return name == "localhost" || name.ends_with(".localhost") || parse_ip(name).has_value();
}

}  // namespace splitnic::control
