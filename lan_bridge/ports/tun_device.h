// A TUN: an interface of the kernel that carries IPv6 datagrams without a link layer, so that the
// routes of the kernel lead to and from a fabric. One that exists is taken as it is found, if no
// program holds it; else it is made, up and with the MTU given, and goes with this object. Its
// addresses are up to the user. Thread: its owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "lan_bridge/datagram_port.h"

namespace splitnic::lan {

// Opens /dev/net/tun, which makes TAPs and TUNs. An error has what to do.
base::Result<base::UniqueFd> open_tun_file();

class TunDevice final : public DatagramPort {
 public:
  // REQUIRES the name of an interface.
  static base::Result<std::unique_ptr<TunDevice>> open(const std::string& name, std::uint32_t mtu);

  int fd() const override { return fd_.get(); }
  std::size_t read(base::MutableBytes out) override;
  bool write(base::Bytes datagram) override;

 private:
  explicit TunDevice(base::UniqueFd fd) : fd_(std::move(fd)) {}
  base::UniqueFd fd_;
};

}  // namespace splitnic::lan
