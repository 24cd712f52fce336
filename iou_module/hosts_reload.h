// Reads the hosts file: at the start, and again for `splitnic reload` and SIGHUP. A file with an
// error changes nothing; a good one goes to all queues, which replace what they have between two
// iterations. Threads: load() and start() the main thread; reload() the control thread, which may
// call it before start().
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "control/admin.h"
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
  explicit HostsReload(const IouOptions& options) : options_(options) {}

  // Returns the hosts that may attach; null without --hosts. An error of the file, or of the key
  // file, is one line.
  base::Result<Known> load();
  // All queues serve with what load() returned.
  void start(std::vector<Post> queues);
  // The reply has the numbers of changes once all queues have them, or the reason why nothing, or
  // not everything, has changed. Both are logged, too.
  void reload(const control::ReplyFunction& reply);

 private:
  base::Result<Known> read() const;
  control::Reply refusal(control::ReplyStatus status, const std::string& why) const;

  const IouOptions& options_;
  UnitFacts unit_;
  Known known_;
  std::vector<Post> queues_;
  std::atomic<bool> is_serving_{false};  // then the members above are those of the control thread
};

}  // namespace splitnic::iou
