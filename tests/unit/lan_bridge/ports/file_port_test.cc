// Captures as ports, and port specifications.
#include "lan_bridge/ports/file_port.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/support/open_lan_port.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/lan_bridge/port_harness.h"

namespace splitnic::lan::file_port_test {

using frame_builder::Bytes;
using frame_builder::ethernet_of;
using frame_builder::make_frame;
using namespace port_harness;

class FilePortTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  // A classic little-endian capture, microseconds; the frames are 10 ms apart.
  std::string write_capture(const std::vector<Bytes>& frames, std::uint32_t link_type = 1) const {
    std::ofstream out(path("in.pcap"), std::ios::binary);
    const auto put = [&](std::uint32_t word) {
      out.write(reinterpret_cast<const char*>(&word), 4);
    };
    for (const std::uint32_t word : {0xA1B2C3D4U, 0x00040002U, 0U, 0U, 262144U, link_type})
      put(word);
    std::uint32_t micros = 0;
    for (const Bytes& frame : frames) {
      const auto ethernet = ethernet_of(frame);
      const auto bytes = static_cast<std::uint32_t>(ethernet.size());
      for (const std::uint32_t word : {1'700'000'000U, micros, bytes, bytes}) put(word);
      out.write(reinterpret_cast<const char*>(ethernet.data()),
                static_cast<std::streamsize>(bytes));
      micros += 10'000;
    }
    return path("in.pcap");
  }
  std::unique_ptr<FilePort> open(const FileOptions& options) {
    auto port = FilePort::open(options, clock_);
    EXPECT_TRUE(port) << port.error().text();
    return std::move(*port);
  }

  const support::TempFolder folder_;
  base::SystemClock clock_;
};

TEST_F(FilePortTest, S001_02_replays_a_capture_and_writes_one_without_privilege) {
  const std::vector<Bytes> frames{make_frame({}),
                                  make_frame({.is_udp = true, .tags = {5}, .is_partial = true}),
                                  make_frame({.payload_bytes = 30000, .gso_size = 1448})};
  auto port = open({.in = write_capture(frames), .out = path("out.pcap")});
  EXPECT_EQ(port->fd(), -1);
  EXPECT_FALSE(port->input_ended());
  Inbox inbox(*port);
  EXPECT_EQ(rebuilt(inbox.take(10, true)), frames);
  EXPECT_TRUE(port->input_ended());
  write_all(*port, frames);
  expect_balance(*port, 3, 3);
  // The output is readable immediately: segments of the super-frame, all checksums finished.
  auto again = open({.in = path("out.pcap")});
  const auto written = Inbox(*again).take(100, true);
  ASSERT_EQ(written.size(), 2U + 21);
  for (const Bytes& frame : written) {
    EXPECT_FALSE(VnetHeader::parse(frame).needs_checksum());
    EXPECT_TRUE(verify_l4_checksum(ethernet_of(frame), *parse_frame(ethernet_of(frame))));
  }
  EXPECT_EQ(written[1], make_frame({.is_udp = true, .tags = {5}}));
}

TEST_F(FilePortTest, loops_when_asked_and_ends_when_not) {
  const std::string in = write_capture({make_frame({}), make_frame({.is_udp = true})});
  auto port = open({.in = in, .loop = true});
  EXPECT_EQ(Inbox(*port).take(7).size(), 7U);
  EXPECT_FALSE(port->input_ended());
  const std::string empty = write_capture({});
  auto nothing = open({.in = empty, .loop = true});
  EXPECT_TRUE(Inbox(*nothing).take_all().empty());
  EXPECT_TRUE(nothing->input_ended());
}

TEST_F(FilePortTest, speed_replays_with_the_gaps_of_the_capture) {
  const std::vector<Bytes> frames(6, make_frame({}));  // 50 ms long
  auto port = open({.in = write_capture(frames), .speed = 0.5});
  ASSERT_GE(port->fd(), 0);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Inbox(*port).take(6).size(), 6U);
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, std::chrono::milliseconds(95));
  EXPECT_TRUE(Inbox(*port).take_all().empty());
  EXPECT_TRUE(port->input_ended());
  pollfd wait{port->fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&wait, 1, 20), 0);  // nothing more to wake up for
}

TEST_F(FilePortTest, a_cut_or_foreign_capture_is_an_error_or_counted) {
  const std::string in = write_capture({make_frame({}), make_frame({})});
  std::filesystem::resize_file(in, std::filesystem::file_size(in) - 10);
  auto port = open({.in = in});
  EXPECT_EQ(Inbox(*port).take_all().size(), 1U);
  EXPECT_TRUE(port->input_ended());
  EXPECT_EQ(counters_of(*port)["rx.drop.error"], 1U);
  expect_balance(*port, 1, 0);
  const auto wifi = FilePort::open({.in = write_capture({}, 105)}, clock_);
  ASSERT_FALSE(wifi);
  EXPECT_EQ(wifi.error().text(), "reading the capture " + in + ": its frames are not Ethernet");
  const auto missing = FilePort::open({.in = path("none.pcap")}, clock_);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().text(),
            "reading the capture " + path("none.pcap") + ": No such file or directory");
  EXPECT_FALSE(FilePort::open({.out = path("no/out.pcap")}, clock_));
}

