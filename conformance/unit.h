// The suite as an I/O unit, against a host: the host begins the link and the connection, so the
// unit waits for both. It replies to INIT and to CfgUtil requests unasked, and keeps what the host
// has sent of them for the case; each reply may be switched off or replaced.
// unit_link.cc: INIT; unit_connection.cc: MGMT; unit_nic.cc: CfgUtil.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/end.h"
#include "messaging/wire/cfg_util.h"

namespace splitnic::conformance {

// The link to the host, which outlives a case.
struct UnitLink {
  std::uint64_t instance = 1;  // of the unit
  std::uint64_t token = 1;     // of its CHALLENGE
  bool is_up = false;
  std::uint16_t host_mcp_max = 0;  // of the host's INIT
  fabric::Eui64 host_eui64{};
  bool host_takes_fragments = false;
  std::uint64_t host_instance = 0;
  // The instance of the unit that the host was linked to before this one, as long as it may not
  // have taken READY of this one. 0: none.
  std::uint64_t left_instance = 0;
  bool was_up = false;  // with this instance
  // Of the first HELLO: the suite follows.
  std::optional<fabric::LinkProfile> profile{};
  base::Duration reconnect{};  // a host that is to come back does so within this time
};

// An INIT or a CfgUtil request of the host, and when it came.
struct SeenInit {
  base::Time at{};
  fabric::Init init{};
  std::size_t datagram_bytes = 0;
};
struct SeenRequest {
  base::Time at{};
  messaging::TransactionContext context{};
  messaging::CfgCode code{};
  ByteVector message;
  std::string data;  // without its padding
};

class Unit final : public End {
 public:
  // `line`, `link`, `random` and `outcome` outlive this.
  Unit(Line& line, UnitLink& link, const EndConfig& config, base::Random& random, Outcome& outcome);

  // Link.
  fabric::LinkProfile profile() const override { return link_.profile.value_or(config().profile); }
  // Waits until the host has linked.
  bool await_link();
  // The unit is another process from now on: it knows no host.
  void begin_instance();
  // BYE, and then another process: the host begins once more.
  void end_link();
  fabric::Init reply_to(fabric::InitStep step, const fabric::Init& init);
  // Waits for an INIT of this kind that came after the first `seen` of them.
  std::optional<SeenInit> await_seen(fabric::InitStep step, std::size_t seen,
                                     std::string_view expected);
  const std::vector<SeenInit>& inits() const { return inits_; }
  base::Duration reconnect() const { return link_.reconnect; }

  // Connection.
  // Waits for a CONNECT_REQ with a transaction that has no CONNECT_REP or CONNECT_REJ yet, and
  // follows its arrangement of the channels.
  std::optional<Event> await_request(std::string_view expected = "CONNECT_REQ");
  // CONNECT_REP of fresh queue pairs. `capabilities` empty: those of its terms.
  fabric::Mgmt reply_of(const fabric::Mgmt& request, std::string_view capabilities = {});
  // Takes the host's numbers, sends the reply, and repeats it for a repeated CONNECT_REQ.
  bool accept(const fabric::Mgmt& request, const fabric::Mgmt& reply);
  // CONNECT_REJ, which repetitions of the request get too.
  void reject(const fabric::Mgmt& request, fabric::MgmtReject code, std::string_view text = {});
  // Link, connection and pools, and the NIC as the host wants it.
  bool attach() override;
  // The same up to the connection and the host's pools.
  bool connect();
  // Waits for START.
  bool start_nic() override;
  void leave() override;
  std::size_t rtus() const { return rtus_; }

  // CfgUtil.
  const std::vector<SeenRequest>& requests() const { return requests_; }
  // Waits for a request of this code that came after the first `seen` requests.
  std::optional<SeenRequest> await_cfg(messaging::CfgCode code, std::size_t seen,
                                       std::string_view expected);
  void reply(const SeenRequest& request, messaging::CfgStatus status, std::string_view data);
  // The reply of an I/O unit that grants what is requested.
  void reply(const SeenRequest& request);

  // Whether a host that asks for the mode send is served: by default the case is skipped.
  bool serves_mode_send = false;
  bool replies_to_hello = true;
  bool replies_to_repeats = true;  // CONNECT_REQ
  // In place of the reply to a request. Returns false if the usual reply is to be sent.
  std::function<bool(const SeenRequest&)> on_request;

 private:
  void follow(const fabric::Mgmt& request);
  void take_init(const Event& event) override;
  void take_mgmt(const Event& event) override;
  bool is_of_link_before(const fabric::Mgmt& mgmt) override;
  bool take_cfg_request(const Event& event) override;
  void set_linked(bool is_linked) override;
  template <class Found>
  bool await_found(base::Time until, Found&& found);

  UnitLink& link_;
  std::vector<SeenInit> inits_;
  std::vector<SeenRequest> requests_;
  std::size_t rtus_ = 0;
  ByteVector rep_;                                  // the last CONNECT_REP, as it was sent
  std::map<std::uint64_t, ByteVector> rejections_;  // the same of each CONNECT_REJ, by transaction
};

}  // namespace splitnic::conformance
