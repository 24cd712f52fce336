// MetricsAddress of metrics_server.h.
#include "control/config/values.h"
#include "control/metrics/metrics_server.h"
#include "control/socket/unix_socket.h"

namespace splitnic::control {

base::Result<MetricsAddress> parse_metrics_address(const std::string& text, bool may_be_remote) {
  static constexpr std::string_view kUnix = "unix:";
  MetricsAddress out;
  if (text.starts_with(kUnix)) {
    out.path = text.substr(kUnix.size());
    if (const auto endpoint = unix_endpoint(out.path); !endpoint) return endpoint.error();
    return out;
  }
  const auto endpoint = parse_endpoint("udp://" + text);
  if (!endpoint || !endpoint->ip || !endpoint->zone.empty()) {
    return base::Error("'" + text + "' is not unix:PATH, ADDRESS:PORT or [V6ADDRESS]:PORT");
  }
  out.ip = *endpoint->ip;
  out.port = endpoint->port;
  if (!out.ip.is_loopback() && !may_be_remote) {
    return base::Error("other machines reach " + text +
                       ", and there are no keys: use a loopback address, or add --metrics-remote");
  }
  return out;
}

}  // namespace splitnic::control
