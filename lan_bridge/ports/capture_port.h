// The base of the ports that capture a LAN NIC (packet:, pcap:). It filters the unit's own fabric
// datagrams out of the capture, by the NIC's MAC where an endpoint has no address.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lan_bridge/ports/fabric_filter.h"
#include "lan_bridge/ports/link_port.h"

namespace splitnic::lan {

class CapturePort : public LinkPort {
 public:
  // The filter may contain the NIC's MAC, so it is attached once more.
  base::Status set_mac(const MacAddress& mac) override {
    if (auto status = link_->set_mac(mac); !status) return status;
    return filter_fabric();
  }

 protected:
  CapturePort(std::string name, std::unique_ptr<NetlinkLink> link,
              std::vector<FabricEndpoint> exclude)
      : LinkPort(std::move(name), std::move(link)), exclude_(std::move(exclude)) {}

  base::Status filter_fabric() {
    if (exclude_.empty()) return {};
    auto program = exclude_fabric(exclude_, link_->state().mac);
    if (!program) return program.error();
    return attach_filter(*program);
  }

 private:
  // Replaces the filter that the kernel applies to captured frames.
  virtual base::Status attach_filter(std::span<sock_filter> program) = 0;

  std::vector<FabricEndpoint> exclude_;
};

}  // namespace splitnic::lan
