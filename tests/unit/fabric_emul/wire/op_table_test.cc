#include "fabric_emul/wire/op_table.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

namespace splitnic::fabric {
namespace op_table_test {

// docs/protocol/cell.md#operations, written a second time: columns RC UC RD UD Raw STREAM iSCSI
// MGMT (0..6, 15).
// '-' refused, 's' single cell, 'm' multi-cell, 'o' multi-cell by option, 'e' single, if enabled.
const std::map<unsigned, std::string> kExpected = {
    {0x00, "mmos-m--"}, {0x01, "m-o--m--"}, {0x02, "mmse-m--"}, {0x03, "s-s--s--"},
    {0x04, "m-s--m--"}, {0x05, "s-s-----"}, {0x06, "s-s-----"}, {0x08, "----s---"},
    {0x09, "------m-"}, {0x10, "s-s--s--"}, {0x11, "s-s--s--"}, {0x12, "s----s--"},
    {0x18, "-------s"}};

char expected(unsigned op, unsigned service) {
  const auto row = kExpected.find(op);
  if (row == kExpected.end()) return '-';
  if (service <= 6) return row->second[service];
  return service == 15 ? row->second[7] : '-';
}

char actual(const OpInfo& info) {
  if (!info.allowed) return '-';
  if (info.allowed_by_option) return 'e';
  if (!info.multi_cell) return 's';
  return info.multi_by_option ? 'o' : 'm';
}

TEST(OpTableTest, X_10_X_28_total_over_every_operation_and_service) {
  for (unsigned op = 0; op < 64; ++op) {
    for (unsigned service = 0; service < 16; ++service) {
      const OpInfo& info = op_info(static_cast<Op>(op), static_cast<Service>(service));
      EXPECT_EQ(actual(info), expected(op, service)) << "op " << op << " service " << service;
      if (!info.allowed) {
        EXPECT_EQ(info, OpInfo{});
      }
    }
  }
}

TEST(OpTableTest, values_beyond_the_fields_do_not_reach_outside_the_table) {
  for (unsigned op = 0; op < 256; ++op) {
    for (unsigned service = 0; service < 256; ++service) {
      EXPECT_EQ(&op_info(static_cast<Op>(op), static_cast<Service>(service)),
                &op_info(static_cast<Op>(op % 64), static_cast<Service>(service % 16)));
    }
  }
}

TEST(OpTableTest, S001_37_extensions_follow_operation_and_service) {
  EXPECT_EQ(op_info(Op::kRdmaWrite, Service::kRc).va_mh, VaMhRule::kFirstOrOnly);
  EXPECT_EQ(op_info(Op::kRdmaWrite, Service::kUc).va_mh, VaMhRule::kFirstOrOnly);
  EXPECT_EQ(op_info(Op::kRdmaWrite, Service::kStream).va_mh, VaMhRule::kEvery);
  EXPECT_EQ(op_info(Op::kRdmaReadResp, Service::kStream).va_mh, VaMhRule::kEvery);
  EXPECT_EQ(op_info(Op::kRdmaReadResp, Service::kRc).va_mh, VaMhRule::kNever);
  EXPECT_EQ(op_info(Op::kSend, Service::kRc).va_mh, VaMhRule::kNever);
  EXPECT_TRUE(op_info(Op::kRdmaReadReq, Service::kStream).has_read);
  EXPECT_FALSE(op_info(Op::kRdmaReadReq, Service::kRc).has_read);
  EXPECT_TRUE(op_info(Op::kFetchOpReq, Service::kRd).has_atomic);
  for (unsigned op = 0; op < 64; ++op) {
    for (unsigned service = 0; service < 16; ++service) {
      const OpInfo& info = op_info(static_cast<Op>(op), static_cast<Service>(service));
      if (!info.allowed) continue;
      EXPECT_EQ(info.has_ee, service == 2);
      EXPECT_EQ(info.has_stream, service == 5 || service == 6);
      EXPECT_EQ(info.has_ack, op == 0x10 || op == 0x11);
      EXPECT_EQ(info.has_dereg, op == 0x01);
      EXPECT_EQ(info.may_have_idata, op <= 0x02);
    }
  }
}

TEST(OpTableTest, every_operation_and_service_has_a_name) {
  for (unsigned op = 0; op < 64; ++op) {
    EXPECT_EQ(name(static_cast<Op>(op)) == "unknown", !kExpected.contains(op)) << op;
  }
  for (unsigned service = 0; service < 16; ++service) {
    EXPECT_EQ(name(static_cast<Service>(service)) == "unknown", service > 6 && service < 15);
  }
  EXPECT_EQ(name(Op::kRdmaWrite), "RDMA_WRITE");
  EXPECT_EQ(name(Service::kRc), "RC");
}

}  // namespace op_table_test
}  // namespace splitnic::fabric
