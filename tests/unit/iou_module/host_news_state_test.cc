#include "iou_module/hosts/host_news_state.h"

#include <gtest/gtest.h>

namespace splitnic::iou::host_news_state_test {

TEST(HostNewsStateTest, a_new_host_is_news) {
  HostNewsState news;
  EXPECT_FALSE(news.was_usable());
  EXPECT_TRUE(news.take_due(false));
  EXPECT_FALSE(news.take_due(false));
}

TEST(HostNewsStateTest, is_due_when_the_host_becomes_usable_or_unusable) {
  HostNewsState news;
  EXPECT_TRUE(news.take_due(true));
  EXPECT_TRUE(news.was_usable());
  EXPECT_FALSE(news.take_due(true));
  EXPECT_TRUE(news.take_due(false));
  EXPECT_FALSE(news.was_usable());
  EXPECT_FALSE(news.take_due(false));
}

TEST(HostNewsStateTest, is_due_once_for_all_changes_since_the_last_news) {
  HostNewsState news;
  EXPECT_TRUE(news.take_due(true));
  news.set_due();
  news.set_due();
  EXPECT_TRUE(news.was_usable()) << "as the others have heard";
  EXPECT_TRUE(news.take_due(true));
  EXPECT_FALSE(news.take_due(true));
  news.set_due();
  EXPECT_TRUE(news.take_due(false)) << "both at once";
  EXPECT_FALSE(news.take_due(false));
}

}  // namespace splitnic::iou::host_news_state_test
