// Keeps the remote NIC as the host's interface is, and the interface as the remote NIC is: what the
// host's user sets (MAC, MTU, promiscuous, up and down) goes out as CfgUtil requests, what the I/O
// unit tells (link, MTU) is put on the interface. One request at a time; what the peer has
// acknowledged is remembered, and a new pair begins with INIT_NIC and GET_STATE, so only what
// differs is sent again. Thread: the data thread.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "lan_bridge/frame_port.h"
#include "messaging/cfgutil/nic_state.h"
#include "messaging/channel_pair.h"

namespace splitnic::host {

class NicConfig {
 public:
  struct Wishes {
    std::string node_name;
    bool takes_lan_mac = false;
    // None: the interface has the LAN's MTU, until the user sets another.
    std::optional<std::uint32_t> mtu{};
  };
  NicConfig(lan::FramePort& tap, Wishes wishes);

  void on_pair_up(messaging::ChannelPair& pair, base::Time now);
  void on_pair_down();
  // The fabric's link is lost for now: no carrier until it is back. The pair lives on, so no EVENT
  // follows.
  void on_link_lost();
  void on_link_back();
  // The interface changed (netlink) or may have.
  void on_tap_state(base::Time now);
  // When pump() is to be called again at the latest.
  base::Time deadline() const;
  // A CfgUtil request of the I/O unit: EVENT, ECHO, GET_VERSION, ANNOUNCE; the others are not for a
  // host.
  messaging::CfgReply on_request(const messaging::CfgRequest& request);
  // Up or down for the LAN side without touching the interface (`splitnic set link`).
  void set_started(bool started, base::Time now) {
    is_held_down_ = !started;
    pump(now);
  }
  // Sends the next difference, if any.
  void pump(base::Time now);

  // ANNOUNCE came since the last call: the LAN is to hear where our addresses are.
  bool take_announce() { return std::exchange(is_announce_due_, false); }

  bool configured() const { return configured_; }
  bool lan_link() const { return lan_link_; }
  std::uint32_t mtu() const { return wanted_.mtu; }
  std::uint32_t features() const { return features_; }
  const lan::MacAddress& mac() const { return wanted_.mac; }

 private:
  void send_init(base::Time now);
  void ask_state();
  messaging::NicState wanted_state() const;
  void send_filter();
  bool request(messaging::CfgCode code, const std::string& data, messaging::CfgDone done);
  void apply_carrier();
  void follow_mtu();
  bool is_refused(const lan::MacAddress& mac) const { return refused_mac_ == mac; }

  lan::FramePort& tap_;
  const Wishes wishes_;
  // The user's; the interface has the smaller of this and the LAN's.
  std::optional<std::uint32_t> wanted_mtu_;
  bool is_mtu_adopted_ = false;  // wanted_mtu_ was found on the interface, whoever put it there
  std::uint32_t lan_mtu_ = 0;    // 0: not known yet
  messaging::ChannelPair* pair_ = nullptr;
  bool busy_ = false;
  bool has_no_slot_ = false;  // others' requests take all: the turn that ends one calls pump()
  bool initialised_ = false;  // INIT_NIC was answered
  bool compared_ = false;     // so was GET_STATE
  bool configured_ = false;   // everything wanted is acknowledged
  bool lan_link_ = false;
  bool is_link_lost_ = false;  // the fabric's, for now
  bool filter_sent_ = false;
  bool is_held_down_ = false;
  bool is_announce_due_ = false;
  std::uint32_t features_ = 0;
  lan::PortState wanted_;
  std::optional<lan::PortState> acknowledged_;  // fields that were sent and answered
  std::optional<lan::MacAddress> refused_mac_;
  base::Time init_again_{};              // INIT_NIC was refused: not before
  base::Time ask_again_ = base::kNever;  // for it: its owner may have left
  std::uint64_t generation_ = 0;         // of the newest EVENT
  std::uint64_t epoch_ = 0;              // of the pair: answers of an old one are ignored
};

}  // namespace splitnic::host
