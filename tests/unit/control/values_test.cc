#include "control/config/values.h"

#include <gtest/gtest.h>

#include "fabric_emul/wire/ids.h"

namespace splitnic::control {
namespace values_test {

IpAddress ip(std::string_view text) {
  const auto parsed = parse_ip(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed.value_or(IpAddress{});
}

TEST(ValuesTest, endpoint_v4) {
  const auto endpoint = parse_endpoint("udp://192.0.2.7:7471");
  ASSERT_TRUE(endpoint.has_value());
  EXPECT_EQ(endpoint->kind, Endpoint::Kind::kUdp);
  EXPECT_EQ(endpoint->host, "192.0.2.7");
  EXPECT_EQ(endpoint->port, 7471);
  EXPECT_EQ(endpoint->ip, ip("192.0.2.7"));
  EXPECT_FALSE(endpoint->is_name());
  EXPECT_EQ(endpoint->text(), "udp://192.0.2.7:7471");
}

TEST(ValuesTest, endpoint_v6_with_and_without_zone) {
  const auto plain = parse_endpoint("udp://[2001:db8::1]:1");
  ASSERT_TRUE(plain.has_value());
  EXPECT_TRUE(plain->ip->is_v6());
  EXPECT_EQ(plain->text(), "udp://[2001:db8::1]:1");
  const auto zone = parse_endpoint("udp://[fe80::1%eth0]:65535");
  ASSERT_TRUE(zone.has_value());
  EXPECT_EQ(zone->zone, "eth0");
  EXPECT_EQ(zone->ip, ip("fe80::1"));
  EXPECT_EQ(zone->text(), "udp://[fe80::1%eth0]:65535");
}

TEST(ValuesTest, endpoint_name_and_shm) {
  const auto name = parse_endpoint("udp://iou-1.example.org:7471");
  ASSERT_TRUE(name.has_value());
  EXPECT_TRUE(name->is_name());
  const auto shm = parse_endpoint("shm://demo");
  ASSERT_TRUE(shm.has_value());
  EXPECT_EQ(shm->kind, Endpoint::Kind::kShm);
  EXPECT_EQ(shm->host, "demo");
  EXPECT_FALSE(shm->is_name());
  EXPECT_EQ(shm->text(), "shm://demo");
}

TEST(ValuesTest, a_queue_is_at_the_port_or_the_name_that_follows) {
  const auto at = [](const char* text, std::uint32_t queue) {
    return parse_endpoint(text)->of_queue(queue).value().text();
  };
  for (const char* text : {"udp://192.0.2.7:7471", "udp://[fe80::1%eth0]:7471", "shm://demo"}) {
    EXPECT_EQ(at(text, 0), text);
  }
  EXPECT_EQ(at("udp://192.0.2.7:7471", 3), "udp://192.0.2.7:7474");
  EXPECT_EQ(at("udp://[fe80::1%eth0]:7471", 1), "udp://[fe80::1%eth0]:7472");
  EXPECT_EQ(at("udp://iou:7471", 1), "udp://iou:7472");
  EXPECT_EQ(at("shm://demo", 2), "shm://demo.2");
  EXPECT_EQ(at("udp://192.0.2.7:65534", 1), "udp://192.0.2.7:65535");
  const auto beyond = parse_endpoint("udp://192.0.2.7:65534")->of_queue(2);
  ASSERT_FALSE(beyond.has_value());
  EXPECT_NE(beyond.error().text().find("port 65536"), std::string::npos) << beyond.error().text();
}

TEST(ValuesTest, B_14_scheme_and_port_of_a_unit_may_be_left_out) {
  const std::vector<std::pair<const char*, const char*>> typed = {
      {"192.0.2.7", "udp://192.0.2.7:7471"},
      {"192.0.2.7:8000", "udp://192.0.2.7:8000"},
      {"udp://192.0.2.7", "udp://192.0.2.7:7471"},
      {"udp://192.0.2.7:8000", "udp://192.0.2.7:8000"},
      {"unit.example", "udp://unit.example:7471"},
      {"unit.example:8000", "udp://unit.example:8000"},
      {"0.0.0.0", "udp://0.0.0.0:7471"},
      {"::", "udp://[::]:7471"},
      {"::1", "udp://[::1]:7471"},
      {"2001:db8::7", "udp://[2001:db8::7]:7471"},
      {"udp://2001:db8::7", "udp://[2001:db8::7]:7471"},
      {"2001:db8:0:0:0:0:0:7", "udp://[2001:db8:0:0:0:0:0:7]:7471"},
      {"[2001:db8::7]", "udp://[2001:db8::7]:7471"},
      {"[2001:db8::7]:8000", "udp://[2001:db8::7]:8000"},
      {"fe80::a%eth0", "udp://[fe80::a%eth0]:7471"},
      {"[fe80::a%eth0]", "udp://[fe80::a%eth0]:7471"},
      {"shm://demo", "shm://demo"}};
  for (const auto& [text, whole] : typed) {
    const auto endpoint = parse_unit_endpoint(text);
    ASSERT_TRUE(endpoint.has_value()) << text << ": " << endpoint.error().text();
    EXPECT_EQ(endpoint->text(), whole);
    EXPECT_EQ(parse_unit_endpoint(endpoint->text())->text(), whole);
    EXPECT_EQ(parse_peer_place(text)->text(), whole);
  }
}

TEST(ValuesTest, B_14_what_could_be_two_addresses_and_what_is_none) {
  const auto two = parse_unit_endpoint("2001:db8::7:7471");
  ASSERT_FALSE(two.has_value());
  EXPECT_EQ(two.error().text(),
            "'2001:db8::7:7471' can be read in two ways: [2001:db8::7:7471], or "
            "[2001:db8::7]:7471: give the brackets");
  for (const char* text : {"",
                           "udp://",
                           ":7471",
                           ":",
                           "192.0.2.7:",
                           "192.0.2.7:x",
                           "192.0.2.300",
                           "tcp://192.0.2.7",
                           "udp:192.0.2.7",
                           "[]",
                           "[192.0.2.7]",
                           "[2001:db8::7",
                           "[2001:db8::7]8000",
                           "2001:db8::x",
                           "1:2:3",
                           "fe80::a%",
                           "-name",
                           "na me",
                           "iou:1?via=sw",
                           "shm://",
                           "shm://a:1"}) {
    const auto endpoint = parse_unit_endpoint(text);
    ASSERT_FALSE(endpoint.has_value()) << text;
    EXPECT_NE(endpoint.error().text().find(text), std::string::npos) << "quotes what was typed";
  }
}

TEST(ValuesTest, B_14_a_node_behind_a_switch_in_short) {
  for (const char* text : {"udp://office:1?via=10.0.0.1:7471", "office:1?via=10.0.0.1:7471",
                           "office?via=10.0.0.1", "udp://office?via=10.0.0.1"}) {
    const auto place = parse_peer_place(text);
    ASSERT_TRUE(place.has_value()) << text << ": " << place.error().text();
    EXPECT_EQ(place->text(), "udp://office:1?via=10.0.0.1:7471");
  }
  EXPECT_EQ(parse_peer_place("office?via=[fd00::1]:7500")->text(),
            "udp://office:1?via=[fd00::1]:7500");
  EXPECT_EQ(parse_peer_place("shm://office?via=sw")->text(), "shm://office?via=sw");
  std::vector<std::uint32_t> paths;
  for (const char* text :
       {"shm://office?via=sw&path=3", "udp://office:1?via=10.0.0.1:7471&path=127",
        "shm://office?via=sw&path=all"}) {
    const auto place = parse_peer_place(text);
    ASSERT_TRUE(place) << text;
    paths.push_back(place->path);
    EXPECT_EQ(place->text(), text);
  }
  EXPECT_EQ(paths, (std::vector<std::uint32_t>{3, 127, fabric::kAllPaths}));
  EXPECT_EQ(parse_peer_place("office?via=10.0.0.1&path=0")->text(),
            "udp://office:1?via=10.0.0.1:7471");
  for (const char* text :
       {"office:2?via=sw:1", "off ice?via=sw:1", "?via=sw:1", "office?via=", "office?via=sw:x",
        "office?via=sw:1&path=128", "office?via=sw:1&path=al", "office?via=sw:1&path=",
        "office?via=sw:1&path=-1", "office&path=1", "shm://office:1?via=sw"}) {
    EXPECT_FALSE(parse_peer_place(text).has_value()) << text;
  }
}

TEST(ValuesTest, endpoint_refused) {
  for (const char* text : {"",
                           "192.0.2.7:7471",
                           "tcp://192.0.2.7:7471",
                           "udp://",
                           "udp://192.0.2.7",
                           "udp://:7471",
                           "udp://192.0.2.7:0",
                           "udp://192.0.2.7:65536",
                           "udp://192.0.2.7:",
                           "udp://192.0.2.7:7x",
                           "udp://192.0.2.300:7471",
                           "udp://192.0.2:1",
                           "udp://2001:db8::1:7471",
                           "udp://[]:1",
                           "udp://[192.0.2.1]:1",
                           "udp://[name]:1",
                           "udp://[::1%]:1",
                           "udp://[::1%a/b]:1",
                           "udp://-name:1",
                           "udp://na me:1",
                           "udp://name:-1",
                           "shm://",
                           "shm://a/b",
                           "shm://..",
                           "udp://iou:1?via=sw:2"}) {
    const auto endpoint = parse_endpoint(text);
    ASSERT_FALSE(endpoint.has_value()) << text;
    EXPECT_NE(endpoint.error().text().find(text), std::string::npos) << "quotes what was typed";
  }
}

TEST(ValuesTest, cidr) {
  const Cidr block = parse_cidr("192.0.2.128/25").value();
  EXPECT_TRUE(block.contains(ip("192.0.2.128")));
  EXPECT_TRUE(block.contains(ip("192.0.2.255")));
  EXPECT_TRUE(block.contains(ip("::ffff:192.0.2.200"))) << "a mapped address is the IPv4 one";
  EXPECT_FALSE(block.contains(ip("192.0.2.127")));
  EXPECT_FALSE(block.contains(ip("192.0.3.128")));
  EXPECT_FALSE(block.contains(ip("::192.0.2.128")));
  EXPECT_TRUE(parse_cidr("0.0.0.0/0").value().contains(ip("203.0.113.1")));
  EXPECT_FALSE(parse_cidr("0.0.0.0/0").value().contains(ip("::1")));
  const Cidr v6 = parse_cidr("fd00::/8").value();
  EXPECT_TRUE(v6.contains(ip("fdff::1")));
  EXPECT_FALSE(v6.contains(ip("fe00::1")));
  const Cidr one = parse_cidr("192.0.2.7").value();
  EXPECT_EQ(one.prefix_bits, 32U);
  EXPECT_TRUE(one.contains(ip("192.0.2.7")));
  EXPECT_FALSE(one.contains(ip("192.0.2.6")));
}

TEST(ValuesTest, cidr_refused) {
  for (const char* text : {"", "/24", "192.0.2.0/", "192.0.2.0/33", "192.0.2.0/-1", "192.0.2.1/24",
                           "fd00::/129", "fd00::1/64", "name/24", "192.0.2.0/24/24"}) {
    EXPECT_FALSE(parse_cidr(text).has_value()) << text;
  }
}

TEST(ValuesTest, mac) {
  const lan::MacAddress mac = parse_mac("02:aB:00:fF:10:01").value();
  EXPECT_EQ(mac, (lan::MacAddress{0x02, 0xAB, 0x00, 0xFF, 0x10, 0x01}));
  EXPECT_EQ(mac_text(mac), "02:ab:00:ff:10:01");
  for (const char* text :
       {"", "02:ab:00:ff:10", "02:ab:00:ff:10:01:02", "02-ab-00-ff-10-01", "02:ab:00:ff:10:0g",
        "01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "2:ab:00:ff:10:011"}) {
    EXPECT_FALSE(parse_mac(text).has_value()) << text;
  }
}

TEST(ValuesTest, lan_port) {
  const PortSpec bare = parse_lan_port("eth1").value();
  EXPECT_EQ(bare.kind, PortSpec::Kind::kPcap);
  EXPECT_EQ(bare.interface, "eth1");
  EXPECT_EQ(parse_lan_port("pcap:eth1")->kind, PortSpec::Kind::kPcap);
  EXPECT_EQ(parse_lan_port("pcap:eth1")->text, "pcap:eth1");
  for (const std::string text :
       {"eth1,inject=pcap", "pcap:eth1,inject=pcap", "eth1,inject=packet"}) {
    const PortSpec port = parse_lan_port(text).value();
    EXPECT_EQ(port.kind, PortSpec::Kind::kPcap);
    EXPECT_EQ(port.interface, "eth1");
    EXPECT_EQ(port.text, text);
  }
  EXPECT_EQ(parse_lan_port("eth1,inject=packet")->injection, lan::Injection::kPacket);
  EXPECT_EQ(parse_lan_port("eth1,inject=pcap")->injection, lan::Injection::kPcap);
  for (const std::string option : {"", "inject", "inject=", "inject=tap", "inject=pcap,", "loop"}) {
    const std::string text = "pcap:eth1," + option;
    EXPECT_EQ(parse_lan_port(text).error().text(),
              "'" + option + "' of '" + text + "' is neither inject=packet nor inject=pcap");
  }
  EXPECT_EQ(parse_lan_port("wifi:x").error().text(),
            "'wifi:x' is not pcap:IF, packet:IF, tap:NAME or file:IN.pcap,OUT.pcap");
  EXPECT_EQ(parse_lan_port("packet:eth1.7")->kind, PortSpec::Kind::kPacket);
  EXPECT_EQ(parse_lan_port("packet:eth1.7")->interface, "eth1.7");
  EXPECT_EQ(parse_lan_port("tap:lan0")->kind, PortSpec::Kind::kTap);
  const PortSpec file = parse_lan_port("file:in.pcap,/tmp/out.pcap,loop,speed=2.5").value();
  EXPECT_EQ(file.kind, PortSpec::Kind::kFile);
  EXPECT_EQ(file.input, "in.pcap");
  EXPECT_EQ(file.output, "/tmp/out.pcap");
  EXPECT_TRUE(file.is_looped);
  EXPECT_EQ(file.speed, 2.5);
  EXPECT_EQ(parse_lan_port("file:,o")->output, "o");
  for (const char* text : {"",
                           "pcap:",
                           "pcap:,inject=pcap",
                           "eth1,",
                           "eth1,inject=pcap,",
                           "eth1,speed=2",
                           "packet:",
                           "packet:eth1,inject=pcap",
                           "tap:",
                           "tap:a/b",
                           "tap:nic%d",
                           "eth 1",
                           "averylonginterface",
                           "..",
                           "usb:eth1",
                           ":eth1",
                           "file:",
                           "file:a",
                           "file:,",
                           "file:a,b,twice",
                           "file:a,b,speed=",
                           "file:a,b,speed=0",
                           "file:a,b,speed=-1",
                           "file:a,b,speed=1x",
                           "file:a,b,speed=nan",
                           "file:a,b,speed=fast"}) {
    EXPECT_FALSE(parse_lan_port(text).has_value()) << text;
  }
}

TEST(ValuesTest, tap) {
  EXPECT_EQ(parse_tap("nic0")->kind, PortSpec::Kind::kTap);
  EXPECT_EQ(parse_tap("nic0")->interface, "nic0");
  EXPECT_EQ(parse_tap("file:a,b")->kind, PortSpec::Kind::kFile);
  EXPECT_FALSE(parse_tap("tap:nic0").has_value());
  EXPECT_FALSE(parse_tap("").has_value());
}

}  // namespace values_test
}  // namespace splitnic::control
