#include "tools/raw_node.h"

#include <memory>
#include <optional>
#include <utility>

#include "control/config/version.h"
#include "control/daemon/admin.h"
#include "control/daemon/daemon.h"
#include "control/daemon/raw_leg.h"
#include "control/daemon/report_details.h"
#include "control/daemon/worker.h"
#include "control/identity.h"
#include "lan_bridge/ports/tun_device.h"

namespace splitnic::tools {
namespace {

class RawAdmin final : public control::Admin {
 public:
  // `options` outlives this.
  RawAdmin(const RawOptions& options, base::Clock& clock, VisitCounters visit_carriers)
      : control::Admin(clock, std::move(visit_carriers)), options_(options) {}
  // Before this call the state is "connecting". `leg` outlives this.
  void attach(const control::RawLeg& leg) { leg_ = &leg; }

 private:
  control::Snapshot snapshot(control::SnapshotParts parts) const override;
  base::Result<messaging::Connection*> connection_to_ping() override {
    return base::Error("a raw node has no connections: ping from its interface");
  }

  const RawOptions& options_;
  const control::RawLeg* leg_ = nullptr;
};

control::Snapshot RawAdmin::snapshot(control::SnapshotParts parts) const {
  control::Snapshot s;
  s.role = "raw";
  s.name = options_.common.name();
  s.program = control::version_text("splitnic");
  const fabric::Link* const link = leg_ != nullptr ? leg_->link() : nullptr;
  s.state = link == nullptr ? "connecting" : link->up() ? "up" : "down";
  control::PeerInfo peer;
  peer.name = options_.leg.node;
  peer.address = options_.leg.text();
  peer.state = s.state;
  s.peers.push_back(std::move(peer));
  if (parts.has_details) s.details = control::program_details(options_.common, link != nullptr);
  if (link != nullptr) control::add_link(s, *link, parts);
  if (leg_ != nullptr) {
    leg_->visit_counters([&](std::string_view name, std::uint64_t value) {
      s.counters.emplace_back(std::string(name), value);
    });
  }
  return s;
}

class RawWorker final : public control::Worker {
 public:
  RawWorker(const control::Process& process, const RawOptions& options)
      : Worker(process, options.common, control::RawLeg::limits(), 0),
        options_(options),
        admin_(options, clock_,
               [this](const base::CounterVisitor& visitor) { visit_carrier_counters(visitor); }) {}

  // After an error the next call begins again.
  base::Status open();

  control::Admin& admin() override { return admin_; }
  int datagram_fd() const override { return tun_->fd(); }
  bool wants_datagrams() const override { return leg_->wants_input(); }
  bool step(base::Time now) override { return leg_->step(now); }
  base::Time deadline() const override { return adapter_.deadline(); }
  std::uint64_t bytes_processed() const override { return leg_->bytes(); }
  bool is_drained() const override { return leg_->is_drained(); }
  void stop(base::Time now) override { leg_->stop(now); }

 private:
  const RawOptions& options_;
  RawAdmin admin_;
  std::unique_ptr<lan::TunDevice> tun_;
  std::optional<control::RawLeg> leg_;
};

base::Status RawWorker::open() {
  if (!tun_) {
    auto tun = lan::TunDevice::open(options_.interface, fabric::DatagramGate::kDatagramBytesMax);
    if (!tun) return tun.error().within("--interface");
    tun_ = *std::move(tun);
  }
  const control::CarrierConfig carrying{.own_device = options_.interface,
                                        .uses_gso = options_.common.uses_gso};
  const auto attached = attach(options_.leg.at, carrying, "raw", options_.common.keys.peers);
  if (!attached) return attached.error();
  const auto port =
      add_attached_port(**attached, options_.common.port, "raw", options_.leg.at.is_shm());
  if (!port) return port.error();
  leg_.emplace(adapter_, **port, **attached, *tun_, fabric::GateSide::kNode);
  admin_.attach(*leg_);
  if (auto opened = leg_->open(clock_.now()); !opened) return opened;
  (*port)->connect((*attached)->peer(options_.leg.node, options_.leg.path), clock_.now());
  return {};
}

class RawDaemon final : public control::Daemon {
 public:
  explicit RawDaemon(const RawOptions& options)
      : Daemon("splitnic raw", options.common), options_(options), worker_(process(), options) {}

 private:
  std::size_t workers() const override { return 1; }
  control::Worker& worker(std::size_t) override { return worker_; }
  base::Status open() override {
    return when_possible([this] { return worker_.open(); });
  }
  std::string summary() const override { return options_.interface + " at " + options_.leg.text(); }
  control::sandbox::Needs needs() const override {
    control::sandbox::Needs needs;
    if (options_.common.keys.are_given()) {
      needs.files.push_back({control::state_folder(), control::sandbox::FileRight::kReplace});
    }
    return needs;
  }

  const RawOptions& options_;
  RawWorker worker_;
};

}  // namespace

int run_raw_node(const RawOptions& options) { return RawDaemon(options).run(); }

}  // namespace splitnic::tools
