#include "switch_module/switch_daemon.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/config/text_file.h"
#include "control/daemon/carriers.h"
#include "control/daemon/daemon.h"
#include "control/daemon/name_lookup.h"
#include "control/identity.h"
#include "control/sandbox/sandbox.h"
#include "switch_module/switch_worker.h"
#include "switch_module/topology_file.h"

namespace splitnic::fabric_switch {
namespace {

class SwitchDaemon final : public control::Daemon {
 public:
  SwitchDaemon(const SwitchOptions& options, control::OptionsSource<SwitchOptions> source)
      : Daemon("splitnic-switch", options.common),
        options_(options),
        config_(std::move(source), {}),
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
  // Returns the files of --topology that have another text than at the start. An error: one of them
  // is not a topology.
  base::Result<std::vector<std::string>> changed_topologies() const;

  const SwitchOptions& options_;
  control::ConfigReload<SwitchOptions> config_;
  std::vector<std::string> texts_;  // of the topology files, at the start
  std::vector<std::unique_ptr<control::NameLookup>> lookups_;  // one per port
  SwitchWorker::Endpoints at_;                                 // where each port is, or connects to
  SwitchWorker worker_;
};

base::Status SwitchDaemon::open() {
  if (auto read = worker_.read(); !read) return read;
  for (const std::string& path : options_.topologies) {
    auto text = control::read_text_file(path, kTopologyBytesMax);
    if (!text) return text.error().within("--topology: " + path);
    texts_.push_back(std::move(text->bytes));
  }
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

base::Result<std::vector<std::string>> SwitchDaemon::changed_topologies() const {
  std::vector<std::string> changed;
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    const std::string& path = options_.topologies[i];
    if (auto read = read_topology(path); !read) return read.error().within("--topology");
    const auto text = control::read_text_file(path, kTopologyBytesMax);
    if (!text) return text.error().within("--topology: " + path);
    if (text->bytes != texts_[i]) changed.push_back(path);
  }
  return changed;
}

// The tables and the keys of neighbours are those of the start. A topology that has an error is
// found now, and not at the next start.
void SwitchDaemon::reload(const control::ReplyFunction& reply) {
  using Status = control::ReplyStatus;
  const auto changed = changed_topologies();
  if (!changed) {
    return reply(
        control::refuse_reload(Status::kFailed, changed.error().text() + "; nothing has changed"));
  }
  std::string text = "nothing has changed";
  if (config_.has_file()) {
    const auto read = config_.read();
    if (!read) return reply(control::refuse_reload(Status::kFailed, read.error().text()));
    config_.take(*read);
    text = control::text_of(read->changes);
  }
  for (const std::string& path : *changed)
    text += "; " + path + " differs: start the program again";
  reply(control::accept_reload(text));
}

}  // namespace

int run(const SwitchOptions& options, control::OptionsSource<SwitchOptions> source) {
  return SwitchDaemon(options, std::move(source)).run();
}

}  // namespace splitnic::fabric_switch
