// The hosts file is read at the start and again on request; an error keeps what is in force.
#include "iou_module/hosts_reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <optional>
#include <utility>

#include "tests/support/temp_folder.h"

namespace splitnic::iou {
namespace hosts_reload_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class HostsReloadTest : public ::testing::Test {
 protected:
  HostsReloadTest() {
    options_.lan.resize(1);
    options_.hosts_path = folder_.path("hosts.toml");
    write("[hosts.a]\nuid = 1\n[hosts.b]\nuid = 2\n");
  }

  void write(const std::string& text) {
    std::ofstream(options_.hosts_path, std::ios::trunc) << text;
    ASSERT_EQ(::chmod(options_.hosts_path.c_str(), 0600), 0);
  }
  // Starts with two queues, which keep what they get until finish().
  void start() {
    auto known = reload_.load();
    ASSERT_TRUE(known) << known.error().text();
    ASSERT_NE(*known, nullptr);
    first_ = *known;
    std::vector<HostsReload::Post> queues;
    for (std::size_t i = 0; i < 2; ++i) {
      queues.emplace_back([this, i](HostsReload::Known all, std::function<void()> done) {
        if (is_busy_[i]) return false;
        posted_.emplace_back(std::move(all), std::move(done));
        return true;
      });
    }
    reload_.start(std::move(queues));
  }
  void reload() {
    reply_.reset();
    posted_.clear();
    reload_.reload([this](control::Reply reply) {
      EXPECT_FALSE(reply_) << "one reply";
      reply_ = std::move(reply);
    });
  }

