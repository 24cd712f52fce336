// The request of `splitnic flush`, as text.
#include "control/config/flush_request.h"

#include <gtest/gtest.h>

namespace splitnic::control {
namespace flush_request_test {

TEST(FlushRequestTest, S001_16_it_survives_the_way_to_the_program) {
  for (const FlushRequest& request : {FlushRequest{}, FlushRequest{300, 2, true, "hA"},
                                      FlushRequest{UINT32_MAX, 1, false, "b#1"}}) {
    EXPECT_EQ(parse_flush_request(text_of(request)).value(), request) << text_of(request);
  }
}

TEST(FlushRequestTest, S001_16_what_is_none_is_refused) {
  for (const char* text :
       {"", "1", "1 0", "1 0 both", "x 0 own", "1 x own", "-1 0 own", "4294967296 0 own"}) {
    EXPECT_FALSE(parse_flush_request(text)) << text;
  }
}

}  // namespace flush_request_test
}  // namespace splitnic::control
