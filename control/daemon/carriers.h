// Carriers of the fabric of one program: an underlay for each endpoint, UDP or shared memory, each
// under a capture if the program writes one. Thread: the data thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/status.h"
#include "control/config/values.h"
#include "fabric_emul/underlay/capture_underlay.h"
#include "fabric_emul/underlay/shm_underlay.h"
#include "fabric_emul/underlay/udp_underlay.h"
#include "fabric_emul/underlay/underlay.h"

namespace splitnic::control {

struct CarrierConfig {
  std::string bind_device{};  // UDP: the interface to stay on; "": any
  std::string own_device{};   // UDP: the interface whose frames are carried, never used; "": none
  bool is_awaited =
      false;             // UDP, connecting: as in UdpConfig; of the endpoint only the port counts
  bool uses_gso = true;  // UDP: or one datagram per system call
  bool reports_limits = true;  // UDP: logs what the system lacks; once per process is enough
  // UDP, listening: interfaces whose datagrams are not taken; as in UdpConfig.
  std::vector<std::uint32_t> without_interfaces = {};
  std::size_t clients_max = fabric::ShmConfig{}.clients_max;  // shm, listening
  std::optional<std::vector<std::uint32_t>> users = {};       // shm, listening; as in ShmConfig
  base::Clock* clock = nullptr;                               // the same
};

struct Carrier {
  std::unique_ptr<fabric::Underlay> underlay{};
  fabric::PeerAddress peer{};          // the listener; unset at the listener itself
  std::string local{};                 // "ADDRESS:PORT" of this end; shm: ""
  fabric::ShmUnderlay* shm = nullptr;  // the underlay, if it is one
  fabric::UdpUnderlay* udp = nullptr;  // the same
};
// Without a listener there, a carrier opens all the same.
base::Result<Carrier> connect_carrier(const Endpoint& to, const CarrierConfig& config);
base::Result<Carrier> listen_carrier(const Endpoint& at, const CarrierConfig& config);

// Returns the folder of the sockets at which shm:// meets.
std::string shm_folder();

class Carriers {
 public:
  // `clock` outlives this. `capture_path` "": no capture.
  Carriers(std::string program, std::string capture_path, base::Clock& clock)
      : program_(std::move(program)), capture_path_(std::move(capture_path)), clock_(clock) {}

  // Takes the carrier and returns the underlay for the adapter: its capture, or itself. `name` is
  // that of the capture's interface. All captures are in one file, which is made by the first.
  base::Result<fabric::Underlay*> add(Carrier carrier, const std::string& name);
  // The other end of this carrier is at another address from now on. An error has changed nothing.
  // REQUIRES a carrier of connect_carrier() over UDP, and an address in place of a name.
  base::Status move(std::size_t carrier, const Endpoint& to);
  // From now on those that listen take no datagrams of these interfaces, as in CarrierConfig.
  void set_without_interfaces(const std::vector<std::uint32_t>& indices);
  // Descriptors that the data thread waits on.
  const std::vector<Carrier>& all() const { return carriers_; }
  void visit_counters(const base::CounterVisitor& visitor) const;

 private:
  std::string program_;
  std::string capture_path_;
  base::Clock& clock_;
  std::vector<Carrier> carriers_;
  std::unique_ptr<fabric::PcapngWriter> capture_file_;
  std::vector<std::unique_ptr<fabric::CaptureUnderlay>> captures_;
};

}  // namespace splitnic::control
