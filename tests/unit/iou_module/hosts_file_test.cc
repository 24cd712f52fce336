// The hosts file: every field, and every error with line and column.
#include "iou_module/policy/hosts_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "fabric_emul/session/keys.h"
#include "fabric_emul/wire/ids.h"
#include "iou_module/hosts/host_rights_text.h"
#include "tests/support/child.h"
#include "tests/support/temp_folder.h"

namespace splitnic::iou {
namespace hosts_file_test {

namespace session = fabric::session;
using ::testing::HasSubstr;

std::string key_number(unsigned number) {
  session::Secret secret;
  secret.mutable_bytes()[1] = static_cast<std::byte>(number);  // X25519 clears bits of the first
  secret.mutable_bytes()[31] = std::byte{0x40};
  return session::base64_of(session::public_key_of(secret).bytes);
}
const std::string kKey = key_number(1);
const std::string kOther = key_number(2);
const std::string kUnit = key_number(3);

UnitFacts facts() { return {session::parse_public_key(kUnit).value(), 2}; }

base::Result<HostsFile> parse(const std::string& text) { return parse_hosts_file(text, facts()); }

std::string error_of(const std::string& text) {
  const auto parsed = parse(text);
  return parsed ? "none" : parsed.error().text();
}

HostRights rights_of(const std::string& fields) {
  const auto parsed = parse("[hosts.a]\nkey = \"" + kKey + "\"\n" + fields);
  EXPECT_TRUE(parsed) << parsed.error().text();
  return parsed ? parsed->hosts.at(0).rights : HostRights{};
}

TEST(HostsFileTest, every_field) {
  const auto parsed = parse("[hosts.office]\nkey = \"" + kKey + R"("
nic = [1, 0]
partition = [0x8001, 2]
sl = 15
macs = ["02:00:00:00:00:10", "02:00:00:00:00:11"]
mac_count = 1
vlans = [0, 100, 4094]
pvid = 100
sniff = true
forge = true
queues = 2
memory = "16M"
rate = "500M"
frames = 200000
group_frames = 0
from = ["192.0.2.0/24", "2001:db8::1"]
[hosts."a.b"]
uid = 1000
)");
  ASSERT_TRUE(parsed) << parsed.error().text();
  ASSERT_EQ(parsed->hosts.size(), 2U);
  const HostEntry& office = parsed->hosts[0];
  EXPECT_EQ(std::get<session::PublicKey>(office.who), session::parse_public_key(kKey).value());
  const HostRights& r = office.rights;
  EXPECT_EQ(r.name, "office");
  EXPECT_EQ(r.nics, (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(r.partitions, (std::vector{fabric::PartitionKey(0x8001), fabric::PartitionKey(2)}));
  EXPECT_EQ(r.sl, 15);
  ASSERT_EQ(r.macs.size(), 2U);
  EXPECT_EQ(r.macs[1], (lan::MacAddress{2, 0, 0, 0, 0, 0x11}));
  EXPECT_EQ(r.mac_count, 1U);
  ASSERT_TRUE(r.vlans);
  EXPECT_EQ(r.vlans->count(), 3U);
  EXPECT_TRUE(r.vlans->test(4094));
  EXPECT_EQ(r.pvid, 100);
  EXPECT_TRUE(r.may_sniff);
  EXPECT_TRUE(r.may_forge);
  EXPECT_EQ(r.queues_max, 2U);
  EXPECT_EQ(r.memory_max, 16U << 20);
  EXPECT_EQ(r.bits_per_second, 500'000'000U);
  EXPECT_EQ(r.frames_per_second, 200'000U);
  EXPECT_EQ(r.group_frames_per_second, 0U);
  ASSERT_EQ(r.from.size(), 2U);
  EXPECT_TRUE(r.from[0].contains(*control::parse_ip("192.0.2.9")));
  EXPECT_EQ(r.from[1].prefix_bits, 128U);
  EXPECT_EQ(rights_text(r),
            "nic=1,0 partitions=2 sl=15 macs=2 mac_count=1 vlans=3 pvid=100 sniff forge queues=2 "
            "memory=16M rate=500M "
            "frames=200000 group_frames=0 from=2");
  EXPECT_EQ(std::get<UserId>(parsed->hosts[1].who).value, 1000U);
  EXPECT_EQ(parsed->hosts[1].rights.name, "a.b");
}

TEST(HostsFileTest, what_is_left_out_has_its_default) {
  HostRights defaults;
  defaults.name = "a";
  EXPECT_EQ(rights_of(""), defaults);
  EXPECT_EQ(rights_text(defaults), "default");
  EXPECT_TRUE(parse("# nobody\n[hosts]\n")->hosts.empty());
}

TEST(HostsFileTest, limits_of_numbers_and_sizes_are_inside) {
  EXPECT_EQ(rights_of("memory = \"1M\"").memory_max, 1U << 20);
  EXPECT_EQ(rights_of("memory = 1048576").memory_max, 1U << 20);
  EXPECT_EQ(rights_of("memory = \"1024K\"").memory_max, 1U << 20);
  EXPECT_EQ(rights_of("memory = \"64G\"").memory_max, std::uint64_t{64} << 30);
  EXPECT_EQ(rights_of("rate = 0").bits_per_second, 0U);
  EXPECT_EQ(rights_of("rate = \"64K\"").bits_per_second, 64'000U);
  EXPECT_EQ(rights_of("rate = \"1T\"").bits_per_second, 1'000'000'000'000U);
  EXPECT_EQ(rights_of("frames = 1000000000").frames_per_second, 1'000'000'000U);
  EXPECT_EQ(rights_of("pvid = 0").pvid, 0);
  EXPECT_EQ(rights_of("vlans = [5]\npvid = 0").pvid, 0) << "none is always possible";
  EXPECT_EQ(rights_of("mac_count = 256").mac_count, 256U);
  EXPECT_EQ(rights_of("macs = [\"02:00:00:00:00:10\"]\nmac_count = 0").mac_count, 0U);
  EXPECT_EQ(rights_of("queues = 8").queues_max, 8U);
  EXPECT_EQ(parse("[hosts.a]\nuid = 4294967294\n")->hosts.size(), 1U);
}

// A host with one more field; the error must be at its value.
struct BadValue {
  const char* field;
  std::string value;
  unsigned column;  // in the value, from 1
  std::string why;
};

void PrintTo(const BadValue& bad, std::ostream* out) { *out << bad.field << " = " << bad.value; }

class BadValueTest : public ::testing::TestWithParam<BadValue> {};

TEST_P(BadValueTest, has_line_column_and_reason) {
  const BadValue& bad = GetParam();
  const std::string field = bad.field;
  const std::string text = "# hosts\n[hosts.a]\n  uid = 7\n  " + field + " = " + bad.value + "\n";
  const std::string place =
      "line 4, column " + std::to_string(field.size() + 5 + bad.column) + ": ";
  EXPECT_EQ(error_of(text), place + "[hosts.a] " + field + ": " + bad.why) << text;
}

const std::string kNoList = "\"x\"";
INSTANTIATE_TEST_SUITE_P(
    AllFields, BadValueTest,
    ::testing::Values(
        BadValue{"nic", "[2]", 2, "there is no NIC 2: the I/O unit has 2, numbered from 0"},
        BadValue{"nic", "[0, 128]", 5, "128 is not the number of a NIC from 0 to 127"},
        BadValue{"nic", "[-1]", 2, "-1 is not the number of a NIC from 0 to 127"},
        BadValue{"nic", "[1, 1]", 5, "1 is given twice"},
        BadValue{"nic", "0", 1, "0 is not a list"},
        BadValue{"nic", "[]", 1, "the list is empty: leave the field out"},
        BadValue{"macs", kNoList, 1, "'x' is not a list"},
        BadValue{"macs", "[1]", 2, "1 is not a MAC address like 02:00:00:00:00:01"},
        BadValue{"macs", "[\"02\"]", 2, "'02' is not a MAC address like 02:00:00:00:00:01"},
        BadValue{"macs", "[\"01:00:5e:00:00:01\"]", 2,
                 "'01:00:5e:00:00:01' is not a MAC address that one NIC can have (it is a group "
                 "address or zero)"},
        BadValue{"macs", "[\"02:00:00:00:00:01\", \"02:00:00:00:00:01\"]", 23,
                 "02:00:00:00:00:01 is given twice, first by [hosts.a] in line 2"},
        BadValue{"mac_count", "257", 1, "257 is not a whole number from 0 to 256"},
        BadValue{"mac_count", "\"1\"", 1, "'1' is not a whole number from 0 to 256"},
        BadValue{"mac_count", "0", 1, "without macs the host could have no address"},
        BadValue{"vlans", "[4095]", 2, "4095 is not a VLAN id from 0 to 4094"},
        BadValue{"vlans", "[7, 7]", 5, "7 is given twice"},
        BadValue{"vlans", "[true]", 2, "true is not a VLAN id from 0 to 4094"},
        BadValue{"pvid", "4095", 1, "4095 is not a VLAN id from 0 to 4094"},
        BadValue{"pvid", "{}", 1, "a table is not a VLAN id from 0 to 4094"},
        BadValue{"sniff", "1", 1, "1 is not true or false"},
        BadValue{"forge", "\"yes\"", 1, "'yes' is not true or false"},
        BadValue{"queues", "0", 1, "0 is not a whole number from 1 to 8"},
        BadValue{"queues", "9", 1, "9 is not a whole number from 1 to 8"},
        BadValue{"memory", "\"1023K\"", 1, "'1023K' is not a size from \"1M\" to \"64G\""},
        BadValue{"memory", "\"65G\"", 1, "'65G' is not a size from \"1M\" to \"64G\""},
        BadValue{"memory", "\"M\"", 1, "'M' is not a size from \"1M\" to \"64G\""},
        BadValue{"memory", "\"64MB\"", 1, "'64MB' is not a size from \"1M\" to \"64G\""},
        BadValue{"memory", "\"\"", 1, "'' is not a size from \"1M\" to \"64G\""},
        BadValue{"memory", "1.5", 1,
                 "a date, a time or a number with a fraction is not a size from \"1M\" to \"64G\""},
        BadValue{"memory", "\"99999999999999999999T\"", 1,
                 "'99999999999999999999T' is not a size from \"1M\" to \"64G\""},
        BadValue{"rate", "1", 1, "1 is not a rate from \"64K\" to \"1T\" bits per second, or 0"},
        BadValue{"rate", "\"2T\"", 1,
                 "'2T' is not a rate from \"64K\" to \"1T\" bits per second, or 0"},
        BadValue{"rate", "-1", 1, "-1 is not a rate from \"64K\" to \"1T\" bits per second, or 0"},
        BadValue{"frames", "1000000001", 1,
                 "1000000001 is not a whole number from 0 to 1000000000"},
        BadValue{"group_frames", "[1]", 1, "a list is not a whole number from 0 to 1000000000"},
        BadValue{"from", "[\"192.0.2.1/24\"]", 2,
                 "'192.0.2.1/24' has bits set after its prefix: clear them, or give a longer "
                 "prefix"},
        BadValue{"from", "[\"office\"]", 2,
                 "'office' is not an address block like 192.0.2.0/24 or fd00::/8"},
        BadValue{"from", "[\"::1\", \"::1\"]", 9, "::1 is given twice"},
        BadValue{"from", "[\"192.0.2.0/24\"]", 1,
                 "only a host that is known by its key has an address here: leave the field out"}));

TEST(HostsFileTest, a_file_that_is_empty_for_a_moment_ends_no_host) {
  for (const char* empty : {"", "\n", "# hosts\n"}) {
    EXPECT_EQ(error_of(empty), "line 1, column 1: there is no host: [hosts] alone admits nobody");
  }
}

// Errors of the host or the file as a whole.
TEST(HostsFileTest, errors_of_tables_and_names) {
  const std::string key = "key = \"" + kKey + "\"\n";
  EXPECT_EQ(error_of("x = 1\n"),
            "line 1, column 1: there are only tables [hosts.NAME] in this file");
  EXPECT_EQ(error_of("hosts = 1\n"),
            "line 1, column 1: there are only tables [hosts.NAME] in this file");
  EXPECT_EQ(error_of("[hosts.a]\n" + key + "[host.b]\n"),
            "line 3, column 2: there are only tables [hosts.NAME] in this file");
  EXPECT_EQ(error_of("[hosts]\na = 1\n"), "line 2, column 5: [hosts.a] is not a table");
  EXPECT_EQ(error_of("[[hosts.a]]\n" + key), "line 1, column 1: [hosts.a] is not a table");
  EXPECT_EQ(error_of("[hosts.\"a b\"]\n" + key),
            "line 1, column 8: 'a b' is not a name of 1 to 64 letters, digits, '.', '_' and '-'");
  EXPECT_THAT(error_of("[hosts.\"a\\nb\"]\n" + key), HasSubstr("'a?b' is not a name"));
  EXPECT_EQ(error_of("[hosts.a]\nmacs = [\"02:00:00:00:00:01\"]\n"),
            "line 1, column 8: [hosts.a] has none of key, uid and lid");
  EXPECT_EQ(error_of("[hosts.a]\nuid = 1\n" + key),
            "line 1, column 8: [hosts.a] has more than one of key, uid and lid");
  EXPECT_THAT(error_of("[hosts.a]\n" + key + "vlan = [1]\n"),
              HasSubstr("line 3, column 1: [hosts.a]: 'vlan' is not a field of a host: these are "
                        "key, uid, lid, nic, partition, sl, macs, mac_count, vlans, pvid, sniff"));
  EXPECT_EQ(error_of("[hosts.a]\n" + key + "vlans = [1]\npvid = 2\n"),
            "line 4, column 8: [hosts.a] pvid: 2 is not one of its vlans");
}

// A LID is proven by a switch that has proven itself.
TEST(HostsFileTest, S_56_a_host_behind_a_keyed_switch_is_known_by_its_lid) {
  UnitFacts behind = facts();
  behind.has_vouched_lids = true;
  const auto parsed = parse_hosts_file("[hosts.a]\nlid = 11\n[hosts.b]\nlid = 12\n", behind);
  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_EQ(parsed->hosts.at(1).who, Credential(NodeLid{12}));
  const auto error = [&](const std::string& text) {
    return parse_hosts_file(text, behind).error().text();
  };
  EXPECT_EQ(error("[hosts.a]\nlid = 11\n[hosts.b]\nlid = 11\n"),
            "line 4, column 7: [hosts.b] lid: [hosts.a] in line 1 has the same");
  const std::string last = std::to_string(fabric::kPortLidMax);
  EXPECT_TRUE(parse_hosts_file("[hosts.a]\nlid = " + last + "\n", behind).has_value());
  EXPECT_THAT(error("[hosts.a]\nlid = 49152\n"), HasSubstr("49152 is not a LID from 1 to " + last));
  EXPECT_THAT(error("[hosts.a]\nlid = 11\nuid = 1\n"), HasSubstr("more than one of"));
  EXPECT_THAT(error_of("[hosts.a]\nlid = 11\n"),
              HasSubstr("line 2, column 7: [hosts.a] lid: the I/O unit is attached to no switch"));
}

TEST(HostsFileTest, S_56_keys_that_cannot_be_those_of_a_host) {
  const auto with = [](const std::string& key) { return "[hosts.a]\nkey = \"" + key + "\"\n"; };
  EXPECT_THAT(error_of(with("abc")), HasSubstr("line 2, column 7: [hosts.a] key: 'abc' is not a "
                                               "public key"));
  EXPECT_EQ(error_of(with(kUnit)),
            "line 2, column 7: [hosts.a] key: this is the key of the I/O unit: give that of the "
            "host");
  EXPECT_EQ(error_of(with(session::base64_of({}))),
            "line 2, column 7: [hosts.a] key: this is not the public key of anybody");
  UnitFacts without_keys;
  const auto parsed = parse_hosts_file(with(kKey), without_keys);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().text(),
            "line 2, column 7: [hosts.a] key: --key-file is missing: the I/O unit has no key");
  EXPECT_EQ(error_of("[hosts.a]\nuid = 4294967295\n"),
            "line 2, column 7: [hosts.a] uid: 4294967295 is not the number of a user from 0 to "
            "4294967294");
  EXPECT_LT(error_of(with(std::string(100'000, 'x'))).size(), 1000U);
}

TEST(HostsFileTest, no_two_hosts_have_the_same) {
  const std::string first =
      "[hosts.a]\nkey = \"" + kKey + "\"\nmacs = [\"02:00:00:00:00:01\"]\n[hosts.u]\nuid = 7\n";
  EXPECT_THAT(error_of(first + "[hosts.a]\nuid = 1\n"), HasSubstr("line 6, column "));
  EXPECT_EQ(error_of(first + "[hosts.b]\nkey = \"" + kKey + "\"\n"),
            "line 7, column 7: [hosts.b] key: [hosts.a] in line 1 has the same");
  EXPECT_EQ(error_of(first + "[hosts.b]\nuid = 7\n"),
            "line 7, column 7: [hosts.b] uid: [hosts.u] in line 4 has the same");
  EXPECT_EQ(error_of(first + "[hosts.b]\nuid = 8\nmacs = [\"02:00:00:00:00:01\"]\n"),
            "line 8, column 9: [hosts.b] macs: 02:00:00:00:00:01 is given twice, first by "
            "[hosts.a] in line 1");
}

TEST(HostsFileTest, R_62_length_and_number_of_hosts_are_bounded) {
  std::string text;
  for (std::size_t i = 0; i < kHostsInFileMax; ++i) {
    text += "[hosts.h" + std::to_string(i) + "]\nuid = " + std::to_string(i) + "\n";
  }
  EXPECT_EQ(parse(text)->hosts.size(), kHostsInFileMax);
  EXPECT_EQ(error_of(text + "[hosts.more]\nuid = 9999\n"),
            "line 8193, column 8: more than 4096 hosts");
  const std::string most = text + "#" + std::string(kHostsFileBytesMax - text.size() - 1, ' ');
  EXPECT_EQ(parse(most)->hosts.size(), kHostsInFileMax);
  EXPECT_EQ(error_of(most + " "), "longer than 1 MiB");
  std::string macs;
  for (int i = 0; i < 257; ++i) macs += "\"x\",";
  EXPECT_EQ(error_of("[hosts.a]\nmacs = [" + macs + "]\n"),
            "line 2, column 8: [hosts.a] macs: more than 256 elements");
}

class HostsFileOnDiskTest : public ::testing::Test {
 protected:
  std::string path_of(const std::string& text, mode_t mode = 0600) {
    const std::string path = folder_.path("hosts.toml");
    std::ofstream(path, std::ios::trunc) << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  static std::string error_at(const std::string& path) {
    const auto read = read_hosts_file(path, facts());
    return read ? "none" : read.error().text();
  }
  const support::TempFolder folder_;
};

TEST_F(HostsFileOnDiskTest, a_file_is_read_and_its_errors_name_it) {
  EXPECT_EQ(error_at(path_of("[hosts.a]\nuid = 1\n")), "none");
  EXPECT_EQ(error_at(path_of("[hosts.a]\nuid = 1\n", 0644)), "none") << "it holds no secret";
  const std::string bad = path_of("[hosts.a]\nuid = x\n");
  EXPECT_TRUE(error_at(bad).starts_with(bad + ": line 2, column ")) << error_at(bad);
  EXPECT_EQ(error_at(path_of(std::string(kHostsFileBytesMax + 1, ' '))),
            bad + ": longer than 1 MiB");
}

TEST_F(HostsFileOnDiskTest, only_its_owner_may_write_to_it) {
  for (const mode_t mode : {0620U, 0602U, 0666U}) {
    EXPECT_THAT(error_at(path_of("[hosts]\n", mode)), HasSubstr("chmod go-w")) << mode;
  }
}

TEST_F(HostsFileOnDiskTest, M_9_its_owner_is_root_or_the_user_of_the_program) {
  const std::string path = path_of("[hosts.a]\nuid = 1\n", 0644);
  ASSERT_EQ(::chown(path.c_str(), 65534, 0), 0) << "this test is for root";
  EXPECT_THAT(error_at(path), HasSubstr("belongs to another user"));
  ASSERT_EQ(::chown(folder_.path().c_str(), 65534, 0), 0);
  EXPECT_EQ(support::in_child([&] {
              if (::seteuid(65534) != 0 || ::chmod(path.c_str(), 0644) != 0) return 1;
              return error_at(path) == "none" ? 0 : 2;
            }),
            0);
}

TEST_F(HostsFileOnDiskTest, what_is_no_file_is_refused) {
  EXPECT_THAT(error_at(folder_.path("none")), HasSubstr("No such file"));
  EXPECT_THAT(error_at(folder_.path()), HasSubstr("not a regular file"));
  const std::string fifo = folder_.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(error_at(fifo), HasSubstr("not a regular file"));
}

}  // namespace hosts_file_test
}  // namespace splitnic::iou
