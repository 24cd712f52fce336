// A short connection to an I/O unit that has no interface and no settings: one request to the unit
// over CfgUtil, and its reply. The unit counts it as a host as long as it lasts. Thread: the main
// thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "base/status.h"
#include "control/daemon/carriers.h"
#include "control/daemon/key_options.h"
#include "control/daemon/keyed_carriers.h"
#include "fabric_emul/underlay/idle_wait.h"
#include "fabric_emul/verbs/adapter.h"
#include "messaging/connecting_end.h"
#include "messaging/connection.h"

namespace splitnic::tools {

class UnitSession final : public messaging::ConnectingEnd, private messaging::PairOwner {
 public:
  // `keys` outlives this; with keys it has one peer, the unit.
  UnitSession(control::Endpoint unit, const control::KeyOptions& keys);
  ~UnitSession() override;
  UnitSession(const UnitSession&) = delete;
  UnitSession& operator=(const UnitSession&) = delete;

  base::Status open();
  // Connects, sends the request and returns the data of the reply. An error: no reply within
  // `patience`, or the unit refused the connection or the request, with its reason. REQUIRES
  // open(), once.
  base::Result<std::string> ask(messaging::CfgCode code, base::Duration patience);

 private:
  // An iteration of its loop, and the wait for the next one, until `until` at most.
  void iterate(base::Time until);
  bool step();
  void close();
  base::Error silence() const;
  void end(std::string_view why);

  // messaging::ConnectingEnd
  messaging::Connection* connection() override { return connection_.get(); }
  void on_link_up(fabric::Link& link) override;
  void on_link_down(fabric::Link& link, std::string_view why) override;
  // messaging::PairOwner
  void on_pair_up(messaging::ChannelPair& pair) override;
  void on_pair_down(messaging::ChannelPair& pair, const std::string& why) override;
  messaging::CfgReply on_cfg_request(messaging::ChannelPair& pair,
                                     const messaging::CfgRequest& request) override;

  const control::Endpoint unit_;
  const control::KeyOptions& keys_;
  base::SystemClock clock_;
  base::OsRandom random_;
  const std::uint64_t instance_;
  control::Carrier carrier_;
  control::KeyedCarriers keyed_;
  fabric::Adapter adapter_;
  fabric::IdleWait waiting_{false};
  fabric::Port* port_ = nullptr;
  fabric::PeerAddress at_{};
  fabric::Link* link_ = nullptr;
  std::unique_ptr<messaging::Connection> connection_;
  messaging::CfgCode code_{};
  std::optional<messaging::CfgReply> reply_;
  std::string why_;          // it has ended
  bool is_closing_ = false;  // what ends now is our own doing
};

}  // namespace splitnic::tools