  const support::TempFolder folder_;
  IouOptions options_;
  HostsReload reload_{options_};
  HostsReload::Known first_;
  bool is_busy_[2] = {};
  std::vector<std::pair<HostsReload::Known, std::function<void()>>> posted_;
  std::optional<control::Reply> reply_;
};

TEST_F(HostsReloadTest, all_queues_get_the_new_list_and_then_comes_the_reply) {
  start();
  EXPECT_NE(first_->find(UserId{1}), nullptr);
  write("[hosts.a]\nuid = 1\nsniff = true\n[hosts.c]\nuid = 3\n");
  reload();
  ASSERT_EQ(posted_.size(), 2U);
  EXPECT_EQ(posted_[0].first, posted_[1].first) << "they share it";
  EXPECT_NE(posted_[0].first->find(UserId{3}), nullptr);
  posted_[1].second();
  EXPECT_FALSE(reply_);
  posted_[0].second();
  ASSERT_TRUE(reply_);
  EXPECT_EQ(*reply_, (control::Reply{control::ReplyStatus::kOk,
                                     "2 hosts: 1 added, 1 removed, 1 changed\n"}));
  reload();
  for (const auto& [known, done] : posted_) done();
  EXPECT_THAT(reply_->text, StartsWith("2 hosts: 0 added, 0 removed, 0 changed"));
}

TEST_F(HostsReloadTest, an_error_changes_nothing_and_names_its_place) {
  start();
  write("[hosts.a]\nuid = 1\n[hosts.b]\nuid = 2\nvlan = [1]\n");
  reload();
  ASSERT_TRUE(reply_);
  EXPECT_EQ(reply_->status, control::ReplyStatus::kFailed);
  EXPECT_THAT(reply_->text, StartsWith(options_.hosts_path + ": line 5, column 1: [hosts.b]"));
  EXPECT_THAT(reply_->text, HasSubstr("nothing has changed"));
  EXPECT_TRUE(posted_.empty());
  write("[hosts.b]\nuid = 2\n");
  reload();
  for (const auto& [known, done] : posted_) done();
  EXPECT_EQ(reply_->text, "1 host: 0 added, 1 removed, 0 changed\n");
}

TEST_F(HostsReloadTest, a_busy_queue_fails_it_and_the_next_one_reports_the_same_changes) {
  start();
  write("[hosts.a]\nuid = 1\n");
  is_busy_[1] = true;
  reload();
  ASSERT_TRUE(reply_);
  EXPECT_EQ(reply_->status, control::ReplyStatus::kFailed);
  EXPECT_THAT(reply_->text, HasSubstr("queue 1 is busy"));
  for (const auto& [known, done] : posted_) done();
  is_busy_[1] = false;
  reload();
  for (const auto& [known, done] : posted_) done();
  EXPECT_EQ(reply_->text, "1 host: 0 added, 1 removed, 0 changed\n");
}

TEST_F(HostsReloadTest, before_it_serves_and_without_a_file_it_is_refused) {
  reload();
  ASSERT_TRUE(reply_);
  EXPECT_EQ(reply_->status, control::ReplyStatus::kFailed);
  EXPECT_THAT(reply_->text, HasSubstr("starting"));
  options_.hosts_path.clear();
  EXPECT_EQ(reload_.load().value(), nullptr);
  reload();
  EXPECT_EQ(reply_->status, control::ReplyStatus::kRefused);
  EXPECT_THAT(reply_->text, HasSubstr("--hosts"));
}

TEST_F(HostsReloadTest, B_04_the_options_of_hosts_are_read_with_the_file) {
  start();
  EXPECT_FALSE(first_->rights_of_others().may_sniff);
  EXPECT_TRUE(first_->addresses().empty());
  EXPECT_EQ(first_->hosts_max(), options_.max_hosts);
  IouOptions read = options_;
  read.max_hosts = 1;
  read.grants_sniff = true;
  read.allow = {control::parse_cidr("192.0.2.0/24").value()};
  read.common.keys.peers.resize(1);
  const control::OptionChanges changes{{"allow", "allow-key", "grant", "max-hosts"}, {"lan"}};
  EXPECT_TRUE(reload_.reload([this](control::Reply reply) { reply_ = std::move(reply); },
                             {&read, &changes}));
  ASSERT_EQ(posted_.size(), 2U);
  const HostsReload::Known now = posted_[0].first;
  EXPECT_TRUE(now->rights_of_others().may_sniff);
  EXPECT_EQ(now->hosts_max(), 1U);
  EXPECT_FALSE(now->rights_of_others().may_forge) << "several hosts may be attached still";
  EXPECT_EQ(now->addresses().size(), 1U);
  EXPECT_NE(now->find(fabric::session::PublicKey{}), nullptr);
  for (const auto& [known, done] : posted_) done();
  EXPECT_EQ(reply_->text,
            "3 hosts: 1 added, 0 removed, 0 changed; allow, allow-key, grant and max-hosts have "
            "changed; lan differs: start the program again\n");
  // An error of the file keeps them all; without one they are still there.
  read.grants_sniff = false;
  read.max_hosts = 5;
  write("[hosts.a]\n");
  posted_.clear();
  EXPECT_FALSE(reload_.reload([this](control::Reply reply) { reply_ = std::move(reply); },
                              {&read, &changes}));
  EXPECT_EQ(reply_->status, control::ReplyStatus::kFailed);
  EXPECT_TRUE(posted_.empty());
  write("[hosts.a]\nuid = 1\n");
  reload();
  EXPECT_TRUE(posted_.at(0).first->rights_of_others().may_sniff);
  EXPECT_EQ(posted_.at(0).first->hosts_max(), 1U);
}

TEST_F(HostsReloadTest, B_04_a_note_of_the_options_is_in_the_reply) {
  start();
  const control::OptionChanges changes{{}, {}, "max-hosts is 7"};
  EXPECT_TRUE(reload_.reload([this](control::Reply reply) { reply_ = std::move(reply); },
                             {&options_, &changes}));
  for (const auto& [known, done] : posted_) done();
  EXPECT_EQ(reply_->text,
            "2 hosts: 0 added, 0 removed, 0 changed; nothing has changed; max-hosts is 7\n");
}

TEST_F(HostsReloadTest, B_04_without_a_file_the_options_alone_are_read) {
  options_.hosts_path.clear();
  ASSERT_EQ(reload_.load().value(), nullptr);
  reload_.start({[this](HostsReload::Known all, std::function<void()> done) {
    posted_.emplace_back(std::move(all), std::move(done));
    return true;
  }});
  IouOptions read = options_;
  read.grants_forge = true;
  const control::OptionChanges changes{{"grant"}, {}};
  EXPECT_TRUE(reload_.reload([this](control::Reply reply) { reply_ = std::move(reply); },
                             {&read, &changes}));
  ASSERT_EQ(posted_.size(), 1U);
  EXPECT_TRUE(posted_[0].first->admits_others());
  EXPECT_TRUE(posted_[0].first->rights_of_others().may_forge);
  posted_[0].second();
  EXPECT_EQ(reply_->text, "grant has changed\n");
}

TEST_F(HostsReloadTest, an_error_at_the_start) {
  write("[hosts.a]\n");
  const auto known = reload_.load();
  ASSERT_FALSE(known);
  EXPECT_THAT(known.error().text(), HasSubstr("line 1, column 8"));
  options_.common.keys.key_file = folder_.path("none.key");
  EXPECT_THAT(reload_.load().error().text(), HasSubstr("--key-file"));
}

}  // namespace hosts_reload_test
}  // namespace splitnic::iou
