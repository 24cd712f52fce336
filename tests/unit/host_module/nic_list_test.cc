// The reply to LIST_NICS, from the message of the I/O unit to the rows of a report. [S001-49]
#include "host_module/nic_list.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "control/daemon/common_options.h"
#include "messaging/cfgutil/cfg_exchange.h"
#include "messaging/cfgutil/cfgutil.pb.h"
#include "messaging/cfgutil/list_nics.h"

namespace splitnic::host {
namespace nic_list_test {

using messaging::CfgReply;
using messaging::CfgStatus;

// Each field has its longest value; the last NIC is the one in use.
std::string list_of(std::uint32_t nics, std::size_t mac_bytes = 6) {
  constexpr std::uint32_t kAny = std::numeric_limits<std::uint32_t>::max();
  messaging::cfg::ListNicsReply list;
  for (std::uint32_t number = 0; number < nics; ++number) {
    messaging::cfg::ListedNic& nic = *list.add_nics();
    nic.set_number(number);
    nic.set_mac(std::string(mac_bytes, '\x02'));
    nic.set_mtu(kAny);
    nic.mutable_link()->set_up(true);
    nic.mutable_link()->set_speed_mbps(kAny);
    nic.mutable_link()->set_full_duplex(true);
    nic.set_in_use(number + 1 == nics);
  }
  return list.SerializeAsString();
}

// Returns the reply that the host gets in a message of channel 0 if the I/O unit has this list.
CfgReply received(const std::string& list) {
  constexpr base::Time kNow{std::chrono::seconds(1)};
  messaging::ContextSource contexts{1};
  messaging::CfgExchange host{contexts, messaging::kMsgMaxControl};
  messaging::CfgExchange unit{contexts, messaging::kMsgMaxControl};
  std::array<std::byte, messaging::kMsgMaxControl> message{};
  CfgReply reply;
  reply.replied = false;
  EXPECT_TRUE(
      host.request(messaging::CfgCode::kListNics, {}, [&](const CfgReply& got) { reply = got; }));
  const base::Bytes request = base::Bytes(message).first(host.next_message(kNow, message));
  EXPECT_TRUE(unit.on_request(*messaging::CfgUtilRequest::parse(request),
                              [&](const messaging::CfgRequest&) {
                                return CfgReply{CfgStatus::kOk, list};
                              }));
  const base::Bytes response = base::Bytes(message).first(unit.next_message(kNow, message));
  EXPECT_TRUE(host.on_reply(*messaging::CfgUtilReply::parse(response)));
  EXPECT_TRUE(reply.replied);
  return reply;
}

TEST(NicListTest, S001_49_the_list_of_the_largest_unit_fits_one_reply) {
  const std::string list = list_of(control::kNicsMax);
  EXPECT_EQ(list.size() + 2, messaging::list_nics_bytes_max(control::kNicsMax))
      << "0, the number of the first, has no field";
  const CfgReply reply = received(list);
  ASSERT_EQ(reply.status, CfgStatus::kOk);
  NicReport report;
  ASSERT_TRUE(add_nics(reply.data, report));
  ASSERT_EQ(report.nics.size(), control::kNicsMax);
  EXPECT_EQ(report.nics.front().number, 0U);
  EXPECT_FALSE(report.nics.front().is_in_use);
  const ReportedNic& last = report.nics.back();
  EXPECT_EQ(last.number, control::kNicsMax - 1);
  EXPECT_EQ(last.mtu, std::numeric_limits<std::uint32_t>::max());
  EXPECT_EQ(last.speed_mbps, std::numeric_limits<std::uint32_t>::max());
  EXPECT_EQ(last.mac, "02:02:02:02:02:02");
  EXPECT_TRUE(last.is_up && last.is_full_duplex && last.is_in_use);
}

TEST(NicListTest, P_CFG_9_a_list_that_is_longer_than_a_message_is_a_device_error) {
  const CfgReply reply = received(list_of(2 * control::kNicsMax));
  EXPECT_EQ(reply.status, CfgStatus::kDeviceError);
  EXPECT_TRUE(reply.data.empty());
}

TEST(NicListTest, S001_49_what_is_malformed) {
  NicReport report;
  EXPECT_FALSE(add_nics(list_of(control::kNicsMax + 1), report)) << "more than a unit may have";
  EXPECT_FALSE(add_nics(list_of(1, 5), report)) << "an address of 5 bytes";
  EXPECT_FALSE(add_nics(list_of(1, 7), report)) << "an address of 7 bytes";
  EXPECT_FALSE(add_nics("\xFF", report)) << "no message";
}

}  // namespace nic_list_test
}  // namespace splitnic::host
