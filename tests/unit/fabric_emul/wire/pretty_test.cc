#include "fabric_emul/wire/pretty.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/init.h"
#include "tests/tidy/source_tree.h"
#include "tests/unit/fabric_emul/wire/golden.h"

namespace splitnic::fabric {
namespace pretty_test {

using golden::bytes_of;
using testing::HasSubstr;

TEST(PrettyTest, a_cell_is_one_line) {
  EXPECT_EQ(dump_cell(bytes_of(golden::kWriteOnly)),
            "RC RDMA_WRITE only 1:000010 > 2:000011 psn 256 csn 0 lcn 0 sl 0 flags AIP payload 5 "
            "va 7f0012342800 mh 00002a01 length 5 idata 07050005 packet_crc ace2a099");
  EXPECT_THAT(
      dump_cell(bytes_of(golden::kAckBitmap)),
      HasSubstr("ack msn 16777215 credits 63 detail 0 cumulative 65535 hold 20us 90000000"));
  EXPECT_THAT(dump_cell(bytes_of(golden::kConnectReq)),
              HasSubstr("CONNECT_REQ transaction 1122334455667788 private 2 [0 RC qp 000010"));
  for (const std::string_view hex : golden::kCells) {
    const std::string line = dump_cell(bytes_of(hex));
    EXPECT_EQ(line.find("bad"), std::string::npos) << line;
    EXPECT_EQ(line.find("unknown"), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

// docs/protocol/subnet.md#example
TEST(PrettyTest, a_cell_of_subnet_management_shows_its_smp) {
  EXPECT_THAT(
      dump_cell(bytes_of("10d80200 00030002 f0000002 00000002 00000000 00000016 ffff0000 01010100 "
                         "00010500 11223344 55667788 02020000 01030000 a7a91923")),
      HasSubstr(" GET NODE done manager 1 priority 5 transaction 1122334455667788 hop 2 of 2 "
                "route 1 3"));
  EXPECT_THAT(
      dump_cell(bytes_of("10d80300 00020003 f0000002 00000002 00000000 00000045 ffff0000 01030100 "
                         "00010500 11223344 55667788 0201002f 01010003 02030000 00040200 00000000 "
                         "0003cafe 00017377 33010100 02020000 00000000 02020000 0a000000 00000000 "
                         "00000000 8c22cabb")),
      HasSubstr(" REPLY NODE done manager 1 priority 5 transaction 1122334455667788 hop 1 of 2 "
                "route 1 1 [sw3 lid 3 changes 4 check cafe0001 ports 1:up:2 2:down:10]"));
}

TEST(PrettyTest, a_bad_cell_or_flit_shows_its_error) {
  golden::Bytes cell = bytes_of(golden::kWriteOnly);
  cell[50] ^= std::byte{1};
  EXPECT_EQ(dump_cell(cell), "bad cell: crc, 64 bytes");
  EXPECT_EQ(dump_cell({}), "bad cell: short, 0 bytes");
  EXPECT_EQ(dump_flit({}), "bad flit: short, 0 bytes");
}

TEST(PrettyTest, a_flit_shows_its_cell_or_init) {
  const std::string line = dump_flit(bytes_of(golden::kDatagram));
  EXPECT_THAT(line, HasSubstr("DATA vl 0 ctl e0 size 44"));
  EXPECT_THAT(line, HasSubstr("| RC ACK only 2:000011 > 1:000010"));
  EXPECT_THAT(dump_flit(bytes_of(golden::kInitHelloFlit)),
              HasSubstr("hello speed eui 0200000000000001 port 0 instance 1111222233334444"));
  EXPECT_THAT(dump_flit(bytes_of(golden::kCreditFlit)), HasSubstr("CREDIT vl 0"));
}

// Returns the first line of a file of the project that begins with `begin`.
std::string line_of(const char* file, std::string_view begin) {
  std::ifstream in(tidy::find_root() / file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(begin)) return line;
  }
  ADD_FAILURE() << file << " has no line that begins with " << begin;
  return {};
}

TEST(PrettyTest, steps_of_init_have_one_spelling_in_docs_dissector_and_dumps) {
  std::string documented = "| 1 | 8 | step | ";
  std::string dissected = "local STEP = {";
  for (unsigned step = 1; step <= 8; ++step) {
    const std::string text(name(static_cast<InitStep>(step)));
    documented += (step == 1 ? "" : ", ") + std::to_string(step) + " " + text;
    dissected += (step == 1 ? "\"" : ", \"") + text + "\"";
  }
  std::string row = line_of("docs/protocol/init.md", "| 1 | 8 | step |");
  std::erase(row, '`');
  EXPECT_EQ(row, documented + " |");
  EXPECT_EQ(line_of("tools/wireshark/link_init.lua", "local STEP"), dissected + "}");
}

}  // namespace pretty_test
}  // namespace splitnic::fabric
