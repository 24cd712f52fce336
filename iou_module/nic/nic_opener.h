// Opens a NIC once more after the unit has given up the right to do that: a NIC that was deleted
// and is back, or that was not there at the start. A second process keeps the right, and opens
// nothing but the NICs of --lan, with the options of the start; so whoever takes over the unit
// through a bug cannot read another interface. docs/security.md#sandbox [B-05] Thread: begun by the
// only thread of the program, then used by the data thread of queue 0.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "control/daemon/side_process.h"
#include "lan_bridge/ports/port_factory.h"

namespace splitnic::iou {

class NicOpener {
 public:
  static constexpr base::Duration kRetryAfter = std::chrono::seconds(1);
  static constexpr base::Duration kLooksEvery = std::chrono::milliseconds(2);

  struct Opened {
    std::size_t nic;
    base::Result<std::vector<base::UniqueFd>> sockets;  // of each queue, for FramePort::return_by()
  };

  // `nics`: those of --lan. `is_restricted`: the process keeps the rights for interfaces only.
  static base::Result<std::unique_ptr<NicOpener>> begin(std::vector<lan::PortSpec> nics,
                                                        lan::PortOptions options,
                                                        std::size_t queues_max, bool is_restricted);
  // Nothing is opened any more.
  bool has_ended() const { return !process_->is_alive(); }
  // From now on, and until step() returns it, this NIC is to be opened with that many queues, at
  // most once in kRetryAfter; may repeat.
  void request(std::size_t nic, std::size_t queues);
  // Asks for a NIC that is to be opened, or returns the one that was asked for.
  std::optional<Opened> step(base::Time now);
  // Returns when step() is due.
  base::Time deadline() const;

 private:
  explicit NicOpener(std::unique_ptr<control::SideProcess> process, std::size_t nics)
      : process_(std::move(process)), nics_(nics) {}

  struct Nic {
    std::size_t queues = 0;  // 0: is not to be opened
    base::Time not_before{};
  };
  base::Result<std::vector<base::UniqueFd>> read(control::SideProcess::Packet packet) const;

  std::unique_ptr<control::SideProcess> process_;
  std::vector<Nic> nics_;
  std::optional<std::size_t> asked_{};  // the NIC that a reply is awaited for
  base::Time look_at_{};
};

}  // namespace splitnic::iou
