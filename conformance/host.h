// The suite as a host, against an I/O unit: it begins the link and the connection.
// host_link.cc: INIT; host_connection.cc: MGMT.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "conformance/end.h"

namespace splitnic::conformance {

class Host : public End {
 public:
  using End::End;

  // Link.
  // HELLO to READY. REFUSE is REJECTED.
  bool link();
  // The next INIT that is no probe; without one the case ends with `expected`.
  std::optional<fabric::Init> await_init(std::string_view expected);
  // A HELLO whose reply must be the next INIT: what was sent before it was dropped.
  bool expect_no_init(std::string_view expected);
  void begin_instance(std::uint64_t instance);

  // Connection.
  // CONNECT_REQ of a fresh transaction for two new queue pairs, with these capabilities.
  fabric::Mgmt request(std::string_view capabilities);
  // Sends a CONNECT_REQ and returns the reply. While the target refuses it because of a limit of
  // rate another one follows: `request` gets its transaction.
  std::optional<Event> ask(fabric::Mgmt& request);
  // A refusal is REJECTED.
  bool attach() override;
  bool connect();
  // INIT_NIC, SET_MAC of mac() and START.
  bool start_nic() override;
  void leave() override;

 private:
  void take_init(const Event& event) override;
  bool take_cfg_request(const Event& event) override;
};

}  // namespace splitnic::conformance
