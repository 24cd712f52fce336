// --pool with the flows that a pool is for, --idata and --channels.
#include "control/daemon/pool_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messaging/wire/flow_context.h"

namespace splitnic::control {
namespace pool_options_test {

using messaging::flow_context;
using messaging::IdataForm;
using messaging::PairConfig;
using messaging::PoolSpec;
using ::testing::HasSubstr;

std::string error_of(const std::vector<std::string>& pools, const std::string& idata = "pool") {
  PairConfig config;
  const auto checked = check_pools(pools, idata, config);
  return checked ? "" : checked.error().text();
}

TEST(PoolOptionsTest, S001_52_a_pool_may_be_for_a_flow) {
  constexpr std::uint32_t kSender = 0x0A630002;
  EXPECT_EQ(parse_pool("64x2048,source-port=443").value(),
            (PoolSpec{64, 2048, flow_context(443, 0, 0)}));
  const std::string all = "source-port=8080,destination-port=22,source=10.99.0.2";
  EXPECT_EQ(parse_pool("64x2048," + all).value(),
            (PoolSpec{64, 2048, flow_context(8080, 22, kSender)}));
  EXPECT_EQ(pool_context_text(flow_context(8080, 22, kSender)), all);
  EXPECT_EQ(pool_context_text(flow_context(0, 22, 0)), "destination-port=22");
  for (const std::string wrong :
       {"", "source-port", "source-port=", "source-port=0", "source-port=65536", "source=::1",
        "source=0.0.0.0", "source=10.0.0", "port=1", "source-port=1,",
        "source-port=1,source-port=2", "source-port=1 "}) {
    EXPECT_FALSE(parse_pool("64x2048," + wrong)) << wrong;
  }
}

TEST(PoolOptionsTest, S001_52_other_frames_need_a_pool) {
  EXPECT_EQ(error_of({"64x2048", "64x2048,source-port=1"}), "");
  EXPECT_THAT(error_of({"64x2048,source-port=1"}), HasSubstr("add one without"));
  std::vector<std::string> many = {"64x2048"};
  for (int port = 1; port <= 16; ++port) {
    many.push_back("1x2048,source-port=" + std::to_string(port));
  }
  EXPECT_EQ(error_of(many), "");
  many.emplace_back("1x2048,source-port=17");
  EXPECT_THAT(error_of(many), HasSubstr("16 contexts"));
}

TEST(PoolOptionsTest, S001_20_idata_by_offset_needs_one_pool_that_it_can_name) {
  PairConfig config;
  ASSERT_TRUE(check_pools({}, "offset", config));
  EXPECT_EQ(config.idata_form, IdataForm::kOffsetLength);
  EXPECT_EQ(config.pools, (std::vector<PoolSpec>{{64, 65536}}));
  ASSERT_TRUE(check_pools({"512x2048"}, "offset", config));
  EXPECT_EQ(config.pools, (std::vector<PoolSpec>{{512, 2048}}));
  for (const auto& pools :
       std::vector<std::vector<std::string>>{{"512x2048", "4x65536"}, {"4096x2048"}, {"64x2000"}}) {
    EXPECT_THAT(error_of(pools, "offset"), HasSubstr("--idata: offset needs")) << pools[0];
  }
  ASSERT_TRUE(check_pools({}, "message", config));
  EXPECT_EQ(config.idata_form, std::nullopt);
  ASSERT_TRUE(check_pools({}, "pool", config));
  EXPECT_EQ(config.idata_form, IdataForm::kPoolElement);
  EXPECT_THAT(error_of({}, "both"), HasSubstr("none of pool, offset and message"));
  EXPECT_STREQ(idata_name(std::nullopt), "message");
  EXPECT_STREQ(idata_name(IdataForm::kOffsetLength), "offset");
}

TEST(PoolOptionsTest, S001_51_channels_suit_the_mode) {
  PairConfig rdma;
  PairConfig send{.mode = messaging::Mode::kSend};
  for (const char* channels : {"1", "2", "separate"}) {
    const bool is_two = std::string(channels) == "2";
    EXPECT_EQ(check_channels(channels, rdma).has_value(), is_two || channels[0] == '1');
    EXPECT_EQ(check_channels(channels, send).has_value(), is_two || channels[0] == 's');
  }
  EXPECT_EQ(send.channels, messaging::Channels::kSeparate);
  EXPECT_STREQ(channels_name(send.channels), "separate");
  EXPECT_FALSE(check_channels("3", rdma));
}

}  // namespace pool_options_test
}  // namespace splitnic::control
