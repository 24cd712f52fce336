// The hosts that a unit knows, and what changes from one list to the next.
#include "iou_module/policy/known_hosts.h"

#include <gtest/gtest.h>

namespace splitnic::iou {
namespace known_hosts_test {

using fabric::session::PublicKey;

PublicKey key_number(unsigned number) {
  PublicKey key;
  key.bytes[0] = static_cast<std::byte>(number);
  return key;
}

HostEntry entry(Credential who, const std::string& name, std::uint8_t mac = 0) {
  HostEntry host{std::move(who), {}};
  host.rights.name = name;
  if (mac != 0) host.rights.macs = {{2, 0, 0, 0, 0, mac}};
  return host;
}

std::vector<std::string> names(const std::vector<const KnownHost*>& hosts) {
  std::vector<std::string> all;
  for (const KnownHost* host : hosts) all.push_back(host->rights.name);
  return all;
}

TEST(KnownHostsTest, found_by_credential_and_by_address) {
  HostsFile file;
  file.hosts = {entry(key_number(1), "a", 1), entry(UserId{7}, "u", 2)};
  const KnownHosts known(file, {key_number(1), key_number(9)});
  ASSERT_EQ(known.all().size(), 3U) << "a key that is in both counts once";
  EXPECT_EQ(known.find(key_number(1))->rights.name, "a");
  EXPECT_EQ(known.find(key_number(1))->key_text(), "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
  EXPECT_EQ(known.find(UserId{7})->user(), 7U);
  EXPECT_EQ(known.find(UserId{7})->key(), nullptr);
  EXPECT_EQ(known.find(key_number(9))->rights, HostRights{}) << "only in --allow-key";
  EXPECT_EQ(known.find(UserId{8}), nullptr);
  EXPECT_EQ(known.owner_of({2, 0, 0, 0, 0, 2})->rights.name, "u");
  EXPECT_EQ(known.owner_of({2, 0, 0, 0, 0, 3}), nullptr);
  EXPECT_FALSE(known.admits_others());
  EXPECT_EQ(known.users(), std::vector<std::uint32_t>{7});
}

TEST(KnownHostsTest, L_7_the_names_of_the_file) {
  HostsFile file;
  file.hosts = {entry(key_number(1), "a", 1), entry(UserId{7}, "u", 2)};
  const KnownHosts known(file, {key_number(9)});
  EXPECT_TRUE(known.names("a"));
  EXPECT_TRUE(known.names("u"));
  EXPECT_FALSE(known.names("b"));
  EXPECT_FALSE(known.names("")) << "a key of --allow-key has no name there";
}

TEST(KnownHostsTest, without_a_file_others_may_attach) {
  const KnownHosts known(std::nullopt, {key_number(9)});
  EXPECT_TRUE(known.admits_others());
  EXPECT_FALSE(known.users());
  EXPECT_NE(known.find(key_number(9)), nullptr);
  const KnownHosts empty(HostsFile{}, {});
  EXPECT_FALSE(empty.admits_others());
  EXPECT_EQ(empty.users(), std::vector<std::uint32_t>{});
}

TEST(KnownHostsTest, changes) {
  HostsFile before, after;
  before.hosts = {entry(key_number(1), "stays"), entry(key_number(2), "goes"),
                  entry(key_number(3), "old"), entry(key_number(4), "rights"),
                  entry(UserId{5}, "moves")};
  after.hosts = {entry(key_number(1), "stays"), entry(key_number(3), "new"),
                 entry(key_number(4), "rights", 7), entry(key_number(5), "moves")};
  const KnownHosts first(before, {}), second(after, {});
  const HostChanges changes = changes_between(first, second);
  EXPECT_EQ(names(changes.added), std::vector<std::string>{"moves"});
  EXPECT_EQ(names(changes.removed), (std::vector<std::string>{"goes", "moves"}));
  EXPECT_EQ(names(changes.changed), (std::vector<std::string>{"new", "rights"}));
  EXPECT_EQ(text_of(second, changes), "4 hosts: 1 added, 2 removed, 2 changed");
  EXPECT_EQ(text_of(KnownHosts(std::nullopt, {key_number(1)}), {}),
            "1 host: 0 added, 0 removed, 0 changed");
}

}  // namespace known_hosts_test
}  // namespace splitnic::iou
