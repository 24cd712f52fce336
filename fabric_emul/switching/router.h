// A router: it is a switch in each of several subnets, and forwards between them by network address
// and not by LID. Which subnets and routes there are is in the plans of the switches; a route
// to the router itself is for end nodes. Sans-I/O, no allocation after the constructor. Thread: the
// data thread. [S000-33] docs/protocol/network.md#router
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "base/counters.h"
#include "fabric_emul/switching/router_counters.h"
#include "fabric_emul/switching/switch.h"
#include "fabric_emul/wire/extensions.h"
#include "fabric_emul/wire/network_address.h"

namespace splitnic::fabric {

class Router final : public GlobalReceiver {
 public:
  // The switches outlive this. REQUIRES a network in each plan, subnets that differ, and a port
  // number in one of the plans only.
  explicit Router(std::span<Switch* const> switches);
  ~Router() override;
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  const base::Counters<RouterCounter>& counters() const { return counters_; }

 private:
  struct Subnet {
    Switch* at;
    std::set<Lid> nodes;
  };
  struct Route {
    NetworkPrefix to;
    Switch* at;  // the subnet that has it
    Lid via;     // the next router, or the leg to a LAN
  };
  struct Hop {
    Switch* at;
    Lid to;
  };

  void on_global(const Switch& at, SwitchPort& from, const ReceivedCell& cell,
                 const MacHeader& header) override;
  void on_empty(std::uint8_t output, std::size_t lane) override;
  bool is_cut_off(const Switch& at) const override;
  bool is_origin(const SwitchPlan& plan, const MacHeader& header,
                 const NetworkAddress& source) const;
  bool is_here(const NetworkAddress& address) const;
  const Subnet* subnet_of(const NetworkAddress& address) const;
  RouterCounter check(const SwitchPlan& plan, const MacHeader& header, const Gnh& gnh) const;
  RouterCounter find(const NetworkAddress& destination, Hop& hop) const;

  std::vector<Subnet> subnets_;
  std::vector<Route> routes_;    // the longest prefix first
  std::vector<std::byte> cell_;  // that is forwarded
  base::Counters<RouterCounter> counters_;
};

}  // namespace splitnic::fabric
