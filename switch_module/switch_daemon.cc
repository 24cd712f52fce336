#include "switch_module/switch_daemon.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/daemon/carriers.h"
#include "control/daemon/daemon.h"
#include "control/daemon/name_lookup.h"
#include "control/identity.h"
#include "control/sandbox/sandbox.h"
#include "switch_module/switch_worker.h"
#include "switch_module/topology_file.h"
#include "switch_module/topology_reload.h"

namespace splitnic::fabric_switch {
namespace {

class SwitchDaemon final : public control::Daemon {
 public:
  SwitchDaemon(const SwitchOptions& options, control::OptionsSource<SwitchOptions> source)
      : Daemon("splitnic-switch", options.common),
        options_(options),
        config_(std::move(source), {}),
        topologies_(options.topologies),
        worker_(process(), options) {}

 private:
  std::size_t workers() const override { return 1; }
  control::Worker& worker(std::size_t) override { return worker_; }
  base::Status open() override;
  control::sandbox::Needs needs() const override;
  control::ReloadHandler reload_handler() override {
    return [this](const control::ReplyFunction& reply) { reload(reply); };
  }
  void reload(const control::ReplyFunction& reply);
  // A reload: the files and options that were read, and the fate of each policy.
  struct Reloaded {
    TopologyReload::Changes changes;
    std::optional<control::ConfigReload<SwitchOptions>::Read> config;
    std::vector<SwitchWorker::PolicyChange> done;  // of each policy
  };
  std::string text_of(const Reloaded& reloaded) const;

  const SwitchOptions& options_;
  control::ConfigReload<SwitchOptions> config_;
  TopologyReload topologies_;
  std::vector<std::unique_ptr<control::NameLookup>> lookups_;  // one per port
  SwitchWorker::Endpoints at_;                                 // where each port is, or connects to
  SwitchWorker worker_;
};

base::Status SwitchDaemon::open() {
  if (auto read = worker_.read(); !read) return read;
  topologies_.start(worker_.topologies());
  for (const PortOption& port : options_.ports) {
    auto lookup = open_lookup(port.at);
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
    needs.files.push_back({control::state_folder(), FileRight::kReplace});
  }
  needs.accepts_shm = std::ranges::any_of(
      options_.ports, [](const PortOption& port) { return port.at.is_shm() && !port.connects; });
  if (needs.accepts_shm) {
    needs.files.push_back({control::shm_folder(), FileRight::kRemove});
  }
  for (const std::string& path : options_.topologies) needs.read_again(path);
  if (config_.has_file()) needs.read_again(config_.file());
  return needs;
}

// Other changes than those of lanes and partitions wait for the next start: an error in them is
// found now. The log level and the reply follow when the data thread has the policies.
void SwitchDaemon::reload(const control::ReplyFunction& reply) {
  using Status = control::ReplyStatus;
  auto changes = topologies_.read();
  if (!changes) {
    return reply(
        control::refuse_reload(Status::kFailed, changes.error().text() + "; nothing has changed"));
  }
  const auto reloaded = std::make_shared<Reloaded>();
  reloaded->changes = *std::move(changes);
  if (config_.has_file()) {
    auto read = config_.read();
    if (!read) return reply(control::refuse_reload(Status::kFailed, read.error().text()));
    reloaded->config = *std::move(read);
  }
  const bool is_posted = worker_.commands().post([this, reloaded, reply] {
    for (const TopologyReload::Policy& policy : reloaded->changes.policies)
      reloaded->done.push_back(worker_.set_policy(policy.file, policy.topology));
    run_on_control_thread([this, reloaded, reply] {
      if (reloaded->config) config_.take(*reloaded->config);
      topologies_.take(reloaded->changes);
      reply(control::accept_reload(text_of(*reloaded)));
    });
  });
  if (is_posted) return;
  reply(control::refuse_reload(Status::kFailed,
                               "the switch is busy or stopping; nothing has changed: try again"));
}

std::string SwitchDaemon::text_of(const Reloaded& reloaded) const {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
  const control::OptionChanges options =
      reloaded.config ? reloaded.config->changes : control::OptionChanges();
  if (!options.are_none() || reloaded.done.empty()) add(control::text_of(options));
  for (std::size_t i = 0; i < reloaded.done.size(); ++i) {
    const std::string path = options_.topologies[reloaded.changes.policies[i].file];
    switch (reloaded.done[i]) {
      case SwitchWorker::PolicyChange::kDone:
        add(path + ": lanes or partitions have changed");
        break;
      case SwitchWorker::PolicyChange::kStandsBy:
        add(path + ": lanes or partitions differ, and this switch stands by: the file of the " +
            "subnet manager in force counts");
        break;
      case SwitchWorker::PolicyChange::kIsOfManager:
        add(path + ": lanes or partitions differ, and the subnet manager sets them: reload the " +
            "switches with --manage");
        break;
    }
  }
  for (const std::size_t file : reloaded.changes.at_start)
    add(options_.topologies[file] + " differs: start the program again");
  return text;
}

}  // namespace

int run(const SwitchOptions& options, control::OptionsSource<SwitchOptions> source) {
  return SwitchDaemon(options, std::move(source)).run();
}

}  // namespace splitnic::fabric_switch
