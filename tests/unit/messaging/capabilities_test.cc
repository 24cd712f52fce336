// The agreement of two sides from their descriptions: the same terms on both, or a line of refusal.
#include "messaging/capabilities.h"

#include <gtest/gtest.h>

#include "messaging/cfgutil/cfgutil.pb.h"
#include "messaging/connect.pb.h"

namespace splitnic::messaging::capabilities_test {
namespace {

std::string refusal(const connect::Capabilities& theirs, const PairConfig& config = {}) {
  const std::string data = theirs.SerializeAsString();
  const auto agreed = agree(base::as_bytes(data), config, ConnectRole::kPassive);
  return agreed ? "" : agreed.error().text();
}

connect::Capabilities described(const PairConfig& config) {
  connect::Capabilities mine;
  EXPECT_TRUE(mine.ParseFromString(encode_capabilities(config, config.mode)));
  return mine;
}

TEST(CapabilitiesTest, X_46_both_sides_compute_the_same_terms) {
  const PairConfig host{.control_message_max = 1024,
                        .data_message_max = 32768,
                        .idata_form = IdataForm::kOffsetLength,
                        .node_name = "host",
                        .queues = 3};
  const PairConfig unit{.control_message_max = 2048, .data_message_max = 8192, .node_name = "unit"};
  const std::string from_host = encode_capabilities(host, Mode::kRdma);
  const std::string from_unit = encode_capabilities(unit, Mode::kRdma);
  const auto at_unit = agree(base::as_bytes(from_host), unit, ConnectRole::kPassive);
  const auto at_host = agree(base::as_bytes(from_unit), host, ConnectRole::kActive);
  ASSERT_TRUE(at_unit && at_host);
  for (const auto* terms : {&*at_unit, &*at_host}) {
    EXPECT_EQ(terms->mode, Mode::kRdma);
    EXPECT_EQ(terms->control_message_max, 1024U);
    EXPECT_EQ(terms->data_message_max, 8192U);
  }
  EXPECT_EQ(at_host->form_in, IdataForm::kOffsetLength);
  EXPECT_EQ(at_host->form_in, at_unit->form_out);
  EXPECT_EQ(at_host->form_out, at_unit->form_in);
  EXPECT_EQ(at_unit->peer_name, "host");
  EXPECT_EQ(at_unit->peer_queues, 3U);
  EXPECT_EQ(at_host->peer_queues, 1U);
}

TEST(CapabilitiesTest, S001_26_only_the_passive_side_follows_the_mode) {
  const PairConfig rdma;
  const std::string send = encode_capabilities({.mode = Mode::kSend}, Mode::kSend);
  const auto followed = agree(base::as_bytes(send), rdma, ConnectRole::kPassive);
  ASSERT_TRUE(followed);
  EXPECT_EQ(followed->mode, Mode::kSend);
  EXPECT_FALSE(agree(base::as_bytes(send), rdma, ConnectRole::kActive));
  EXPECT_FALSE(agree(base::as_bytes(send), {.follows_peer_mode = false}, ConnectRole::kPassive));
}

// Protobuf checks the encoding of a field of type string, and reports a bad one on stderr.
TEST(CapabilitiesTest, H_4_a_name_that_is_no_text_is_cleaned_and_nothing_is_printed) {
  std::string data = encode_capabilities({.node_name = "host"}, Mode::kRdma);
  data += "\x42\x02\xff\xfe";  // node_name, 2 bytes
  data += "\x62\x01\xff";      // program
  ::testing::internal::CaptureStderr();
  const auto agreed = agree(base::as_bytes(data), {}, ConnectRole::kPassive);
  const auto queues = queues_asked(base::as_bytes(data));
  EXPECT_EQ(nic_asked(base::as_bytes(data)), 0U);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(queues.queue, 0U);
  ASSERT_TRUE(agreed);
  EXPECT_EQ(agreed->peer_name, "__");
}

TEST(CapabilitiesTest, H_4_no_message_has_a_field_that_protobuf_checks_and_reports) {
  for (const auto* file :
       {connect::Capabilities::descriptor()->file(), cfg::InitNicRequest::descriptor()->file()}) {
    for (int i = 0; i < file->message_type_count(); ++i) {
      for (int j = 0; j < file->message_type(i)->field_count(); ++j) {
        const auto* field = file->message_type(i)->field(j);
        EXPECT_NE(field->type(), field->TYPE_STRING) << field->full_name();
      }
    }
  }
}

TEST(CapabilitiesTest, X_46_each_refusal_has_its_line) {
  EXPECT_EQ(refusal(described({})), "");
  connect::Capabilities none;
  EXPECT_NE(refusal(none).find("version 1 is needed"), std::string::npos);
  auto other = described({});
  other.set_version_lowest(2);
  EXPECT_NE(refusal(other).find("version 1 is needed"), std::string::npos);
  other = described({});
  other.set_mode(connect::MODE_UNSPECIFIED);
  EXPECT_NE(refusal(other).find("another mode"), std::string::npos);
  for (const std::uint32_t bytes : {0U, 252U, 258U, 65540U}) {
    other = described({});
    other.set_msg_max(1, bytes);
    EXPECT_NE(refusal(other).find("multiple of 4"), std::string::npos) << bytes;
  }
  const std::string garbage = "\xFF\xFF\xFF";
  EXPECT_FALSE(agree(base::as_bytes(garbage), {}, ConnectRole::kPassive));
  EXPECT_EQ(nic_asked(base::as_bytes(garbage)), 0U);
  EXPECT_EQ(queues_asked(base::as_bytes(garbage)).queues, 1U);
}

}  // namespace
}  // namespace splitnic::messaging::capabilities_test
