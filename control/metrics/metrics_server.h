// GET by HTTP on a Unix socket or a TCP port: /metrics for Prometheus (docs/metrics.md), and a page
// for people with the JSON that it reads (docs/page.md). Clients are not trusted: their number, the
// length of a request and its time are bounded, and all clients of kMetricsAge share one snapshot,
// so that they cost the data thread at most one snapshot in that time, whatever they do. Thread:
// open() before the io_context runs; everything else on the thread that runs it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "control/config/ip_address.h"
#include "control/report/snapshot.h"

namespace boost::asio {
class io_context;
}

namespace splitnic::control {

inline constexpr std::size_t kMetricsClientsMax = 16;
inline constexpr std::size_t kMetricsRequestBytesMax = 8192;
inline constexpr base::Duration kMetricsClientTime = std::chrono::seconds(5);
inline constexpr base::Duration kMetricsAge = std::chrono::milliseconds(100);

struct MetricsAddress {
  std::string path;  // of a Unix socket; "" for TCP
  IpAddress ip;
  std::uint16_t port = 0;
  friend bool operator==(const MetricsAddress&, const MetricsAddress&) = default;
};
// unix:PATH, ADDRESS:PORT or [V6ADDRESS]:PORT. An address that other machines reach needs
// `may_be_remote`.
base::Result<MetricsAddress> parse_metrics_address(const std::string& text, bool may_be_remote);

// Takes a snapshot on the data threads and calls the function once with it, on any of them. Returns
// false if that is not possible now.
using SnapshotSource = std::function<bool(std::function<void(Snapshot)>)>;

class MetricsServer {
 public:
  static base::Result<std::unique_ptr<MetricsServer>> open(boost::asio::io_context& io,
                                                           const MetricsAddress& address,
                                                           SnapshotSource source);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // Closes every client and removes the file. Idempotent.
  void stop();

 private:
  class Impl;
  explicit MetricsServer(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace splitnic::control
