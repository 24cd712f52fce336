// A port on an interface that is not there yet: no link, no frames. It notices when the interface
// comes and is up, which is_back() reports. Opening it takes a new port, and privileges.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "lan_bridge/ports/netlink_link.h"

namespace splitnic::lan {

class AbsentPort final : public FramePort {
 public:
  // `name` is the port as on the command line.
  static base::Result<std::unique_ptr<AbsentPort>> open(const std::string& name,
                                                        const std::string& interface) {
    auto link = NetlinkLink::expect(interface);
    if (!link) return link.error();
    return std::unique_ptr<AbsentPort>(new AbsentPort(name, *std::move(link)));
  }

  ReadBatch read(FrameRing& /*ring*/, std::span<base::Bytes> /*out*/) override { return {}; }
  // Drops the frames, as on a card without a cable.
  std::size_t write(std::span<const base::Bytes> frames) override {
    dropped_ += frames.size();
    return frames.size();
  }
  int fd() const override { return -1; }
  int event_fd() const override { return link_->event_fd(); }
  PortState state() override { return link_->state(); }
  bool is_gone() const override { return true; }
  bool is_back() const override { return link_->is_back(); }
  base::Status set_mtu(std::uint32_t /*mtu*/) override { return {}; }
  base::Status set_mac(const MacAddress& /*mac*/) override { return {}; }
  base::Status set_promiscuous(bool /*on*/) override { return {}; }
  base::Status set_carrier(bool /*up*/) override { return {}; }
  std::uint32_t offloads() const override { return kOffloadVnet; }
  base::Status set_offloads(std::uint32_t /*mask*/) override { return {}; }
  std::string name() const override { return name_; }
  void visit_counters(const base::CounterVisitor& visitor) const override {
    visitor("tx.drop.absent", dropped_);
  }

 private:
  AbsentPort(std::string name, std::unique_ptr<NetlinkLink> link)
      : name_(std::move(name)), link_(std::move(link)) {}

  std::string name_;
  std::unique_ptr<NetlinkLink> link_;
  std::uint64_t dropped_ = 0;
};

}  // namespace splitnic::lan
