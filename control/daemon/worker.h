// A data thread of a program with all that belongs to it: clock, random numbers, carriers, adapter,
// commands, Admin, and the module that its loop drives. A program with several queues has a worker
// for each (docs/adr/0006-a-queue-is-whole.md). Workers share no state on the data path; those of
// an I/O unit pass frames to each other by rings (iou_module/queue_set.h). A program derives from
// it. Threads: it is made, opened and destroyed in the main thread; run() is the body of its data
// thread; commands().post() is for any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/status.h"
#include "control/command_queue.h"
#include "control/control_thread.h"
#include "control/daemon/admin.h"
#include "control/daemon/carriers.h"
#include "control/daemon/common_options.h"
#include "control/daemon/heartbeats.h"
#include "control/daemon/keyed_carriers.h"
#include "control/daemon/module.h"
#include "control/daemon/wake_latency.h"
#include "control/sd_notify.h"
#include "fabric_emul/link/siphash.h"
#include "fabric_emul/switching/attachment.h"
#include "fabric_emul/verbs/adapter.h"
#include "fabric_emul/verbs/loopback.h"

namespace splitnic::control {

// Common to the workers of a process, which are one node to its peers.
struct Process {
  std::string program;
  std::uint64_t instance;                          // of its ports: another one at each start
  std::optional<fabric::SipKey> machine_key = {};  // none: it can prove to no peer to be here
};

class Worker : public Module {
 public:
  std::uint32_t queue() const { return queue_; }
  CommandQueue& commands() { return commands_; }
  virtual Admin& admin() = 0;

  // Before there is a sandbox: opens what --keep-awake needs, if it is given. Each queue has a
  // request to the kernel; processors stay awake while there is one.
  base::Status open_wake_latency();
  // The first call in the data thread: names it, and binds it to `processor`, if there is one and
  // the kernel allows it; that it does not is logged.
  void begin_thread(std::optional<std::uint32_t> processor) const;
  // Runs the data loop until a stop is requested, and then stops the module. REQUIRES that
  // everything is open. An error: the loop ended by it. `heartbeats` has all workers, by queue.
  base::Status run(const ControlThread& control, bool never_sleeps, Heartbeats& heartbeats);

 protected:
  // `common` outlives this. `limits` are those of the adapter.
  Worker(const Process& process, const CommonOptions& common, const fabric::AdapterLimits& limits,
         std::uint32_t queue);

  // Gives the adapter a port over a carrier. The port is the common one with what `config` adds
  // about listening; `role` distinguishes the ports of one node. An EUI-64 in `config` stays.
  base::Result<fabric::Port*> add_port(fabric::Underlay& underlay, fabric::PortConfig config,
                                       const std::string& role, bool is_shm);
  // Connects to the port of a switch for this queue, of which `first` names that for queue 0: over
  // UDP, and with keys, to the switch with this key.
  base::Result<fabric::Attachment*> attach(const Endpoint& first, const CarrierConfig& config,
                                           const std::string& role,
                                           std::span<const fabric::session::PublicKey> switch_key);
  // A node in this process, at a port of the switch that the process is: `of_switch` is the carrier
  // of that port, which listens. REQUIRES that it is called once.
  struct InnerHop {
    fabric::Underlay& of_switch;
    fabric::Attachment& of_node;
  };
  InnerHop attach_here(const std::string& role, bool is_shm);
  // Something was sent over the inner hop and is not received: both ends have work now.
  bool has_inner_traffic() const { return inner_ && inner_->has_traffic(); }
  // Gives the adapter a port over what attach() returned: its LIDs are those of the subnet, and its
  // cells have a CRC over all of them, on keyed hops too, whose tags end at each switch.
  base::Result<fabric::Port*> add_attached_port(fabric::Attachment& attachment,
                                                fabric::PortConfig config, const std::string& role,
                                                bool is_shm);
  // Moves this queue's carrier of this number to another address of its peer, of which `first` is
  // that of queue 0.
  base::Status move_carrier(std::size_t carrier, const Endpoint& first);
  // Two intervals without a datagram: then HELLO begins.
  static bool is_heard(const fabric::Link& link, base::Time now) {
    return link.up() && now < link.last_heard() + 2 * link.idle();
  }
  // Returns the LID of the node that the port with this LID belongs to, as the ports of several
  // queues do, in a subnet in which we have several.
  static std::uint16_t node_of(std::uint16_t lid);
  // Puts the keys of the program on a UDP carrier. REQUIRES common_.keys.are_given(). `endpoint` is
  // where the peer listens; without it the peers come to us.
  base::Result<KeyedCarrier> add_keys(fabric::Underlay& underlay,
                                      std::span<const fabric::session::PublicKey> peers,
                                      const std::optional<fabric::PeerAddress>& endpoint);
  // Counters of carriers, keys and attachments.
  void visit_carrier_counters(const base::CounterVisitor& visitor) const;
  // Returns the configuration of a connection of one queue, one of the `queues` of the process.
  messaging::PairConfig pair_config(std::uint32_t queues) const;

  base::SystemClock clock_;
  base::OsRandom random_;
  const CommonOptions& common_;
  Carriers carriers_;
  const std::uint64_t instance_;
  const std::optional<fabric::SipKey> machine_key_;
  KeyedCarriers keyed_;
  std::optional<fabric::Loopback> inner_;
  std::vector<std::unique_ptr<fabric::Attachment>> attachments_;
  fabric::Adapter adapter_;

 private:
  fabric::PortConfig hop_config(const std::string& role, bool is_shm) const;

  const std::uint32_t queue_;
  // Read before there is a sandbox, which refuses the call for the number of the process.
  const std::optional<base::Duration> watchdog_interval_ = watchdog_interval();
  CommandQueue commands_;
  std::optional<WakeLatency> wake_latency_;
};

}  // namespace splitnic::control