TEST_F(FilePortTest, L_2_the_output_is_the_owners_alone_and_no_link) {
  namespace fs = std::filesystem;
  std::ofstream(path("out.pcap")) << "what was there";
  fs::permissions(path("out.pcap"), fs::perms(0644));
  open({.out = path("out.pcap")}).reset();
  EXPECT_EQ(fs::status(path("out.pcap")).permissions(), fs::perms(0600));
  EXPECT_EQ(fs::file_size(path("out.pcap")), 24U) << "the head of a capture";
  fs::create_symlink(path("out.pcap"), path("link.pcap"));
  const auto link = FilePort::open({.out = path("link.pcap")}, clock_);
  ASSERT_FALSE(link);
  EXPECT_NE(link.error().text().find("symbolic link"), std::string::npos);
}

// The second stamp, in seconds, is beyond what nanoseconds in 64 bits can count.
TEST_F(FilePortTest, L_8_a_huge_stamp_overflows_nothing) {
  const Bytes frame = make_frame({.payload_bytes = 100});
  const base::Bytes ethernet = ethernet_of(frame);
  std::ofstream out(path("in.pcapng"), std::ios::binary);
  const auto put = [&](std::initializer_list<std::uint32_t> words) {
    for (const std::uint32_t word : words) out.write(reinterpret_cast<const char*>(&word), 4);
  };
  put({0x0A0D0D0A, 28, 0x1A2B3C4D, 1, ~0U, ~0U, 28});
  put({1, 32, 1, 262144, 0x00010009, 0, 0, 32});  // Ethernet, if_tsresol 0: seconds
  const auto bytes = static_cast<std::uint32_t>(ethernet.size());
  const std::uint32_t padded = (bytes + 3) / 4 * 4;
  for (const std::uint32_t high : {0U, 0x7FFFFFFFU}) {
    put({6, 32 + padded, 0, high, high == 0 ? 0 : ~0U, bytes, bytes});
    out.write(reinterpret_cast<const char*>(ethernet.data()), bytes);
    out.write("\0\0\0", padded - bytes);
    put({32 + padded});
  }
  out.close();
  auto port = open({.in = path("in.pcapng"), .speed = 1});
  Inbox inbox(*port);
  EXPECT_EQ(inbox.take(1).size(), 1U);
  std::array<base::Bytes, 4> more;
  EXPECT_EQ(port->read(inbox.ring(), more).frames, 0U) << "due in more than a century";
}

TEST_F(FilePortTest, settings_are_kept_and_checked) {
  auto port = open({});
  EXPECT_TRUE(port->input_ended());
  EXPECT_TRUE(port->state().link_up);
  ASSERT_TRUE(port->set_mtu(9000));
  ASSERT_TRUE(port->set_mac({0x02, 1, 1, 1, 1, 1}));
  EXPECT_EQ(port->state().mtu, 9000U);
  EXPECT_EQ(port->state().mac[1], 1);
  EXPECT_FALSE(port->set_mtu(60));
  EXPECT_FALSE(port->set_mac({0x01, 1, 1, 1, 1, 1}));
}

using PortFactoryTest = FilePortTest;

TEST_F(PortFactoryTest, each_kind_of_port_opens_by_its_name) {
  const std::string in = write_capture({make_frame({})});
  const auto file =
      support::open_lan_port("file:" + in + "," + path("o.pcap") + ",loop,speed=2.5", {}, clock_);
  ASSERT_TRUE(file) << file.error().text();
  on_veth([&] {
    for (const auto& [spec, name] : std::map<std::string, std::string>{{"va", "pcap:va"},
                                                                       {"pcap:va", "pcap:va"},
                                                                       {"packet:vb", "packet:vb"},
                                                                       {"tap:nic7", "tap:nic7"}}) {
      const auto port = support::open_lan_port(spec, {}, clock_);
      ASSERT_TRUE(port) << port.error().text();
      EXPECT_EQ((*port)->name(), name);
    }
  });
}

TEST_F(PortFactoryTest, errors_are_one_clear_line) {
  const auto error_of = [&](const std::string& spec) {
    const auto port = support::open_lan_port(spec, {}, clock_);
    return port ? std::string("opened") : port.error().text();
  };
  on_veth([&] {
    EXPECT_EQ(error_of("eth77"), "eth77: no such interface");
    EXPECT_EQ(error_of("packet:eth77"), "eth77: no such interface");
    run("ip link set va down");
    EXPECT_EQ(error_of("pcap:va"), "va: the interface is down: ip link set va up");
    run("ip link set va up");
    // This thread becomes an ordinary user and so loses its capabilities.
    ASSERT_EQ(::syscall(SYS_setresuid, -1, 65534, -1), 0);
    EXPECT_EQ(error_of("pcap:va"), "va: not permitted: run as root or with CAP_NET_RAW");
    EXPECT_EQ(error_of("packet:va"), "va: not permitted: run as root or with CAP_NET_RAW");
    EXPECT_NE(error_of("tap:nic7").find("not permitted: run as root or with CAP_NET_ADMIN"),
              std::string::npos);
    ASSERT_EQ(::syscall(SYS_setresuid, -1, 0, -1), 0);
  });
}

}  // namespace splitnic::lan::file_port_test
