// The other queues of the I/O unit, as one queue reaches them: news of its hosts, and frames for
// hosts that only another queue has. Nothing is shared: news are messages, frames are copies.
// docs/adr/0006-a-queue-is-whole.md Thread: the data thread of this queue.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "iou_module/hosts/host_id.h"
#include "iou_module/hosts/nic_settings.h"
#include "iou_module/hosts/sent_groups.h"

namespace splitnic::iou {

// The addresses of a host whose NIC is stopped are free for others after this time.
inline constexpr base::Duration kClaimedFor = std::chrono::seconds(60);

// The state of one host at one queue, sent whenever it changes. A host is one node, whatever
// process it runs.
struct HostNews {
  std::size_t nic = 0;
  HostId node;
  bool is_gone = false;    // the queue has it no longer; the rest means nothing
  bool is_usable = false;  // it has started its NIC there and its link is up
  NicSettings settings{};
  std::vector<lan::MacAddress> macs{};  // that its rights list
};

struct GroupNews {
  std::size_t nic = 0;
  HostId node;
  SentGroups::Head head;
};

class Siblings {
 public:
  using Handed = std::function<void(std::size_t nic, const HostId& node, base::Bytes frame)>;

  virtual ~Siblings() = default;
  // All others get it, in the order of the calls, at the beginning of an iteration: Iou::on_news().
  virtual void notify(const HostNews& news) = 0;
  // The same for the principal of a host that was refused an access to memory:
  // Iou::on_refused_access(). All queues count these together.
  virtual void notify_refused(const HostId& principal) = 0;
  // A machine on the LAN of this NIC has used the address: Iou::on_lan_address(). If there are too
  // many in an iteration the others do not get them all.
  virtual void notify_address(std::size_t nic, const lan::MacAddress& mac) = 0;
  // A host here has sent this group frame to the LAN: Iou::on_group(). Bounded likewise.
  virtual void notify_group(const GroupNews& news) = 0;
  // Copies a frame, [virtio-net header][Ethernet frame], for a host that `queue` has. Returns false
  // if there is no room; then the frame is dropped.
  virtual bool hand(std::size_t queue, std::size_t nic, const HostId& node, base::Bytes frame) = 0;
  // Takes what others have handed to this queue, a bounded number. Returns that number.
  virtual std::size_t take_handed(const Handed& take) = 0;
  // Returns whether something that was handed to this queue waits.
  virtual bool has_handed() const = 0;
  // Ends an iteration: the queues that were handed something wake up. Returns false if one takes no
  // command now; then it is tried again at the end of the next iteration.
  virtual bool wake() = 0;
};

}  // namespace splitnic::iou
