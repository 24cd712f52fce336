// The log of record keys: its lines, and records that it opens or does not.
#include "fabric_emul/session/key_log.h"

#include <gtest/gtest.h>

#include "fabric_emul/session/record_keys.h"
#include "tests/unit/fabric_emul/session/session_support.h"

namespace splitnic::fabric::session {
namespace key_log_test {

using Opened = RecordOpener::Opened;

constexpr std::uint32_t kRemote = 0x0A0B0C0D;

// One end of a link: its keys go to a log.
class KeyLogTest : public testing::Test {
 protected:
  KeyLogTest() {
    config_.log_key = [this](const KeyLogEntry& entry) { log_.push_back(text_of(entry)); };
  }
  RecordKeys sender(std::uint32_t index = kRemote, unsigned char first = 1) {
    return {
        config_, {Secret(counted(first)), Secret(counted(2)), {}}, {{}, index, base::Time(), 1}};
  }
  static Buffer seal(RecordKeys& keys, std::size_t bytes = 40, unsigned char fill = 5) {
    Buffer record(bytes + kDataOverheadBytes);
    keys.seal(record, Buffer(bytes, std::byte{fill}), 0);
    return record;
  }
  RecordOpener opener() {
    RecordOpener made;
    for (const std::string& line : log_) {
      const auto entry = parse_key_log_line(std::string_view(line).substr(0, line.size() - 1));
      EXPECT_TRUE(entry) << line;
      if (entry) made.add(*entry);
    }
    return made;
  }
  std::vector<std::string> log_;
  std::vector<std::byte> plain_;
  SessionConfig config_;
};

TEST_F(KeyLogTest, lines_have_the_index_of_the_receiver_and_the_key) {
  sender();
  ASSERT_EQ(log_.size(), 2U);
  EXPECT_EQ(log_[1].substr(0, 24), "RECORD 0a0b0c0d 01020304");
  EXPECT_EQ(log_[1].size(), 81U);
  EXPECT_EQ(log_[0].substr(0, 16), "RECORD 00000000 ");
  EXPECT_EQ(text_of(*parse_key_log_line(log_[1].substr(0, 80))), log_[1]);
}

TEST_F(KeyLogTest, no_other_line_is_taken) {
  sender();
  const std::string line = log_[1].substr(0, 80);
  for (std::size_t bytes = 0; bytes < line.size(); ++bytes) {
    EXPECT_FALSE(parse_key_log_line(line.substr(0, bytes))) << bytes;
    EXPECT_TRUE(is_cut_key_log_line(line.substr(0, bytes))) << bytes;
  }
  EXPECT_FALSE(is_cut_key_log_line(line));
  EXPECT_FALSE(parse_key_log_line(line + "0"));
  EXPECT_FALSE(is_cut_key_log_line(line + "0"));
  for (const std::size_t at : {0U, 6U, 7U, 15U, 16U, 79U}) {
    std::string wrong = line;
    wrong[at] = 'x';
    EXPECT_FALSE(parse_key_log_line(wrong)) << at;
    EXPECT_FALSE(is_cut_key_log_line(wrong.substr(0, at + 1))) << at;
  }
}

TEST_F(KeyLogTest, without_a_log_nobody_gets_keys) {
  config_.log_key = {};
  sender();
  EXPECT_TRUE(log_.empty());
}

TEST_F(KeyLogTest, each_record_is_opened_once_or_counted_by_its_cause) {
  RecordKeys keys = sender();
  RecordOpener opening = opener();
  EXPECT_EQ(opening.keys(), 2U);
  const Buffer first = seal(keys);
  seal(keys);  // lost
  const Buffer third = seal(keys);
  EXPECT_EQ(opening.open(third, plain_), Opened::kGood);
  EXPECT_EQ(plain_, Buffer(40, std::byte{5}));
  EXPECT_EQ(opening.open(first, plain_), Opened::kGood) << "late";
  EXPECT_EQ(opening.open(first, plain_), Opened::kReplay);
  Buffer changed = seal(keys);
  changed.back() ^= std::byte{1};
  EXPECT_EQ(opening.open(changed, plain_), Opened::kTag);
  RecordKeys unknown = sender(kRemote + 1);
  EXPECT_EQ(opening.open(seal(unknown), plain_), Opened::kNoKey);
  EXPECT_EQ(opening.open(Buffer(first.begin(), first.begin() + 20), plain_), Opened::kNotRecord);
  EXPECT_EQ(opening.open({}, plain_), Opened::kNotRecord);
}

// After a rekey there are others, and two links may have one index.
TEST_F(KeyLogTest, R_64_keys_of_several_handshakes_open_their_records) {
  RecordKeys first = sender();
  RecordKeys rekeyed = sender(kRemote + 7, 9);
  RecordKeys same_index = sender(kRemote, 30);
  RecordOpener opening = opener();
  for (RecordKeys* keys : {&first, &rekeyed, &same_index, &first}) {
    EXPECT_EQ(opening.open(seal(*keys), plain_), Opened::kGood);
  }
}

TEST_F(KeyLogTest, records_that_a_kernel_joined_are_found_one_by_one) {
  RecordKeys keys = sender();
  Buffer joined;
  for (const std::size_t bytes : {100U, 100U, 60U}) {
    const Buffer record = seal(keys, bytes);
    joined.insert(joined.end(), record.begin(), record.end());
  }
  base::Bytes rest = joined;
  RecordOpener opening = opener();
  for (const std::size_t bytes : {100U, 100U, 60U}) {
    const std::size_t found = first_record_bytes(rest);
    ASSERT_EQ(found, bytes + kDataOverheadBytes);
    EXPECT_EQ(opening.open(rest.first(found), plain_), Opened::kGood);
    rest = rest.subspan(found);
  }
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(first_record_bytes({}), 0U);
}

}  // namespace key_log_test
}  // namespace splitnic::fabric::session
