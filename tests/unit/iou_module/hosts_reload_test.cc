// The hosts file is read at the start and again on request; an error keeps what is in force.
#include "iou_module/policy/hosts_reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fabric_emul/session/keys.h"
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
  // Starts with two queues, which run their commands in finish().
  void start() {
    auto known = reload_.load();
    ASSERT_TRUE(known) << known.error().text();
    ASSERT_NE(*known, nullptr);
    first_ = *known;
    reload_.start({queue(0), queue(1)});
  }
  HostsReload::Queue queue(std::size_t i) {
    has_[i] = first_;
    return {[this, i](std::function<void()> command) { return post(i, std::move(command)); },
            [this, i](HostsReload::Known all) { has_[i] = std::move(all); }};
  }
  bool post(std::size_t i, std::function<void()> command) {
    const auto& before = i == 0 ? before_first_ : before_second_;
    if (before) before();
    if (is_busy_[i]) return false;
    commands_[i].push_back(std::move(command));
    return true;
  }
  bool reload(const HostsReload::Config& config = {}) {
    reply_.reset();
    return reload_.reload(
        [this](control::Reply reply) {
          EXPECT_FALSE(reply_) << "one reply";
          reply_ = std::move(reply);
        },
        config);
  }
  void run(std::size_t i) {
    for (const auto& command : std::exchange(commands_[i], {})) command();
  }
  void finish() {
    run(0);
    run(1);
  }
  bool is_nothing_posted() const { return commands_[0].empty() && commands_[1].empty(); }
  // As at the start, and as the reply reports.
  void expect_nothing_has_changed(const std::string& why) {
    ASSERT_TRUE(reply_);
    EXPECT_EQ(reply_->status, control::ReplyStatus::kFailed);
    EXPECT_THAT(reply_->text, HasSubstr(why));
    EXPECT_THAT(reply_->text, HasSubstr("nothing has changed"));
    finish();
    EXPECT_EQ(has_[0], first_);
    EXPECT_EQ(has_[1], first_);
    EXPECT_TRUE(is_nothing_posted());
  }

  const support::TempFolder folder_;
  IouOptions options_;
  HostsReload reload_{options_};
  HostsReload::Known first_;
  // Of the two queues.
  bool is_busy_[2] = {};
  std::vector<std::function<void()>> commands_[2];
  HostsReload::Known has_[2];
  std::function<void()> before_first_, before_second_;  // when that one is about to get a command
  std::optional<control::Reply> reply_;
};

TEST_F(HostsReloadTest, all_queues_get_the_new_list_and_then_comes_the_reply) {
  start();
  EXPECT_NE(first_->find(UserId{1}), nullptr);
  write("[hosts.a]\nuid = 1\nsniff = true\n[hosts.c]\nuid = 3\n");
  reload();
  run(1);
  EXPECT_FALSE(reply_);
  EXPECT_EQ(has_[0], first_);
  run(0);
  ASSERT_TRUE(reply_);
  EXPECT_EQ(has_[0], has_[1]) << "they share it";
  EXPECT_NE(has_[0]->find(UserId{3}), nullptr);
  EXPECT_EQ(*reply_, (control::Reply{control::ReplyStatus::kOk,
                                     "2 hosts: 1 added, 1 removed, 1 changed\n"}));
  reload();
  finish();
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
  EXPECT_TRUE(is_nothing_posted());
  write("[hosts.b]\nuid = 2\n");
  reload();
  finish();
  EXPECT_EQ(reply_->text, "1 host: 0 added, 1 removed, 0 changed\n");
}

TEST_F(HostsReloadTest, B_04_a_busy_queue_fails_it_and_no_queue_has_changed) {
  start();
  write("[hosts.a]\nuid = 1\n");
  IouOptions read = options_;
  read.max_hosts = 1;
  read.grants_sniff = true;
  const control::OptionChanges changes{{"grant", "max-hosts"}, {}};
  for (const std::size_t busy : {0U, 1U}) {
    is_busy_[busy] = true;
    EXPECT_FALSE(reload({&read, &changes}));
    expect_nothing_has_changed("queue " + std::to_string(busy) + " is busy");
    is_busy_[busy] = false;
  }
  EXPECT_TRUE(reload());
  finish();
  EXPECT_EQ(reply_->text, "1 host: 0 added, 1 removed, 0 changed\n");
  EXPECT_EQ(has_[1]->hosts_max(), options_.max_hosts) << "the options that failed with it are gone";
  EXPECT_FALSE(has_[1]->rights_of_others().may_sniff);
}

TEST_F(HostsReloadTest, B_04_a_queue_that_is_faster_than_the_others_waits_for_them) {
  start();
  write("[hosts.a]\nuid = 1\n");
  before_second_ = [this] {
    run(0);
    EXPECT_EQ(has_[0], first_);
  };
  is_busy_[1] = true;
  EXPECT_FALSE(reload());
  expect_nothing_has_changed("queue 1 is busy");
  is_busy_[1] = false;
  EXPECT_TRUE(reload());
  finish();
  EXPECT_EQ(reply_->text, "1 host: 0 added, 1 removed, 0 changed\n");
  EXPECT_EQ(has_[0], has_[1]);
  EXPECT_EQ(has_[0]->find(UserId{2}), nullptr);
}

