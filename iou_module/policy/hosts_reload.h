// Reads the hosts file: at the start, and again for `splitnic reload` and SIGHUP, with what the
// configuration file then has about hosts. A file with an error changes nothing, nor does a good
// one that some queue is too busy to take; else it goes to all queues, which replace what they have
// between two iterations. Threads: load() and start() the main thread; reload() the
// control thread, which may call it before start().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "control/daemon/config_reload.h"
#include "control/socket/requests.h"
#include "iou_module/policy/hosts_handover.h"
#include "iou_module/policy/iou_options.h"
#include "iou_module/policy/known_hosts.h"

namespace splitnic::iou {

class HostsReload {
 public:
  using Known = HostsHandover::Known;
  using Queue = HostsHandover::Queue;

  // `options` outlives this.
  explicit HostsReload(const IouOptions& options);

  // Returns the hosts that may attach; null without --hosts. An error of the file, or of the key
  // file, is one line.
  base::Result<Known> load();
  // All queues serve with what load() returned.
  void start(std::vector<Queue> queues);
  // The options that were read again, of which --allow, --allow-key, --grant and --max-hosts apply,
  // and how they differ. REQUIRES that --max-hosts is no larger than at the start.
  struct Config {
    const IouOptions* options = nullptr;  // null: there is no configuration file
    const control::OptionChanges* changes = nullptr;
  };
  // The reply has the numbers of changes once all queues have them, or the reason why nothing has
  // changed. Both are logged, too. Returns whether all queues will have them.
  bool reload(const control::ReplyFunction& reply, const Config& config);
  // The same without a configuration file.
  bool reload(const control::ReplyFunction& reply) { return reload(reply, Config()); }

 private:
  // The part of the options that is about hosts.
  struct Settings {
    std::vector<fabric::session::PublicKey> allowed;
    HostRights rights;
    std::vector<control::Cidr> addresses;
    std::size_t hosts_max;
  };
  Settings settings_of(const IouOptions& options) const;
  base::Result<Known> read(const Settings& settings) const;
  bool refuse(const control::ReplyFunction& reply, control::ReplyStatus status,
              const std::string& why) const;
  std::string text_of_change(const KnownHosts& after, const Config& config) const;

  const IouOptions& options_;
  UnitFacts unit_;
  // All queues have these, or are about to.
  Settings settings_;
  Known known_;
  std::vector<Queue> queues_;
  std::uint64_t lists_ = 0;              // that were read for them
  std::atomic<bool> is_serving_{false};  // then the members above are those of the control thread
};

}  // namespace splitnic::iou
