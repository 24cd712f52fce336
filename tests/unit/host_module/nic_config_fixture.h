// A NicConfig with its interface, connected to a remote NIC that knows it, or does not.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "host_module/nic_config.h"
#include "messaging/cfgutil/cfgutil.pb.h"
#include "tests/sim/fake_port.h"
#include "tests/support/channel_fixture.h"

namespace splitnic::host {
namespace nic_config_test {

using messaging::CfgCode;
using messaging::CfgReply;
using messaging::CfgRequest;
using messaging::CfgStatus;
using namespace std::chrono_literals;

inline constexpr lan::MacAddress kMac{0x02, 0, 0, 0, 0, 0x01};
inline constexpr std::uint32_t kGranted = lan::kOffloadChecksum | lan::kOffloadTso4;

class NicConfigFixture : public ::testing::Test {
 protected:
  NicConfigFixture() : tap_(kMac), nic_(tap_, {"host"}) {
    tap_.mutable_state().mtu = 1500;
    known_.mac = kMac;
    known_.all_multicast = true;
    known_.mtu = 1500;
    known_.offloads = kGranted;
    harness_.unit().make_reply = [this](const CfgRequest& request) { return reply(request); };
  }
  void configure() { configure(nic_); }
  void configure(NicConfig& nic) {
    if (!harness_.connect()) FAIL() << "no connection";
    nic.on_pair_up(*harness_.host().pair, harness_.clock.now());
    EXPECT_TRUE(harness_.run_until([&] {
      nic.pump(harness_.clock.now());
      return nic.configured();
    }));
  }
  void run_pumped(base::Duration span) { run_pumped(nic_, span); }
  void run_pumped(NicConfig& nic, base::Duration span) {
    harness_.run_until(
        [&] {
          nic.pump(harness_.clock.now());
          return false;
        },
        span);
  }
  void user_sets_mac(const lan::MacAddress& mac) {
    tap_.mutable_state().mac = mac;
    nic_.on_tap_state(harness_.clock.now());
  }
  void lan_has_mtu(std::uint32_t mtu) { lan_has_mtu(nic_, mtu); }
  void lan_has_link(bool is_up, std::uint32_t speed_mbps = 0) {
    messaging::cfg::EventRequest event;
    event.set_generation(++generation_);
    event.mutable_link()->set_up(is_up);
    event.mutable_link()->set_speed_mbps(speed_mbps);
    const std::string data = event.SerializeAsString();
    nic_.on_request({CfgCode::kEvent, base::as_bytes(data)}, harness_.clock.now());
  }
  void lan_has_mtu(NicConfig& nic, std::uint32_t mtu) {
    messaging::cfg::EventRequest event;
    event.set_generation(++generation_);
    event.mutable_link()->set_up(true);
    event.set_mtu(mtu);
    const std::string data = event.SerializeAsString();
    nic.on_request({CfgCode::kEvent, base::as_bytes(data)}, harness_.clock.now());
  }
  void user_sets_mtu(std::uint32_t mtu) {
    tap_.mutable_state().mtu = mtu;
    nic_.on_tap_state(harness_.clock.now());
  }
  std::uint32_t mtu() { return tap_.state().mtu; }
  int asked(CfgCode code) { return harness_.unit().asked[code]; }
  int asked_settings() {
    return asked(CfgCode::kSetMac) + asked(CfgCode::kSetMtu) + asked(CfgCode::kSetFilter);
  }

  // Another one for the same interface, in place of nic_.
  NicConfig& make_nic(NicConfig::Settings settings) {
    return *(other_ = std::make_unique<NicConfig>(tap_, std::move(settings)));
  }

  sim::FakePort tap_;
  NicConfig nic_;
  std::unique_ptr<NicConfig> other_;
  messaging::NicState known_;     // what the unit has of us
  bool unit_knows_state_ = true;  // false: an older program
  bool refuses_mac_ = false;
  bool refuses_init_ = false;
  bool refuses_promiscuous_ = false;
  int busy_replies_ = 0;
  std::uint32_t granted_ = kGranted;
  std::uint32_t lan_mtu_ = 1500;
  // Ends first: a request that is open then fails, and a NicConfig hears of it.
  messaging::harness::ChannelFixture harness_;

 private:
  std::uint64_t generation_ = 0;
  CfgReply reply(const CfgRequest& request) {
    if (request.code == CfgCode::kInitNic) {
      if (refuses_init_) return {CfgStatus::kDeviceError, {}};
      messaging::cfg::InitNicReply reply;
      reply.set_mtu(lan_mtu_);
      reply.set_mtu_max(lan_mtu_);
      reply.mutable_link()->set_up(true);
      reply.set_features_granted(granted_);
      return {CfgStatus::kOk, reply.SerializeAsString()};
    }
    if (request.code == CfgCode::kGetState) {
      if (!unit_knows_state_) return {CfgStatus::kUnknown, {}};
      messaging::cfg::GetStateReply reply;
      reply.set_digest(known_.digest());
      return {CfgStatus::kOk, reply.SerializeAsString()};
    }
    if (busy_replies_ > 0) {
      --busy_replies_;
      return {CfgStatus::kBusy, {}};
    }
    if (request.code == CfgCode::kSetMac && refuses_mac_) return {CfgStatus::kNotPermitted, {}};
    if (request.code == CfgCode::kSetFilter && refuses_promiscuous_) {
      messaging::cfg::SetFilterRequest ask;
      EXPECT_TRUE(ask.ParseFromString(std::string(base::as_text(request.data))));
      if (ask.filter().promiscuous()) return {CfgStatus::kNotPermitted, {}};
    }
    return {CfgStatus::kOk, {}};
  }
};

inline std::size_t lines_with(const std::string& text, const std::string& log) {
  std::size_t count = 0;
  for (std::size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1))
    ++count;
  return count;
}

}  // namespace nic_config_test
}  // namespace splitnic::host
