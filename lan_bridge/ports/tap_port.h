// A TAP: frames of the host's own stack, with whole super-frames and partial checksums, are read
// straight into registered memory. The TAP is persistent while it is open, so that the next start
// adopts it after a crash, if it has the expected alias and no other program holds it. It is
// created down; its addresses are up to the user.
//
// A TAP whose descriptor a service manager keeps too is not persistent: it is there from one
// process of the service to the next, and goes when the manager closes it.
//
// A TAP that somebody else made stays as it is found: it gets no alias, and is never removed. A TAP
// that is moved to another network namespace is followed: its descriptor stays good. Then it goes
// with the program, since the next start would not find it, and only the user there can set its MTU
// and the like.
//
// A TAP with several queues is one port per queue, and a frame of the stack goes to the queue of
// its flow (steering.h). Queue 0 owns the TAP. Each of the others has its own descriptor and
// events, and begins detached: the kernel gives it no frame, so its input is never ready, while
// frames that are written to it arrive as from any other queue.
// Thread: the data thread of its owner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "lan_bridge/address_lists.h"
#include "lan_bridge/ports/link_port.h"

namespace splitnic::lan {

struct TapOptions {
  std::string name;
  bool keep = false;  // leave it in place when the port is destroyed
  std::string alias = "splitnic";
  std::uint32_t mtu = 0;  // 0: as it is
  std::optional<MacAddress> mac = {};
  bool keeps_adopted_mac = false;  // an adopted TAP keeps its address, whatever `mac` is
  std::uint32_t gso_max = 0;       // longest super-frame of the stack, in IP bytes; 0: as it is
  std::uint32_t offloads = kOffloadsAll;  // no others, whatever the kernel supports
  // At the start, but for a TAP whose descriptor a service manager has kept: that has the carrier
  // that it is found with. set_carrier() changes it.
  bool has_carrier = true;
  bool adopts = false;        // the TAP is there, whoever made it: no alias is asked or set
  int fd = -1;                // the TAP's descriptor, which the port takes; -1: none
  bool is_stored = false;     // a service manager keeps its descriptor too, or will soon
  bool is_elsewhere = false;  // the caller is in another network namespace than the program
};

class TapPort final : public LinkPort {
 public:
  static base::Result<std::unique_ptr<TapPort>> open(const TapOptions& options);
  // Returns up to `queues` queues, queue 0 first. Fewer, which is logged, if an adopted TAP has one
  // queue only, or if the kernel refuses one; only one if it refuses to keep flows in order.
  // REQUIRES queues > 0.
  static base::Result<std::vector<std::unique_ptr<TapPort>>> open_queues(const TapOptions& options,
                                                                         std::uint32_t queues);
  // That of queue 0 removes the TAP unless options.keep; the TAP goes with its last descriptor.
  ~TapPort() override;

  ReadBatch read(FrameRing& ring, std::span<base::Bytes> out) override;
  int fd() const override { return fd_.get(); }
  base::Status attach_queue(bool is_attached) override;
  PortState state() override;
  // Queries the kernel, which reports no change of its lists; none if it does not reply. Those of a
  // TAP in another network namespace are empty.
  std::optional<AddressLists> address_lists();
  // Sets the flag of the interface, as the host's user would.
  base::Status set_promiscuous(bool on) override;
  // While the TAP is down the kernel refuses this; state() repeats it when the TAP comes up.
  base::Status set_carrier(bool up) override;
  base::Status set_speed(std::uint32_t mbps, bool is_full_duplex) override {
    return observes() ? base::Status() : link_->set_speed(mbps, is_full_duplex);
  }
  // Queue 0 sets the offloads of the interface, which are those of all queues; each of the others
  // needs the same mask for what it writes.
  base::Status set_offloads(std::uint32_t mask) override;
  bool is_adopted() const { return is_adopted_; }
  bool is_elsewhere() const override { return is_elsewhere_ || link_->is_elsewhere(); }

 private:
  TapPort(const TapOptions& options, base::UniqueFd fd, std::unique_ptr<NetlinkLink> link,
          bool is_adopted, QueueRole role);
  static base::Result<std::unique_ptr<TapPort>> open_next(const TapOptions& options,
                                                          const TapPort& owner);
  static base::Result<std::vector<std::unique_ptr<TapPort>>> open_passed(const TapOptions& options,
                                                                         std::uint32_t queues);
  static void open_others(std::vector<std::unique_ptr<TapPort>>& ports, const TapOptions& options,
                          std::uint32_t queues, bool has_several_queues);
  base::Status configure(const TapOptions& options);
  base::Status unless_moved(base::Status status) const;
  base::Status set_persistent();
  base::Status set_gso_max(const TapOptions& options);
  void find_again();
  void drop_waiting();
  std::uint64_t kernel_drops() const override;
  bool send_one(base::Bytes frame) override;

  base::UniqueFd fd_;
  bool keep_;
  bool is_adopted_;
  bool adopts_;
  bool is_stored_;
  bool is_elsewhere_;
  bool carrier_wanted_;
  bool is_attached_ = true;
  std::uint64_t kernel_drops_before_ = 0;  // of the TAP that was adopted
};

}  // namespace splitnic::lan
