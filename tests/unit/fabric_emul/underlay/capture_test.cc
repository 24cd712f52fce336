// The file of --capture: its bytes, direction, order, and a disk that is full.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fabric_emul/underlay/capture_underlay.h"
#include "tests/support/temp_folder.h"

namespace splitnic::fabric::capture_test {

using Bytes = std::vector<std::byte>;

struct Packet {
  std::uint32_t interface = 0;
  std::uint64_t stamp = 0;
  std::uint32_t flags = 0;
  std::uint32_t length = 0;  // of the datagram as it was
  Bytes datagram;
};

struct File {
  std::vector<std::uint32_t> types;
  std::vector<Packet> packets;
};

std::uint32_t word(const Bytes& in, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, in.data() + at, 4);
  return value;
}

// Reads blocks; both lengths of each must agree and end exactly at the end of the file.
File read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const base::Bytes bytes = base::as_bytes(text);
  const Bytes in(bytes.begin(), bytes.end());
  File out;
  std::size_t at = 0;
  while (at + 12 <= in.size()) {
    const std::uint32_t length = word(in, at + 4);
    if (length < 12 || length % 4 != 0 || at + length > in.size()) break;
    EXPECT_EQ(word(in, at + length - 4), length);
    out.types.push_back(word(in, at));
    if (out.types.back() == 6) {
      const std::uint32_t size = word(in, at + 20);
      const auto data = in.begin() + static_cast<std::ptrdiff_t>(at + 28);
      const std::size_t options = at + 28 + base::round_up(size, 4);
      EXPECT_EQ(word(in, options), 0x00040002U);  // epb_flags, 4 bytes
      out.packets.push_back({word(in, at + 8),
                             std::uint64_t{word(in, at + 12)} << 32 | word(in, at + 16),
                             word(in, options + 4), word(in, at + 24),
                             Bytes(data, data + static_cast<std::ptrdiff_t>(size))});
    }
    at += length;
  }
  EXPECT_EQ(at, in.size());
  return out;
}

class CaptureTest : public testing::Test {
 protected:
  static Bytes bytes(std::size_t size, unsigned value) {
    return Bytes(size, static_cast<std::byte>(value));
  }
  std::unique_ptr<PcapngWriter> open(const std::string& path) {
    auto writer = PcapngWriter::open(path, "test");
    EXPECT_TRUE(writer) << writer.error().text();
    return std::move(*writer);
  }

  const support::TempFolder folder_;
  const std::string path_ = folder_.path("f.pcapng");
};