TEST_F(HostsReloadTest, B_04_a_faster_queue_that_gets_busy_fails_it) {
  start();
  write("[hosts.a]\nuid = 1\n");
  before_second_ = [this] {
    is_busy_[0] = true;
    run(0);
  };
  EXPECT_FALSE(reload());
  expect_nothing_has_changed("queue 0 is busy");
}

// Queue 0 is stopped for a moment where it posts the first list to itself, and gets the second one
// meanwhile.
TEST_F(HostsReloadTest, B_04_of_two_reloads_in_quick_order_the_later_one_stays) {
  start();
  std::promise<void> has_come, may_post;
  std::thread of_first;
  before_first_ = [&, here = std::this_thread::get_id()] {
    if (std::this_thread::get_id() == here) return;
    has_come.set_value();
    may_post.get_future().wait();
  };
  before_second_ = [&] {
    if (of_first.joinable()) return;
    of_first = std::thread([this] { run(0); });
    has_come.get_future().wait();
  };
  std::vector<std::string> replies;
  const auto reply = [&replies](const control::Reply& one) { replies.push_back(one.text); };
  write("[hosts.a]\nuid = 1\n");
  EXPECT_TRUE(reload_.reload(reply));
  write("[hosts.c]\nuid = 3\n");
  EXPECT_TRUE(reload_.reload(reply));
  may_post.set_value();
  of_first.join();
  finish();
  EXPECT_EQ(has_[0], has_[1]);
  EXPECT_NE(has_[0]->find(UserId{3}), nullptr);
  EXPECT_EQ(has_[0]->find(UserId{1}), nullptr);
  EXPECT_EQ(replies, (std::vector<std::string>{"1 host: 0 added, 1 removed, 0 changed\n",
                                               "1 host: 1 added, 1 removed, 0 changed\n"}));
  EXPECT_TRUE(is_nothing_posted());
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
  EXPECT_TRUE(reload({&read, &changes}));
  finish();
  const HostsReload::Known now = has_[0];
  EXPECT_TRUE(now->rights_of_others().may_sniff);
  EXPECT_EQ(now->hosts_max(), 1U);
  EXPECT_FALSE(now->rights_of_others().may_forge) << "several hosts may be attached still";
  EXPECT_EQ(now->addresses().size(), 1U);
  EXPECT_NE(now->find(fabric::session::PublicKey{}), nullptr);
  EXPECT_EQ(reply_->text,
            "3 hosts: 1 added, 0 removed, 0 changed; allow, allow-key, grant and max-hosts have "
            "changed; lan differs: start the program again\n");
  // An error of the file keeps them all; without one they are still there.
  read.grants_sniff = false;
  read.max_hosts = 5;
  write("[hosts.a]\n");
  EXPECT_FALSE(reload({&read, &changes}));
  EXPECT_EQ(reply_->status, control::ReplyStatus::kFailed);
  EXPECT_TRUE(is_nothing_posted());
  write("[hosts.a]\nuid = 1\n");
  reload();
  finish();
  EXPECT_TRUE(has_[0]->rights_of_others().may_sniff);
  EXPECT_EQ(has_[0]->hosts_max(), 1U);
}

TEST_F(HostsReloadTest, B_04_a_key_that_no_host_can_have_changes_nothing) {
  namespace session = fabric::session;
  base::SeededRandom random(1);
  const session::Secret own = session::random_private_key(random);
  options_.common.keys.key_file = folder_.path("key");
  ASSERT_TRUE(session::write_key_file(options_.common.keys.key_file, own));
  start();
  const control::OptionChanges changes{{"allow-key"}, {}};
  for (const session::PublicKey& key : {session::public_key_of(own), session::PublicKey{}}) {
    IouOptions read = options_;
    read.common.keys.peers = {key};
    EXPECT_FALSE(reload({&read, &changes}));
    EXPECT_EQ(reply_->status, control::ReplyStatus::kFailed);
    EXPECT_THAT(reply_->text, HasSubstr("--allow-key " + session::base64_of(key.bytes)));
    EXPECT_TRUE(is_nothing_posted());
  }
}

TEST_F(HostsReloadTest, B_04_a_note_of_the_options_is_in_the_reply) {
  start();
  const control::OptionChanges changes{{}, {}, "max-hosts is 7"};
  EXPECT_TRUE(reload({&options_, &changes}));
  finish();
  EXPECT_EQ(reply_->text,
            "2 hosts: 0 added, 0 removed, 0 changed; nothing has changed; max-hosts is 7\n");
}

TEST_F(HostsReloadTest, B_04_without_a_file_the_options_alone_are_read) {
  options_.hosts_path.clear();
  ASSERT_EQ(reload_.load().value(), nullptr);
  reload_.start({queue(0)});
  IouOptions read = options_;
  read.grants_forge = true;
  const control::OptionChanges changes{{"grant"}, {}};
  EXPECT_TRUE(reload({&read, &changes}));
  finish();
  EXPECT_TRUE(has_[0]->admits_others());
  EXPECT_TRUE(has_[0]->rights_of_others().may_forge);
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
