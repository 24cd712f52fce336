// A TAP: frames of the host's own stack, with whole super-frames and partial checksums, are read
// straight into registered memory. The TAP is persistent while it is open, so that the next start
// adopts it after a crash, if it has the expected alias and no other program holds it. It is
// created down; its addresses are up to the user.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/unique_fd.h"
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
  bool has_carrier = true;                // at the start; set_carrier() changes it
};

class TapPort final : public LinkPort {
 public:
  static base::Result<std::unique_ptr<TapPort>> open(const TapOptions& options);
  // Removes the TAP unless options.keep.
  ~TapPort() override;

  ReadBatch read(FrameRing& ring, std::span<base::Bytes> out) override;
  int fd() const override { return fd_.get(); }
  PortState state() override;
  // Sets the flag of the interface, as the host's user would.
  base::Status set_promiscuous(bool on) override { return link_->set_promiscuous(on); }
  // While the TAP is down the kernel refuses this; state() repeats it when the TAP comes up.
  base::Status set_carrier(bool up) override;
  base::Status set_offloads(std::uint32_t mask) override;
  bool is_adopted() const { return is_adopted_; }

 private:
  TapPort(const TapOptions& options, base::UniqueFd fd, std::unique_ptr<NetlinkLink> link,
          bool is_adopted);
  base::Status configure(const TapOptions& options);
  std::uint64_t kernel_drops() const override;
  bool send_one(base::Bytes frame) override;

  base::UniqueFd fd_;
  bool keep_;
  bool is_adopted_;
  bool carrier_wanted_;
  std::uint64_t kernel_drops_before_ = 0;  // of the TAP that was adopted
};

}  // namespace splitnic::lan
