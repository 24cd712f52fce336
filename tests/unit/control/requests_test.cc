#include "control/socket/requests.h"

#include <gtest/gtest.h>

namespace splitnic::control {
namespace admin_test {

std::string body(const std::string& framed) { return framed.substr(kLengthBytes); }

TEST(AdminTest, requests_round_trip) {
  Request show{Command::kShow, true, "", "", 0};
  Request verbose = show;
  verbose.verbose = true;
  Request stats{Command::kStats, false, "", "", 0};
  Request set{Command::kSet, false, "mtu", "\xFF 9000", 0};
  Request ping{Command::kPing, false, "", "", 7};
  Request reload{Command::kReload, false, "", "", 0};
  Request peers{Command::kPeers, true, "", "", 0};
  Request evict{Command::kEvict, false, "", "office", 0};
  Request nic{Command::kNic, true, "vlan-add", "10", 0, "nic0"};
  Request topology{Command::kTopology, false, "dot", "", 0};
  Request capture{Command::kCapture, false, "", "", 96, "nic0"};
  Request end_capture{Command::kEndCapture, false, "", "", 0};
  for (const Request& request : {show, verbose, stats, set, ping, reload, peers, evict, nic,
                                 topology, capture, end_capture}) {
    const std::string framed = encode(request);
    EXPECT_EQ(decode_length(framed), framed.size() - kLengthBytes);
    EXPECT_EQ(decode_request(body(framed)), request);
  }
}

TEST(AdminTest, golden_bytes_of_a_show) {
  EXPECT_EQ(encode(Request{Command::kShow, true, "", "", 0}),
            std::string("\0\0\0\4\x0A\2\x08\1", 8));
  Request verbose{Command::kShow, false, "", "", 0};
  verbose.verbose = true;
  EXPECT_EQ(encode(verbose), std::string("\0\0\0\4\x0A\2\x10\1", 8));
}

TEST(AdminTest, replies_round_trip) {
  for (const ReplyStatus status :
       {ReplyStatus::kOk, ReplyStatus::kBadRequest, ReplyStatus::kRefused, ReplyStatus::kFailed}) {
    const Reply reply{status, "text \xFF\n"};
    EXPECT_EQ(decode_reply(body(encode(reply))), reply);
  }
}

TEST(AdminTest, bad_requests_are_refused) {
  EXPECT_FALSE(decode_request("").has_value()) << "no command";
  EXPECT_FALSE(decode_request("\xFF\xFF\xFF").has_value()) << "no Protobuf";
  EXPECT_FALSE(decode_request(body(encode(Request{Command::kPing, false, "", "", 0}))).has_value());
  EXPECT_FALSE(
      decode_request(body(encode(Request{Command::kPing, false, "", "", 1001}))).has_value());
  EXPECT_FALSE(decode_request(body(encode(Request{Command::kSet, false, "", "x", 0}))).has_value());
  EXPECT_FALSE(
      decode_request(body(encode(Request{Command::kEvict, false, "", "", 0}))).has_value());
  for (const std::uint32_t snap : {0U, 262145U}) {
    const Request capture{Command::kCapture, false, "", "", snap};
    EXPECT_FALSE(decode_request(body(encode(capture))).has_value());
  }
  const std::string long_value(kRequestBytesMax, 'x');
  EXPECT_FALSE(decode_request(body(encode(Request{Command::kSet, false, "mac", long_value, 0})))
                   .has_value());
}

TEST(AdminTest, bad_replies_are_refused) {
  EXPECT_FALSE(decode_reply("").has_value()) << "no status";
  EXPECT_FALSE(decode_reply("\x08\x63").has_value()) << "a status of tomorrow";
  EXPECT_FALSE(decode_reply("\xFF").has_value());
}

TEST(AdminTest, a_reply_that_is_too_long_becomes_a_failure) {
  const auto reply = decode_reply(body(encode(Reply{ReplyStatus::kOk, std::string(5 << 20, 'x')})));
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, ReplyStatus::kFailed);
}

}  // namespace admin_test
}  // namespace splitnic::control
