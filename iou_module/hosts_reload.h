// Reads the hosts file: at the start, and again for `splitnic reload` and SIGHUP, with what the
// configuration file then has about hosts. A file with an error changes nothing; a good one goes to
// all queues, which replace what they have between two iterations. Threads: load() and start() the
// main thread; reload() the control thread, which may call it before start().
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "control/admin.h"
#include "control/daemon/config_reload.h"
#include "iou_module/known_hosts.h"
#include "iou_module/options.h"

namespace splitnic::iou {

class HostsReload {
 public:
  using Known = std::shared_ptr<const KnownHosts>;
  // Has a queue replace what it has, in its thread, and then call done(). Returns false if the
  // queue is too busy.
  using Post = std::function<bool(Known known, std::function<void()> done)>;

  // `options` outlives this.
  explicit HostsReload(const IouOptions& options);

  // Returns the hosts that may attach; null without --hosts. An error of the file, or of the key
  // file, is one line.
  base::Result<Known> load();
  // All queues serve with what load() returned.
  void start(std::vector<Post> queues);
  // The options that were read again, of which --allow, --allow-key, --grant and --max-hosts apply,
  // and how they differ. REQUIRES that --max-hosts is no larger than at the start.
  struct Config {
    const IouOptions* options = nullptr;  // null: there is no configuration file
    const control::OptionChanges* changes = nullptr;
  };
  // The reply has the numbers of changes once all queues have them, or the reason why nothing, or
  // not everything, has changed. Both are logged, too. Returns whether all queues will have them.
  bool reload(const control::ReplyFunction& reply, const Config& config);
  // The same without a configuration file.
  bool reload(const control::ReplyFunction& reply) { return reload(reply, Config()); }

 private:
  base::Result<Known> read() const;
  bool refuse(const control::ReplyFunction& reply, control::ReplyStatus status,
              const std::string& why) const;
  std::string text_of_change(const KnownHosts& after, const Config& config) const;

  const IouOptions& options_;
  // These are replaced by a reload.
  std::vector<fabric::session::PublicKey> allowed_;
  HostRights rights_;
  std::vector<control::Cidr> addresses_;
  std::size_t hosts_max_;

  UnitFacts unit_;
  Known known_;
  std::vector<Post> queues_;
  std::atomic<bool> is_serving_{false};  // then the members above are those of the control thread
};

}  // namespace splitnic::iou
