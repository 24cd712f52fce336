// The limits of the keys of records. Rekeys: session_timers_test.cc.
#include "fabric_emul/session/record_keys.h"

#include <gtest/gtest.h>

#include "tests/unit/fabric_emul/session/session_support.h"

namespace splitnic::fabric::session {
namespace {

using Opened = RecordKeys::Opened;
constexpr std::size_t kPlainBytes = 40;

class RecordKeysTest : public testing::Test {
 protected:
  RecordKeys sender() {
    return {config_, {Secret(counted(1)), Secret(counted(2)), {}}, {{}, 7, base::Time(), 1}};
  }
  RecordKeys receiver() {
    return {config_, {Secret(counted(2)), Secret(counted(1)), {}}, {{}, 8, base::Time(), 1}};
  }
  static Buffer seal(RecordKeys& keys) {
    Buffer record(kPlainBytes + kDataOverheadBytes);
    keys.seal(record, Buffer(kPlainBytes, std::byte{5}), 0);
    return record;
  }
  static Opened open(RecordKeys& keys, const Buffer& record, base::Time now = base::Time()) {
    Buffer plain(kPlainBytes);
    return keys.open(now, plain, record);
  }
  SessionConfig config_;
};

TEST_F(RecordKeysTest, S_55_each_record_opens_once) {
  RecordKeys sending = sender();
  RecordKeys receiving = receiver();
  const Buffer first = seal(sending);
  const Buffer second = seal(sending);
  EXPECT_EQ(open(receiving, second), Opened::kGoodHighest);
  EXPECT_EQ(open(receiving, first), Opened::kGood);
  EXPECT_EQ(open(receiving, first), Opened::kReplay);
  EXPECT_EQ(open(sending, first), Opened::kTag) << "reflected to its sender";
}

TEST_F(RecordKeysTest, R_64_records_that_do_not_open_end_the_keys) {
  config_.records.failed_opens_max = 3;
  RecordKeys sending = sender();
  RecordKeys receiving = receiver();
  Buffer bad = seal(sending);
  bad.back() ^= std::byte{1};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(open(receiving, bad), Opened::kTag);
  EXPECT_EQ(open(receiving, seal(sending)), Opened::kExpired);
}

TEST_F(RecordKeysTest, R_64_the_receiver_ends_the_keys_as_the_sender_does) {
  config_.records.reject_records = 2;
  RecordKeys sending = sender();
  RecordKeys receiving = receiver();
  EXPECT_EQ(open(receiving, seal(sending)), Opened::kGoodHighest);
  EXPECT_EQ(open(receiving, seal(sending)), Opened::kGoodHighest);
  EXPECT_EQ(open(receiving, seal(sending)), Opened::kExpired);
  const base::Time end =
      base::Time() + std::chrono::duration_cast<base::Time::duration>(config_.records.reject_after);
  RecordKeys later = receiver();
  EXPECT_EQ(open(later, seal(sending), end), Opened::kExpired);
  EXPECT_FALSE(sending.may_seal(end, 1));
}

}  // namespace
}  // namespace splitnic::fabric::session
