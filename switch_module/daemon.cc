#include "switch_module/daemon.h"

#include <algorithm>

#include "control/daemon/carriers.h"
#include "control/daemon/daemon.h"
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
  SwitchWorker worker_;
};

base::Status SwitchDaemon::open() {
  if (auto read = worker_.read(); !read) return read;
  return when_possible([this] { return worker_.open(); });
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
