// Serves the requests of the control socket: show, stats, set, flush, ping, peers, evict, nic,
// topology and capture. The programs handle them here and differ in what they report, what may be
// set and whom they ping. Each worker has an Admin, which reports and sets what its queue has; that
// of queue 0 gets the requests and reaches the others by their command queues. All queues make
// their parts of a report at once, each in steps of its data loop, so that frames are carried
// between some hosts of it and the next. Thread: the data thread of its worker.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/status.h"
#include "control/command_queue.h"
#include "control/config/flush_request.h"
#include "control/report/fabric_map.h"
#include "control/report/known_peers.h"
#include "control/report/snapshot.h"
#include "control/socket/requests.h"
#include "fabric_emul/link/link.h"
#include "lan_bridge/frame/frame_capture.h"
#include "messaging/connection.h"

namespace splitnic::control {

// Whether a command waits for the thread of a queue.
enum class Posted : std::uint8_t { kYes, kNoQueue, kBusy };  // kBusy: or it is stopping

class Admin {
 public:
  // Visits the counters of what lies below the module, such as its carriers.
  using VisitCounters = std::function<void(const base::CounterVisitor&)>;
  // Another worker: its Admin runs in the thread that runs its commands.
  struct Other {
    CommandQueue* commands;
    Admin* admin;
  };

  Admin(base::Clock& clock, VisitCounters visit_carriers);
  virtual ~Admin() = default;
  Admin(const Admin&) = delete;
  Admin& operator=(const Admin&) = delete;

  // For queue 0, before it handles requests: the workers of queues 1, 2, ..., which outlive their
  // use here.
  void set_others(std::vector<Other> others) { others_ = std::move(others); }
  // The commands of the same worker, by which the steps of a report follow each other. It outlives
  // this. Without it a report is made in one step.
  void set_commands(CommandQueue& own) { commands_ = &own; }
  // A step of a report ends with the first part that exceeds this.
  static constexpr base::Duration kStep = std::chrono::microseconds(120);
  // Pings that run at once. The others are refused: each has one of the few requests that may be
  // open, which the NIC needs, too. [L-17]
  static constexpr long kPingsMax = 2;
  // Runs a function in a thread that handles no frames. Without it the last queue makes the text of
  // a reply itself, which takes longer than the snapshot.
  using Run = std::function<void(std::function<void()>)>;
  void set_text_thread(Run run) { run_ = std::move(run); }

  // Replies once every queue has added to the reply, or once the echoes of a ping have ended; with
  // one queue, a reply is there when this returns, but that of a ping, of a value that the I/O unit
  // may refuse, and a report that takes more
  // than one step. What a queue that has stopped would add is left out.
  void handle(const Request& request, ReplyFunction reply);
  // Calls `done` once with what `show` and `stats` report: on the thread of set_text_thread(), or
  // that of some queue.
  void take_snapshot(std::function<void(Snapshot)> done);

 protected:
  // The program's state, with the counters of the module and their sums over all hosts: in one
  // step, so without what more_parts() adds. Works before the module exists.
  virtual Snapshot snapshot(SnapshotParts parts) const = 0;
  // Adds the next of the parts that a program has many of, in under 100 us, and returns whether
  // there are more. Called between two steps, and steps may lie between two calls.
  using AddPart = std::function<bool(Snapshot&)>;
  // Returns null if snapshot() has all.
  virtual AddPart more_parts(SnapshotParts /*parts*/) const { return {}; }
  // Of queue 0; `set link` then comes to every queue. For the host.
  virtual Reply set(const std::string& what, const std::string& value);
  // Of queue 0, after set() has returned kOk: replies once the I/O unit has taken or refused the
  // value.
  virtual void when_settled(const Request& request, const ReplyFunction& reply);
  // The hosts that this queue knows, and the end of one by its name; an error explains why there is
  // none. For the I/O unit.
  virtual base::Result<KnownPeers> known_peers() const;
  virtual base::Status evict(const std::string& name);
  // Of queue 0: about the NIC at the I/O unit. For the host.
  virtual void nic(const Request& request, ReplyFunction reply);
  // The subnet as the subnet manager here has found it. For a switch.
  virtual base::Result<FabricMap> fabric_map() const;
  // Has the frames of the ports of this queue copied to the capture: those of the interface of this
  // name, or of all if it is empty. Each queue names the same interfaces. An error: there is none.
  // For the host and the I/O unit.
  virtual base::Status begin_capture(lan::FrameCapture& capture, const std::string& interface);
  // Runs the command with the Admin of queue `queue`, 1 or more, in its thread. Of queue 0; from
  // any thread.
  Posted post_to(std::size_t queue, std::function<void(Admin&)> command) const;
  // Returns the connection to send the next ECHO over; an error explains why there is none.
  virtual base::Result<messaging::Connection*> connection_to_ping() = 0;
  // Returns the connection whose pool is to end: at an I/O unit that of the host of this name, or
  // of the only one if it is empty. An error explains why there is none.
  virtual base::Result<messaging::Connection*> connection_of(const std::string& peer);

  base::Clock& clock_;

 private:
  void add_process(Snapshot& snapshot) const;

  // The part of one queue, which its own thread makes.
  struct OfQueue {
    std::optional<Snapshot> snapshot{};  // or the next; none if the queue has stopped
    std::optional<KnownPeers> known{};
    AddPart more{};  // to the snapshot
  };
  struct Report {
    Request request{};
    SnapshotParts parts{};
    ReplyFunction reply{};
    std::function<void(Snapshot)> done{};  // in place of a reply
    std::vector<OfQueue> of_queues{};
  };
  // A report that the threads of all queues add to.
  struct Collection {
    Report report;
    const Admin* first;  // of queue 0
    std::atomic<std::size_t> unfinished;
  };
  using Shared = std::shared_ptr<Collection>;
  void collect(Report report) const;
  // Adds what this queue has.
  void add_to(const Shared& into, std::size_t queue) const;
  void begin_report(const Shared& into, std::size_t queue) const;
  void continue_report(const Shared& into, std::size_t queue) const;
  // The last queue to call it has the report finished.
  static void end_queue(const Shared& into);
  static Snapshot merged(std::vector<OfQueue>& from);
  static KnownPeers merged_peers(const std::vector<OfQueue>& from);
  static void finish(Report& from);
  Reply topology(const std::string& form) const;
  void capture(const Request& request, const ReplyFunction& reply);
  void flush(const std::string& request, ReplyFunction reply);
  Reply flush_here(const FlushRequest& request);
  void set_all(const Request& request, const ReplyFunction& reply);
  void evict_all(const std::string& name, ReplyFunction reply);
  // Posts to each other queue. Returns kOk, or kFailed if one is busy.
  Reply post_to_others(const std::function<void(Admin&)>& command) const;
  void ping(std::uint32_t count, ReplyFunction reply);
  bool send_echo(const std::string& data, std::function<void(bool)> done);

  VisitCounters visit_carriers_;
  // Read before there is a sandbox, which refuses the call for the number of the process.
  const base::Time started_at_;
  const std::uint64_t process_;
  std::vector<Other> others_;
  std::shared_ptr<bool> pings_ = std::make_shared<bool>();  // each ping has a copy
  CommandQueue* commands_ = nullptr;
  Run run_;
};

// Adds what was agreed with `peer`, by its name, and the channels and pools of its connection.
void add_connection(Snapshot& snapshot, const messaging::Connection& connection, PeerInfo& peer);
void add_link(Snapshot& snapshot, const fabric::Link& link, SnapshotParts parts);
const char* mode_name(messaging::Mode mode);

}  // namespace splitnic::control
