// The DSCP of handshakes and records, below the keys.
#include <gtest/gtest.h>

#include "tests/unit/fabric_emul/session/keyed_world.h"

namespace splitnic::fabric::session {
namespace {

constexpr std::uint8_t kOfData = 46, kOfControl = 48;

// A link sets that of a batch, sends it, and sets that of control again.
void send_data(KeyedWorld& world, std::size_t bytes = 88) {
  world.host->keyed.set_dscp(kOfData, kOfControl);
  world.send_up(KeyedWorld::payload(bytes, 1));
  world.host->keyed.set_dscp(kOfControl, kOfControl);
}

// Each record of the first batch on has the DSCP of data, and all else that of control.
void expect_marked(const Path& path, std::size_t records_min) {
  std::size_t records = 0;
  bool is_first_record = true;
  for (std::size_t i = 0; i < path.sent.size(); ++i) {
    const auto type = type_of(path.sent[i]);
    const bool is_data = type == MessageType::kData && !is_first_record;
    EXPECT_EQ(path.dscps.at(i), is_data ? kOfData : kOfControl) << "datagram " << i;
    if (type == MessageType::kInitiation) is_first_record = true;  // the next record ends it
    if (type == MessageType::kData) is_first_record = false;
    records += is_data ? 1U : 0U;
  }
  EXPECT_GE(records, records_min);
}

TEST(KeyedDscpTest, S002_43_a_handshake_has_that_of_control) {
  KeyedWorld world;
  world.start();
  world.unit->keyed.set_dscp(kOfControl, kOfControl);
  for (int i = 0; i < 20; ++i) {
    send_data(world);
    world.step(20ms);
  }
  ASSERT_TRUE(world.is_up());
  expect_marked(world.host->path, 15);
  for (const std::uint8_t dscp : world.unit->path.dscps) EXPECT_EQ(dscp, kOfControl);
}

// The number of records requires new keys in the middle of a batch of data.
TEST(KeyedDscpTest, S002_43_a_rekey_that_data_begins_has_it_too) {
  KeyedWorld world;
  world.common.records.rekey_records = 200;
  world.common.records.reject_records = 100'000;
  world.start();
  for (int i = 0; i < 1000; ++i) {
    send_data(world);
    if (i % 50 == 0) world.step(1ms);
  }
  EXPECT_GE(world.host->count(SessionCounter::kTxInitiation), 3U);
  std::size_t initiations = 0;
  for (std::size_t i = 0; i < world.host->path.sent.size(); ++i) {
    if (type_of(world.host->path.sent[i]) != MessageType::kInitiation) continue;
    ++initiations;
    EXPECT_EQ(world.host->path.dscps.at(i), kOfControl);
  }
  EXPECT_GE(initiations, 3U);
}

}  // namespace
}  // namespace splitnic::fabric::session
