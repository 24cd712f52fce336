// The requests of a subnet manager to switches, at most one to each at a time, and their replies.
// Its own switch replies before start() returns; that reply waits here as all others do.
// Sans-I/O. Thread: the data thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "fabric_emul/subnet/smp_request.h"
#include "fabric_emul/subnet/subnet_agent.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {

class SwitchRequests {
 public:
  struct Reply {
    std::size_t from;  // as add() has returned it
    Smp smp;           // its body is valid until the next call of next_reply()
  };

  // The agent, which is that of the manager's switch, outlives this. Transactions count from
  // `transaction` on.
  SwitchRequests(ManagerId id, SubnetAgent& agent, std::uint64_t transaction)
      : id_(id), agent_(agent), transaction_(transaction) {}

  // Ends all requests, and forgets the switches.
  void clear() { targets_.clear(); }
  // Returns the number of this switch from now on: 0, 1, ...
  std::size_t add(const SmpRoute& route);
  // REQUIRES that no request to this switch waits.
  void start(std::size_t to, SmpMethod method, SmpAttribute attribute, base::Bytes body,
             base::Time now);
  // Keeps a reply that a request waits for, and ignores all others.
  void on_smp(const Smp& smp);
  // Returns a reply, once, and ends its request.
  std::optional<Reply> next_reply();
  // Repeats what is due. Returns a switch that does not reply, and ends the request to it.
  std::optional<std::size_t> repeat(base::Time now);
  bool are_waiting() const;
  // When repeat() has something to do; now, if there are replies.
  base::Time deadline(base::Time now) const;

 private:
  struct Target {
    SmpRoute route{};
    SmpRequest request{};
    std::optional<Smp> reply{};
    std::vector<std::byte> reply_body{};
  };

  const ManagerId id_;
  SubnetAgent& agent_;
  std::uint64_t transaction_;
  std::vector<Target> targets_;
  std::vector<std::byte> taken_body_;
};

}  // namespace splitnic::fabric
