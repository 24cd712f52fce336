#include "control/report/details.h"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <limits>

namespace splitnic::control {
namespace details_test {

using namespace std::chrono_literals;

TEST(DetailsTest, the_unit_of_a_number_moves_from_its_name_to_its_value) {
  EXPECT_EQ(detail_text({"mtu", std::uint64_t{1500}}), "  mtu: 1500\n");
  EXPECT_EQ(detail_text({"datagram_bytes", std::uint64_t{1436}}), "  datagram: 1.4 KiB\n");
  EXPECT_EQ(detail_text({"runs_for_seconds", std::uint64_t{185}}), "  runs for: 3 min 5 s\n");
  EXPECT_EQ(detail_text({"nic_started", true}), "  nic started: yes\n");
  EXPECT_EQ(detail_text({"sandbox", false}), "  sandbox: no\n");
  EXPECT_EQ(detail_text({"rights", std::string("a\x1B[2J")}), "  rights: a?[2J\n");
}

TEST(DetailsTest, sizes_and_spans) {
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(1023), "1023 bytes");
  EXPECT_EQ(size_text(1024), "1.0 KiB");
  EXPECT_EQ(size_text(64 << 20), "64.0 MiB");
  EXPECT_EQ(size_text(std::numeric_limits<std::uint64_t>::max()), "17179869184.0 GiB");
  EXPECT_EQ(span_text(250ms), "0.2 s");
  EXPECT_EQ(span_text(59s), "59 s");
  EXPECT_EQ(span_text(2h + 3min), "2 h 3 min");
}

TEST(DetailsTest, json_keeps_names_units_and_types) {
  EXPECT_EQ(boost::json::serialize(details_json({{"memory_bytes", std::uint64_t{1} << 40U},
                                                 {"sandbox", true},
                                                 {"rights", std::string("default")}})),
            R"({"memory_bytes":1099511627776,"sandbox":true,"rights":"default"})");
}

}  // namespace details_test
}  // namespace splitnic::control
