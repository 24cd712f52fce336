// CfgUtil of one pair without a channel: both roles, message by message.
#include "messaging/cfgutil/cfg_exchange.h"

#include "messaging/cfgutil/cfgutil.pb.h"
#include "tests/unit/messaging/wire_support.h"

namespace splitnic::messaging::cfg_exchange_test {
using namespace test;

constexpr base::Time kStart{std::chrono::seconds(1000)};

struct CfgExchangeTest : testing::Test {
  ContextSource contexts{100};
  CfgExchange client{contexts, 256}, server{contexts, 256};
  Message out = Message(256);
  int executed = 0;

  Message next(CfgExchange& from, base::Time now = kStart) {
    const std::size_t length = from.next_message(now, out);
    return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(length)};
  }
  bool serve(const Message& request) {
    return server.on_request(*CfgUtilRequest::parse(request), [this](const CfgRequest& r) {
      ++executed;
      return CfgReply{CfgStatus::kOk, std::string(base::as_text(r.data))};
    });
  }
};

TEST_F(CfgExchangeTest, S001_24_a_request_is_executed_once_and_its_reply_comes_back) {
  std::string received;
  ASSERT_TRUE(
      client.request(CfgCode::kEcho, "data", [&](const CfgReply& r) { received = r.data; }));
  const Message request = next(client);
  ASSERT_FALSE(request.empty());
  EXPECT_TRUE(next(client).empty()) << "sent";
  ASSERT_TRUE(serve(request));
  ASSERT_TRUE(serve(request));
  EXPECT_EQ(executed, 1) << "a repeated request gets its reply from the cache";
  const Message reply = next(server);
  EXPECT_EQ(next(server), reply);
  EXPECT_TRUE(next(server).empty());
  EXPECT_TRUE(client.on_reply(*CfgUtilReply::parse(reply)));
  EXPECT_EQ(received, "data");
  EXPECT_FALSE(client.on_reply(*CfgUtilReply::parse(reply))) << "late";
  EXPECT_EQ(client.deadline(), base::kNever);
}

TEST_F(CfgExchangeTest, S001_24_a_request_fails_after_three_tries) {
  int failed = 0;
  ASSERT_TRUE(client.request(CfgCode::kEcho, {}, [&](const CfgReply& r) { failed += !r.replied; }));
  for (int tries = 0; tries < 3; ++tries) {
    EXPECT_EQ(failed, 0);
    const base::Time now = tries == 0 ? kStart : client.deadline();
    client.on_time(now);
    EXPECT_FALSE(next(client, now).empty());
  }
  client.on_time(client.deadline());
  EXPECT_EQ(failed, 1);
  ASSERT_TRUE(client.request(CfgCode::kEcho, {}, [&](const CfgReply& r) { failed += !r.replied; }));
  client.fail_requests();
  EXPECT_EQ(failed, 2);
  EXPECT_TRUE(next(client).empty());
}

TEST_F(CfgExchangeTest, S001_24_replies_that_wait_are_bounded) {
  for (std::size_t i = 0; i < CfgExchange::kRepliesDueMax; ++i) {
    ASSERT_TRUE(client.request(CfgCode::kEcho, {}, {}));
    ASSERT_TRUE(serve(next(client)));
  }
  EXPECT_FALSE(client.request(CfgCode::kEcho, {}, {})) << "eight are open";
  EXPECT_FALSE(server.on_refused({TransactionContext(1), CfgCode::kEcho, CfgStatus::kBadSize}));
  EXPECT_FALSE(next(server).empty());
  EXPECT_TRUE(server.on_refused({TransactionContext(1), CfgCode::kEcho, CfgStatus::kBadSize}));
}

TEST_F(CfgExchangeTest, S001_24_P_CFG_3_a_request_that_cannot_be_read_changes_no_kept_reply) {
  ASSERT_TRUE(client.request(CfgCode::kEcho, "data", {}));
  const Message request = next(client);
  ASSERT_TRUE(serve(request));
  const Message reply = next(server);
  const TransactionContext context = CfgUtilRequest::parse(request)->context;
  ASSERT_TRUE(server.on_refused({context, CfgCode::kEcho, CfgStatus::kBadSize}));
  EXPECT_EQ(CfgUtilReply::parse(next(server))->status, CfgStatus::kBadSize);
  ASSERT_TRUE(serve(request));
  EXPECT_EQ(next(server), reply);
  EXPECT_EQ(executed, 1);
}

// A reply of 256 bytes has the first of 50 counters; the status is that of the server.
TEST_F(CfgExchangeTest, P_CFG_28_counters_that_do_not_fit_are_left_out_from_the_end) {
  cfg::GetStatsReply all;
  for (int i = 0; i < 50; ++i) {
    cfg::Counter& counter = *all.add_counters();
    counter.set_name("counter." + std::to_string(i));
    counter.set_value(static_cast<std::uint64_t>(i));
  }
  ASSERT_TRUE(client.request(CfgCode::kGetStats, {}, [](const CfgReply&) {}));
  const Message request = next(client);
  server.on_request(*CfgUtilRequest::parse(request), [&](const CfgRequest&) {
    return CfgReply{CfgStatus::kOk, all.SerializeAsString()};
  });
  const Message message = next(server);
  const auto reply = CfgUtilReply::parse(message);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, CfgStatus::kOk);
  cfg::GetStatsReply some;
  ASSERT_TRUE(some.ParseFromString(std::string(base::as_text(reply->data))));
  ASSERT_GT(some.counters_size(), 5);
  ASSERT_LT(some.counters_size(), 50);
  for (int i = 0; i < some.counters_size(); ++i) {
    EXPECT_EQ(some.counters(i).name(), all.counters(i).name());
  }
  *some.add_counters() = all.counters(some.counters_size());
  EXPECT_GT(CfgUtilReply::bytes(some.ByteSizeLong()), 256U) << "one more would not fit";
}

TEST_F(CfgExchangeTest, what_is_longer_than_a_message_is_not_sent) {
  const std::string longest(256 - CfgUtilRequest::kFixedBytes, 'x');
  EXPECT_FALSE(client.request(CfgCode::kEcho, longest + "x", {}));
  ASSERT_TRUE(client.request(CfgCode::kEcho, longest, {}));
  ASSERT_TRUE(serve(next(client))) << "its echo is longer by the status";
  const Message reply = next(server);
  EXPECT_EQ(CfgUtilReply::parse(reply)->status, CfgStatus::kDeviceError);
}

}  // namespace splitnic::messaging::cfg_exchange_test
