// Bytes of the four datagrams: the example of docs/protocol/session.md, which session_twin.py
// computes as well, every length, every reserved bit; and the cookie.
#include "fabric_emul/session/messages.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "fabric_emul/session/attempt.h"
#include "fabric_emul/session/cookie.h"
#include "fabric_emul/session/record_keys.h"
#include "tests/unit/fabric_emul/session/session_support.h"

namespace splitnic::fabric::session {
namespace {

constexpr const char* kInitiation =
    "81010000 0a0b0c0d 64b101b1 d0be5a87 04bd078f 9895001f c03e8e9f 9522f188"
    "dd128d98 46d48466 f73da835 6b8c5ff7 72119bc2 ed4e22a1 48046efa 6147f7e7"
    "33a2aa25 f334dfee c618d556 dcfdc764 b52cc295 31de938c 09548273 5ee9e840"
    "0d5208da 4239f0fd 00f68ec2 5f427744 24b3600c e85e2855 aa6b349c c34de1c7"
    "80dcb81f 790a09ea b91c7c94 7b17163b 00000000 00000000 00000000 00000000";
constexpr const char* kResponse =
    "82010000 01020304 0a0b0c0d 244fe3b9 63e899dd 295baffc e248d353 0f3a9a74"
    "79ba0630 02680ebf e7adad49 637ac9ea efbc7ab8 35dc30e9 9b258fdf 12d550ad"
    "d55944de 2d671ff7 86e0bee8 23082870 6b6cfbf9 cb817a2c e0160f05 00000000"
    "00000000 00000000 00000000";
constexpr const char* kCookie =
    "83010000 0a0b0c0d 00010203 04050607 08090a0b b6bede44 098734fa aeda7123"
    "792a4e47 27671bac b390ab66 2bd9ae68 4d98b538";
constexpr const char* kData =
    "84000000 01020304 00000000 00000000 dded5465 63f105a8 ed833362 f2beabdf"
    "ba3ec95b f1e41eac a3adf707 df2f29f3";

const StaticKey& host() {
  static const StaticKey kKey{Secret(counted(1))};
  return kKey;
}
const StaticKey& unit() {
  static const StaticKey kKey{Secret(counted(33))};
  return kKey;
}

TEST(SessionMessagesTest, golden_handshake_and_first_record) {
  const Secret shared = *x25519(host().private_key, unit().public_key);
  const auto prologue = prologue_for(unit().public_key);
  NoiseInitiator first(host(), unit().public_key, shared, prologue);
  Buffer initiation(kInitiationBytes);
  const InitiationPayload sent{0x19A00000000, 0x1122334455667788};
  ASSERT_TRUE(first.write_initiation(Secret(counted(65)), sent.emit(),
                                     begin_initiation(initiation, 0x0A0B0C0D)));
  put_macs(initiation, MacKeys(unit().public_key), nullptr);
  EXPECT_EQ(initiation, from_hex(kInitiation));
  EXPECT_EQ(type_of(initiation), MessageType::kInitiation);
  EXPECT_EQ(Initiation::sender(initiation), 0x0A0B0C0D);
  EXPECT_TRUE(has_mac1(initiation, MacKeys(unit().public_key)));
  EXPECT_FALSE(has_mac1(initiation, MacKeys(host().public_key)));

  NoiseResponder second(unit(), prologue);
  ASSERT_EQ(second.read_static(Initiation::noise(initiation)), host().public_key);
  std::array<std::byte, kInitiationPayloadBytes> payload{};
  ASSERT_TRUE(second.read_payload(Initiation::noise(initiation), shared, payload));
  EXPECT_EQ(InitiationPayload::parse(payload).stamp, sent.stamp);
  EXPECT_EQ(InitiationPayload::parse(payload).instance, sent.instance);
  Buffer response(kResponseBytes);
  const auto unit_keys = second.write_response(Secret(counted(97)), Secret(),
                                               ResponsePayload{0x99AABBCCDDEEFF00}.emit(),
                                               begin_response(response, 0x01020304, 0x0A0B0C0D));
  ASSERT_TRUE(unit_keys);
  put_macs(response, MacKeys(host().public_key), nullptr);
  EXPECT_EQ(response, from_hex(kResponse));
  EXPECT_EQ(type_of(response), MessageType::kResponse);
  EXPECT_EQ(Response::sender(response), 0x01020304);
  EXPECT_EQ(Response::receiver(response), 0x0A0B0C0D);

  std::array<std::byte, kResponsePayloadBytes> reply{};
  const auto keys = first.read_response(Response::noise(response), Secret(), reply);
  ASSERT_TRUE(keys);
  EXPECT_EQ(ResponsePayload::parse(reply).instance, 0x99AABBCCDDEEFF00);
  const SessionConfig config;
  RecordKeys records(config, *keys, {{}, 0x01020304, base::Time(), 0});
  const Buffer idle = from_hex("5f200000 00000000 00000000 f5f88c31");
  Buffer record(idle.size() + kDataOverheadBytes);
  records.seal(record, idle, 0);
  EXPECT_EQ(record, from_hex(kData));
  EXPECT_EQ(type_of(record), MessageType::kData);
  EXPECT_EQ(Data::receiver(record), 0x01020304);
  RecordKeys opening(config, *unit_keys, {{}, 0, base::Time(), 0});
  Buffer opened(idle.size());
  EXPECT_EQ(opening.open(base::Time(), opened, record), RecordKeys::Opened::kGoodHighest);
  EXPECT_EQ(opened, idle);
}

TEST(SessionMessagesTest, golden_cookie) {
  const Buffer message = from_hex(kCookie);
  ASSERT_EQ(type_of(message), MessageType::kCookie);
  EXPECT_EQ(Cookie::receiver(message), 0x0A0B0C0D);
  const auto cookie =
      open_cookie(message, MacKeys(unit().public_key), mac1_of(from_hex(kInitiation)));
  ASSERT_TRUE(cookie);
  for (std::size_t i = 0; i < cookie->size(); ++i) {
    EXPECT_EQ((*cookie)[i], static_cast<std::byte>(0xC0 + i));
  }
  for (std::size_t at = 8; at < message.size(); ++at) {
    Buffer changed = message;
    changed[at] ^= std::byte{1};
    EXPECT_FALSE(open_cookie(changed, MacKeys(unit().public_key), mac1_of(from_hex(kInitiation))));
  }
  EXPECT_FALSE(open_cookie(message, MacKeys(unit().public_key), Mac{}));
}

TEST(SessionMessagesTest, every_other_length_type_version_and_reserved_bit_is_refused) {
  for (const char* hex : {kInitiation, kResponse, kCookie, kData}) {
    const Buffer message = from_hex(hex);
    const bool is_data = message[0] == std::byte{0x84};
    for (std::size_t length = 0; length < message.size(); ++length) {
      const bool is_whole_record = is_data && length >= kDataOverheadBytes;
      EXPECT_EQ(type_of(base::Bytes(message).first(length)).has_value(), is_whole_record) << length;
    }
    Buffer longer = message;
    longer.push_back(std::byte{0});
    EXPECT_EQ(type_of(longer).has_value(), is_data);
    for (std::size_t bit = 8; bit < 32; ++bit) {
      Buffer changed = message;
      changed[bit / 8] ^= std::byte{1} << bit % 8;
      const bool is_rekey_flag = is_data && bit == 8;
      EXPECT_EQ(type_of(changed).has_value(), is_rekey_flag) << bit;
    }
    for (unsigned type = 0; type < 256; ++type) {
      Buffer changed = message;
      changed[0] = static_cast<std::byte>(type);
      if (changed[0] == message[0]) continue;
      const bool is_record = type == 0x84 && message[1] == std::byte{1};  // that flag again
      EXPECT_EQ(type_of(changed).has_value(), is_record) << type;
    }
  }
}

TEST(SessionMessagesTest, S_56_a_cookie_is_for_one_address_and_two_minutes) {
  base::SeededRandom random(5);
  const MacKeys own(unit().public_key);
  CookieJar jar(random, own);
  base::ManualClock clock;
  PeerAddress here;
  here.bytes[0] = std::byte{1};
  PeerAddress elsewhere = here;
  elsewhere.bytes[2] = std::byte{1};
  Buffer message = from_hex(kInitiation);
  EXPECT_FALSE(jar.has_mac2(clock.now(), message, here));
  const auto reply = jar.reply(clock.now(), message, 1, here);
  const auto cookie = open_cookie(reply, own, mac1_of(message));
  ASSERT_TRUE(cookie);
  put_macs(message, own, &*cookie);
  EXPECT_TRUE(jar.has_mac2(clock.now(), message, here));
  EXPECT_FALSE(jar.has_mac2(clock.now(), message, elsewhere));
  clock.advance(kCookieLifetime - std::chrono::seconds(1));
  EXPECT_TRUE(jar.has_mac2(clock.now(), message, here));
  clock.advance(kCookieLifetime);
  EXPECT_TRUE(jar.has_mac2(clock.now(), message, here));  // the previous secret
  clock.advance(kCookieLifetime);
  EXPECT_FALSE(jar.has_mac2(clock.now(), message, here));
  message.back() ^= std::byte{1};
  EXPECT_FALSE(jar.has_mac2(clock.now(), message, here));
}

// Whoever can guess the secret of a cookie proves any address: it is random from the first call,
// also shortly after the machine started.
TEST(SessionMessagesTest, S_56_no_cookie_is_valid_before_one_was_given) {
  for (const int uptime : {0, 1, 119, 120, 121, 100'000}) {
    base::SeededRandom random(5);
    const MacKeys own(unit().public_key);
    CookieJar jar(random, own);
    PeerAddress here;
    here.bytes[0] = std::byte{1};
    const Bytes32 guess = hmac(Bytes32{}, {here.bytes});
    Mac cookie{};
    std::copy_n(guess.begin(), cookie.size(), cookie.begin());
    Buffer message = from_hex(kInitiation);
    put_macs(message, own, &cookie);
    const base::Time now = base::Time() + std::chrono::seconds(uptime);
    EXPECT_FALSE(jar.has_mac2(now, message, here)) << uptime;
    EXPECT_FALSE(jar.has_mac2(now + kCookieLifetime, message, here)) << uptime;
  }
}

}  // namespace
}  // namespace splitnic::fabric::session
