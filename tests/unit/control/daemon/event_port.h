// A frame port for tests of the data thread: it has no frames, only descriptors.
#pragma once

#include <sys/eventfd.h>

#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "lan_bridge/frame_port.h"

namespace splitnic::control {

inline base::UniqueFd make_event() {
  return base::UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
}

class EventPort final : public lan::FramePort {
 public:
  EventPort(std::string name, base::UniqueFd input_fd)
      : input(std::move(input_fd)), name_(std::move(name)) {}

  lan::ReadBatch read(lan::FrameRing& /*ring*/, std::span<base::Bytes> /*out*/) override {
    return {};
  }
  std::size_t write(std::span<const base::Bytes> frames) override { return frames.size(); }
  int fd() const override { return input.get(); }
  int event_fd() const override { return events.get(); }
  bool is_gone() const override { return gone; }
  lan::PortState state() override { return {}; }
  std::uint64_t changes() const override { return changes_read; }
  base::Status set_mtu(std::uint32_t /*mtu*/) override { return {}; }
  base::Status set_mac(const lan::MacAddress& /*mac*/) override { return {}; }
  base::Status set_promiscuous(bool /*on*/) override { return {}; }
  base::Status set_carrier(bool /*up*/) override { return {}; }
  std::uint32_t offloads() const override { return 0; }
  base::Status set_offloads(std::uint32_t /*mask*/) override { return {}; }
  std::string name() const override { return name_; }
  void visit_counters(const base::CounterVisitor& /*visitor*/) const override {}

  base::UniqueFd input;
  base::UniqueFd events = make_event();
  bool gone = false;
  std::uint64_t changes_read = 0;

 private:
  std::string name_;
};

}  // namespace splitnic::control
