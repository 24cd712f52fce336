#include "switch_module/daemon.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "control/daemon/carriers.h"
#include "control/daemon/daemon.h"
#include "control/daemon/name_lookup.h"
#include "control/identity.h"
#include "control/sandbox/sandbox.h"
#include "switch_module/worker.h"

namespace splitnic::fabric_switch {
namespace {

class SwitchDaemon final : public control::Daemon {
 public:
  explicit SwitchDaemon(const SwitchOptions& options)
      : Daemon("splitnic-switch", options.common), options_(options), worker_(process(), options) {}

 private:
  std::size_t workers() const override { return 1; }
  control::Worker& worker(std::size_t) override { return worker_; }
  base::Status open() override;
  control::sandbox::Needs needs() const override;

  const SwitchOptions& options_;
  std::vector<std::unique_ptr<control::NameLookup>> lookups_;  // one per port
  SwitchWorker::Endpoints at_;                                 // where each port is, or connects to
  SwitchWorker worker_;
};

base::Status SwitchDaemon::open() {
  if (auto read = worker_.read(); !read) return read;
  for (const PortOption& port : options_.ports) {
    auto lookup = control::NameLookup::open(port.at, has_sandbox());
    if (!lookup) return lookup.error();
    lookups_.push_back(*std::move(lookup));
  }
  at_.resize(lookups_.size());
  auto opened = when_possible([this]() -> base::Status {
    const auto found = resolve_missing(
        lookups_, at_, [this](std::size_t i) { return worker_.is_open(i) || !worker_.is_used(i); });
    return found ? worker_.open(at_) : found;
  });
  if (opened) worker_.follow_names(std::move(lookups_), at_);
  return opened;
}

control::sandbox::Needs SwitchDaemon::needs() const {
  using control::sandbox::FileRight;
  control::sandbox::Needs needs;
  if (options_.common.keys.are_given()) {
    needs.folders.push_back({control::state_folder(), FileRight::kReplace});
  }
  needs.accepts_shm = std::ranges::any_of(
      options_.ports, [](const PortOption& port) { return port.at.is_shm() && !port.connects; });
  if (needs.accepts_shm) {
    needs.folders.push_back({control::shm_folder(), FileRight::kRemove});
  }
  return needs;
}

}  // namespace

int run(const SwitchOptions& options) { return SwitchDaemon(options).run(); }

}  // namespace splitnic::fabric_switch
