// ECHO by our reader compared with the parser of Protobuf.
#include "messaging/cfgutil/echo.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::messaging {
namespace echo_test {

CfgReply reply_to(const std::string& request) { return reply_to_echo(base::as_bytes(request)); }

std::string data_in(const CfgReply& reply) {
  EXPECT_EQ(reply.status, CfgStatus::kOk);
  cfg::EchoReply message;
  EXPECT_TRUE(message.ParseFromString(reply.data));
  return message.data();
}

TEST(EchoTest, returns_the_data) {
  cfg::EchoRequest request;
  for (const std::size_t bytes : {0U, 1U, 127U, 128U, 4000U}) {
    request.set_data(std::string(bytes, 'd'));
    EXPECT_EQ(data_in(reply_to(request.SerializeAsString())), request.data());
  }
  EXPECT_EQ(data_in(reply_to("")), "");
}

TEST(EchoTest, a_message_of_another_version_is_read_and_no_message_is_not) {
  using namespace std::string_literals;
  const std::string data = "\x0A\x02hi"s;
  const std::string others = "\x10\x96\x01"s + "\x19" + std::string(8, 'x') + "\x25" +
                             std::string(4, 'x') + "\x2A\x03xyz"s;
  EXPECT_EQ(data_in(reply_to(others + data)), "hi");
  EXPECT_EQ(data_in(reply_to(data + others)), "hi");
  EXPECT_EQ(data_in(reply_to("\x0A\x01x"s + data)), "hi") << "the last one";
  for (const std::string& bad :
       {"\x0A\x03hi"s, "\x08\x01"s, "\x0A"s, "\x02\x00"s, "\x00"s, "\x10"s, "\x19xxx"s,
        "\x2A\xFF\xFF\xFF\xFF\x0Fxx"s, "\x0A\xFF\xFF\xFF\xFF\x0Fxx"s}) {
    EXPECT_EQ(reply_to(bad).status, CfgStatus::kBadValue);
    EXPECT_EQ(reply_to(data + bad).status, CfgStatus::kBadValue);
  }
}

// But for groups, which have no use in CfgUtil.
TEST(EchoTest, M_2_reads_what_protobuf_reads) {
  base::SeededRandom random(5);
  std::size_t read = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string bytes(random.below(12), 0);
    for (char& b : bytes) {
      b = static_cast<char>(random.below(3) == 0   ? 0x0A
                            : random.below(2) == 0 ? random.below(256)
                                                   : random.below(4));
    }
    cfg::EchoRequest message;
    bool is_good = message.ParseFromString(bytes);
    const auto& others = message.GetReflection()->GetUnknownFields(message);
    for (int n = 0; n < others.field_count(); ++n) {
      is_good = is_good && others.field(n).number() != cfg::EchoRequest::kDataFieldNumber &&
                others.field(n).type() != google::protobuf::UnknownField::TYPE_GROUP;
    }
    const CfgReply reply = reply_to(bytes);
    ASSERT_EQ(reply.status == CfgStatus::kOk, is_good) << i;
    if (!is_good) continue;
    ASSERT_EQ(data_in(reply), message.data()) << i;
    ++read;
  }
  EXPECT_GT(read, 1000U);
}

}  // namespace echo_test
}  // namespace splitnic::messaging
