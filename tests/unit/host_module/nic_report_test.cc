#include "host_module/nic_report.h"

#include <gtest/gtest.h>

namespace splitnic::host {
namespace nic_report_test {

TEST(NicReportTest, text_and_json) {
  NicReport report{.heading = "Settings for nic0"};
  report.rows = {
      {"Speed", std::string("1000Mb/s")}, {"Link detected", true}, {"Queues", std::uint64_t{2}}};
  EXPECT_EQ(report.text(),
            "Settings for nic0:\n\tSpeed: 1000Mb/s\n\tLink detected: yes\n\tQueues: 2\n");
  EXPECT_EQ(report.json(), "{\"speed\":\"1000Mb/s\",\"link-detected\":true,\"queues\":2}\n");
}

TEST(NicReportTest, S001_49_nics_are_a_table_or_a_list) {
  NicReport report;
  report.nics = {{0, 1500, 1000, "02:00:00:00:00:01", true, true, true},
                 {1, 9000, 0, "02:00:00:00:00:02", false, true, false}};
  EXPECT_EQ(report.text(),
            "NIC  LINK  MTU   MAC                SPEED        IN USE\n"
            "0    up    1500  02:00:00:00:00:01  1000 Mbit/s  yes\n"
            "1    down  9000  02:00:00:00:00:02  -            no\n");
  EXPECT_EQ(
      report.json(),
      "{\"nics\":[{\"number\":0,\"link\":\"up\",\"mtu\":1500,\"mac\":\"02:00:00:00:00:01\","
      "\"in_use\":true,\"speed_mbps\":1000,\"duplex\":\"full\"},{\"number\":1,\"link\":\"down\","
      "\"mtu\":9000,\"mac\":\"02:00:00:00:00:02\",\"in_use\":false}]}\n");
}

TEST(NicReportTest, rings_are_in_the_form_of_ethtool) {
  NicReport report{.heading = "Ring parameters for nic0"};
  report.rings.emplace();
  report.rings->add({1088, 2048, 1088, 1000});
  report.rings->add({1088, 2048, 1024, 1000});
  EXPECT_EQ(
      report.text(),
      "Ring parameters for nic0:\n"
      "Pre-set maximums:\nRX:\t\t2176\nRX Mini:\tn/a\nRX Jumbo:\tn/a\nTX:\t\t4096\n"
      "Current hardware settings:\nRX:\t\t2112\nRX Mini:\tn/a\nRX Jumbo:\tn/a\nTX:\t\t2000\n");
  EXPECT_EQ(report.json(), "{\"rx-max\":2176,\"tx-max\":4096,\"rx\":2112,\"tx\":2000}\n");
}

TEST(NicReportTest, channels_are_in_the_form_of_ethtool) {
  NicReport report{.heading = "Channel parameters for nic0"};
  report.channels = {4, 2};
  EXPECT_EQ(report.text(),
            "Channel parameters for nic0:\n"
            "Pre-set maximums:\nRX:\t\tn/a\nTX:\t\tn/a\nOther:\t\tn/a\nCombined:\t4\n"
            "Current hardware settings:\nRX:\t\tn/a\nTX:\t\tn/a\nOther:\t\tn/a\nCombined:\t2\n");
  EXPECT_EQ(report.json(), "{\"combined-max\":4,\"combined\":2}\n");
}

TEST(NicReportTest, numbers_of_one_name_are_added_up) {
  NicReport report;
  report.add("iou.to_host.frames", 3);
  report.add("iou.to_host.bytes", 7);
  report.add("iou.to_host.frames", 4);
  EXPECT_EQ(report.text(), "\tiou.to_host.frames: 7\n\tiou.to_host.bytes: 7\n");
}

TEST(NicReportTest, names_of_the_peer_do_not_control_a_terminal) {
  NicReport report;
  report.add("\x1B[2J", 1);
  EXPECT_EQ(report.text(), "\t?[2J: 1\n");
}

}  // namespace nic_report_test
}  // namespace splitnic::host