TEST_F(CaptureTest, golden_head_and_packet) {
  auto writer = open(path_);
  EXPECT_EQ(writer->add_interface("udp"), 0U);
  const Bytes data = bytes(5, 0xAB);
  writer->add(0, PcapngWriter::Direction::kSent, std::chrono::nanoseconds(0x0123456789ABCDEF),
              data);
  writer.reset();
  std::ifstream stream(path_, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const unsigned char want[] = {0x0A, 0x0D, 0x0D, 0x0A, 40, 0, 0, 0, 0x4D, 0x3C, 0x2B, 0x1A, 1, 0,
                                0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 4, 0, 4, 0,
                                't', 'e', 's', 't', 0, 0, 0, 0, 40, 0, 0, 0,
                                // interface: USER0, 65535, if_name, if_tsresol 10^-9
                                1, 0, 0, 0, 40, 0, 0, 0, 147, 0, 0, 0, 0xFF, 0xFF, 0, 0, 2, 0, 3, 0,
                                'u', 'd', 'p', 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 40, 0, 0, 0,
                                // packet: time, 5 bytes and 3 of pad, epb_flags outbound
                                6, 0, 0, 0, 52, 0, 0, 0, 0, 0, 0, 0, 0x67, 0x45, 0x23, 0x01, 0xEF,
                                0xCD, 0xAB, 0x89, 5, 0, 0, 0, 5, 0, 0, 0, 0xAB, 0xAB, 0xAB, 0xAB,
                                0xAB, 0, 0, 0, 2, 0, 4, 0, 2, 0, 0, 0, 0, 0, 0, 0, 52, 0, 0, 0};
  ASSERT_EQ(text.size(), sizeof(want));
  EXPECT_EQ(std::memcmp(text.data(), want, sizeof(want)), 0);
  EXPECT_EQ(std::filesystem::status(path_).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

// Of an Ethernet interface: longer frames, those that are cut already, and the number of missing
// ones.
TEST_F(CaptureTest, B_16_frames_of_an_interface) {
  auto writer = open(path_);
  EXPECT_EQ(writer->add_interface("nic0", PcapngWriter::kEthernet), 0U);
  writer->add(0, PcapngWriter::Direction::kSent, std::chrono::nanoseconds(1), bytes(66000, 1));
  writer->add(0, PcapngWriter::Direction::kReceived, std::chrono::nanoseconds(2), bytes(96, 2),
              1514);
  writer->add_lost(0, std::chrono::nanoseconds(0x0123456789ABCDEF), 0x0102);
  const std::uint64_t size = writer->bytes();
  EXPECT_TRUE(writer->is_complete());
  writer.reset();
  EXPECT_EQ(std::filesystem::file_size(path_), size);
  const File file = read_file(path_);
  EXPECT_EQ(file.types, (std::vector<std::uint32_t>{0x0A0D0D0A, 1, 6, 6, 5}));
  ASSERT_EQ(file.packets.size(), 2U);
  EXPECT_EQ(file.packets[0].datagram, bytes(66000, 1));
  EXPECT_EQ(file.packets[1].length, 1514U);
  EXPECT_EQ(file.packets[1].datagram, bytes(96, 2));
  std::ifstream stream(path_, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const unsigned char want[] = {5, 0, 0, 0, 40, 0, 0, 0, 0, 0, 0, 0, 0x67, 0x45, 0x23, 0x01, 0xEF,
                                0xCD, 0xAB, 0x89,
                                // isb_ifdrop
                                5, 0, 8, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 40, 0, 0, 0};
  ASSERT_GT(text.size(), sizeof(want));
  EXPECT_EQ(std::memcmp(text.data() + text.size() - sizeof(want), want, sizeof(want)), 0);
}

TEST_F(CaptureTest, more_than_a_buffer_comes_out_whole_and_in_order) {
  auto writer = open(path_);
  writer->add_interface("a");
  writer->add_interface("b");
  constexpr std::size_t kPackets = 100;
  for (std::size_t i = 0; i < kPackets; ++i) {
    const Bytes data = bytes(65535 - i, static_cast<unsigned>(i));
    writer->add(i % 2 == 0 ? 0 : 1, PcapngWriter::Direction::kReceived, std::chrono::nanoseconds(i),
                data);
  }
  EXPECT_EQ(writer->counters()[CaptureCounter::kDatagrams], kPackets);
  EXPECT_EQ(writer->counters()[CaptureCounter::kLost], 0U);
  writer.reset();
  const File file = read_file(path_);
  ASSERT_EQ(file.packets.size(), kPackets);
  for (std::size_t i = 0; i < kPackets; ++i) {
    EXPECT_EQ(file.packets[i].interface, i % 2);
    EXPECT_EQ(file.packets[i].stamp, i);
    EXPECT_EQ(file.packets[i].flags, 1U);
    EXPECT_EQ(file.packets[i].length, 65535 - i);
    EXPECT_EQ(file.packets[i].datagram, bytes(65535 - i, static_cast<unsigned>(i)));
  }
}

TEST_F(CaptureTest, a_datagram_longer_than_any_is_cut_and_not_fatal) {
  auto writer = open(path_);
  writer->add_interface("a");
  for (const std::size_t size : {65536U, 70000U}) {
    writer->add(0, PcapngWriter::Direction::kReceived, std::chrono::nanoseconds(1), bytes(size, 3));
  }
  writer.reset();
  const File file = read_file(path_);
  ASSERT_EQ(file.packets.size(), 2U);
  EXPECT_EQ(file.packets[0].length, 65536U);
  EXPECT_EQ(file.packets[1].length, 70000U);
  for (const Packet& packet : file.packets) EXPECT_EQ(packet.datagram, bytes(65535, 3));
}

TEST_F(CaptureTest, a_full_disk_is_counted_and_not_fatal) {
  auto writer = open("/dev/full");
  writer->add_interface("a");
  for (int i = 0; i < 40; ++i) {
    writer->add(0, PcapngWriter::Direction::kSent, std::chrono::nanoseconds(i), bytes(60000, 1));
  }
  writer->flush();
  EXPECT_EQ(writer->counters()[CaptureCounter::kDatagrams], 40U);
  EXPECT_EQ(writer->counters()[CaptureCounter::kLost], 40U);
}

TEST_F(CaptureTest, a_path_that_cannot_be_opened_is_reported) {
  const auto writer = PcapngWriter::open(folder_.path("none/f.pcapng"), "test");
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().text(),
            "opening the capture " + folder_.path("none/f.pcapng") + ": No such file or directory");
}

TEST_F(CaptureTest, L_2_an_old_file_becomes_the_owners_alone_and_a_link_is_refused) {
  namespace fs = std::filesystem;
  const std::string path = folder_.path("old.pcapng");
  std::ofstream(path) << "what was there";
  fs::permissions(path, fs::perms(0644));
  open(path).reset();
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0600));
  EXPECT_EQ(read_file(path).types.size(), 1U) << "nothing is left of what was there";
  fs::create_symlink(path, folder_.path("link.pcapng"));
  const auto link = PcapngWriter::open(folder_.path("link.pcapng"), "test");
  ASSERT_FALSE(link);
  EXPECT_NE(link.error().text().find("symbolic link"), std::string::npos);
}

// A carrier of one batch each way, with a result of send() that the test chooses.
class OneBatch final : public Underlay {
 public:
  SendStatus status = SendStatus::kSent;
  Bytes waiting;

  SendStatus send(const PeerAddress& /*to*/, base::Bytes /*bytes*/,
                  std::size_t /*stride*/) override {
    return status;
  }
  std::optional<Received> receive() override {
    if (waiting.empty()) return std::nullopt;
    given_ = std::exchange(waiting, {});
    return Received{given_, 100, {}};
  }
  std::size_t datagram_bytes_max(const PeerAddress& /*to*/) const override { return 1472; }
  std::size_t receive_buffer_bytes() const override { return 4096; }
  std::string name_of(const PeerAddress& /*peer*/) const override { return "one"; }

 private:
  Bytes given_;
};

TEST_F(CaptureTest, each_datagram_of_a_batch_is_written_and_what_was_not_sent_is_not) {
  auto writer = open(path_);
  base::ManualClock clock;
  OneBatch carrier;
  CaptureUnderlay capture(carrier, *writer, clock, "udp://127.0.0.1:7471");
  const Bytes batch = bytes(250, 7);
  const std::uint64_t before = writer->bytes();
  for (const auto status : {Underlay::SendStatus::kBlocked, Underlay::SendStatus::kRefused,
                            Underlay::SendStatus::kTooLong}) {
    carrier.status = status;
    EXPECT_EQ(capture.send({}, batch, 100), status);
  }
  EXPECT_EQ(writer->bytes(), before);
  carrier.status = Underlay::SendStatus::kSent;
  EXPECT_EQ(capture.send({}, batch, 100), Underlay::SendStatus::kSent);
  carrier.waiting = bytes(100, 8);
  const auto received = capture.receive();
  ASSERT_TRUE(received);
  EXPECT_EQ(Bytes(received->bytes.begin(), received->bytes.end()), bytes(100, 8));

  // It comes to the file within a second, without more traffic.
  EXPECT_EQ(capture.deadline(), clock.now() + CaptureUnderlay::kFlushAfter);
  EXPECT_TRUE(read_file(path_).packets.empty());
  clock.advance(CaptureUnderlay::kFlushAfter);
  EXPECT_FALSE(capture.receive());
  EXPECT_EQ(capture.deadline(), base::kNever);
  const File file = read_file(path_);
  ASSERT_EQ(file.packets.size(), 4U);
  const std::vector<std::size_t> sizes{100, 100, 50, 100};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(file.packets[i].datagram, bytes(sizes[i], i < 3 ? 7 : 8));
    EXPECT_EQ(file.packets[i].flags, i < 3 ? 2U : 1U);
  }
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  EXPECT_NEAR(static_cast<double>(file.packets[0].stamp), static_cast<double>(now.count()), 60e9);
}

}  // namespace splitnic::fabric::capture_test
