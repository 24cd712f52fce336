// The handshake against the vectors that the authors of cacophony published for it, and against
// changed bytes, keys and points of low order.
#include "fabric_emul/session/noise.h"

#include <gtest/gtest.h>

#include "tests/unit/fabric_emul/session/session_support.h"

namespace splitnic::fabric::session {
namespace {

// vectors/cacophony.txt of github.com/haskell-cryptography/cacophony (public domain):
// Noise_IKpsk2_25519_AESGCM_SHA256.
constexpr const char* kPrologue = "4a6f686e2047616c74";
constexpr const char* kPsk = "54686973206973206d7920417573747269616e20706572737065637469766521";
constexpr const char* kInitStatic =
    "e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1";
constexpr const char* kInitEphemeral =
    "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a";
constexpr const char* kRespPublic =
    "31e0303fd6418d2f8c0e78b91f22e8caed0fbe48656dcf4767e4834f701b8f62";
constexpr const char* kRespStatic =
    "4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893";
constexpr const char* kRespEphemeral =
    "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b";
constexpr const char* kHash = "48c3f1eb397c797af6b139032c6074cb41282ff033ee25d5aee4a4badd3a2c3f";
constexpr const char* kPayload1 = "4c756477696720766f6e204d69736573";
constexpr const char* kMessage1 =
    "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c79445a1baf339186d7867062b0dd31f5de"
    "32"
    "2d370165d217939b2b7ed9e2bae7840458ea65c2ce1554e0e8077fe7334c4bd514c658fd04d97b86d216f58f59714a"
    "7e"
    "24144155045c8f36bed85a2cb0fd9af7";
constexpr const char* kPayload2 = "4d757272617920526f746862617264";
constexpr const char* kMessage2 =
    "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f1448088432fe8d675e949799d2a968211a66cc7"
    "ba"
    "2b0f4cad8eda3c2bd37eae737bbf88";
// Transport messages, the first from the initiator.
constexpr std::array<std::array<const char*, 2>, 4> kTransport = {{
    {"462e20412e20486179656b", "38cbf3835c78b7802df0dd0d9640ff8575debd0cb61cfb52590da1"},
    {"4361726c204d656e676572", "ffc365ff6955fc66c5d809b31ac995f812c5770bd29f0df12f0ffd"},
    {"4a65616e2d426170746973746520536179",
     "a7f2828174c4ead2491ffeb77c41c890fd1229ee36f23ccb9066a795daff1cad6b"},
    {"457567656e2042f6686d20766f6e2042617765726b",
     "3b86963d5c0e6e3b4153d77153836606393eefc4e5e6dae97796552d1265839ee3825cb80c"},
}};

struct Handshake {
  StaticKey initiator{Secret(bytes32(kInitStatic))};
  StaticKey responder{Secret(bytes32(kRespStatic))};
  Secret shared = *x25519(initiator.private_key, responder.public_key);
  Secret psk{bytes32(kPsk)};
  Buffer prologue = from_hex(kPrologue);
  NoiseInitiator first{initiator, responder.public_key, shared, prologue};
  NoiseResponder second{responder, prologue};

  Buffer initiation() {
    const Buffer payload = from_hex(kPayload1);
    Buffer message(kNoiseInitiationBytes + payload.size());
    EXPECT_TRUE(first.write_initiation(Secret(bytes32(kInitEphemeral)), payload, message));
    return message;
  }
  bool reads(const Buffer& message) {
    Buffer payload(message.size() - kNoiseInitiationBytes);
    const auto key = second.read_static(message);
    return key && *key == initiator.public_key && second.read_payload(message, shared, payload) &&
           payload == from_hex(kPayload1);
  }
  std::optional<TransportKeys> response(Buffer& message) {
    const Buffer payload = from_hex(kPayload2);
    message.resize(kNoiseResponseBytes + payload.size());
    return second.write_response(Secret(bytes32(kRespEphemeral)), psk, payload, message);
  }
  std::optional<TransportKeys> reads_response(const Buffer& message) const {
    Buffer payload(message.size() - kNoiseResponseBytes);
    auto keys = first.read_response(message, psk, payload);
    EXPECT_EQ(keys.has_value(), payload == from_hex(kPayload2));
    return keys;
  }
};

TEST(NoiseTest, S_56_published_vector) {
  Handshake run;
  ASSERT_EQ(run.responder.public_key.bytes, bytes32(kRespPublic));
  const Buffer initiation = run.initiation();
  EXPECT_EQ(initiation, from_hex(kMessage1));
  ASSERT_TRUE(run.reads(initiation));
  Buffer response;
  const auto second = run.response(response);
  ASSERT_TRUE(second);
  EXPECT_EQ(response, from_hex(kMessage2));
  const auto first = run.reads_response(response);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->handshake_hash, bytes32(kHash));
  EXPECT_EQ(second->handshake_hash, bytes32(kHash));
  EXPECT_EQ(first->send.bytes(), second->receive.bytes());
  EXPECT_EQ(first->receive.bytes(), second->send.bytes());
  for (std::size_t i = 0; i < kTransport.size(); ++i) {
    const auto aead = make_openssl_aead();
    aead->set_key(i % 2 == 0 ? first->send : first->receive);
    const Buffer plain = from_hex(kTransport[i][0]);
    Buffer sealed(plain.size() + kTagBytes);
    aead->seal(sealed, plain, nonce_of(i / 2), {});
    EXPECT_EQ(sealed, from_hex(kTransport[i][1]));
  }
}

TEST(NoiseTest, S_56_a_flipped_bit_in_any_byte_is_refused) {
  const Buffer initiation = Handshake().initiation();
  for (std::size_t at = 0; at < initiation.size(); ++at) {
    Handshake run;
    Buffer changed = initiation;
    changed[at] ^= std::byte{1} << at % 7;  // X25519 ignores the top bit of a public key
    EXPECT_FALSE(run.reads(changed)) << at;
  }
  Handshake run;
  ASSERT_TRUE(run.reads(run.initiation()));
  Buffer response;
  ASSERT_TRUE(run.response(response));
  for (std::size_t at = 0; at < response.size(); ++at) {
    Buffer changed = response;
    changed[at] ^= std::byte{1} << at % 7;
    EXPECT_FALSE(run.reads_response(changed)) << at;
  }
  // None of these has spoiled the attempt.
  EXPECT_TRUE(run.reads_response(response));
}

TEST(NoiseTest, S_56_other_keys_psk_and_prologue_are_refused) {
  Handshake run;
  const Buffer initiation = run.initiation();
  const StaticKey stranger{Secret(counted(1))};
  NoiseResponder other(stranger, run.prologue);
  EXPECT_FALSE(other.read_static(initiation));
  const Buffer longer = from_hex("4a6f686e2047616c7400");
  NoiseResponder other_prologue(run.responder, longer);
  EXPECT_FALSE(other_prologue.read_static(initiation));

  ASSERT_TRUE(run.reads(initiation));
  run.psk = Secret();
  Buffer response;
  ASSERT_TRUE(run.response(response));
  run.psk = Secret(bytes32(kPsk));
  EXPECT_FALSE(run.reads_response(response));
}

TEST(NoiseTest, S_56_points_of_low_order_are_refused) {
  const Secret key(counted(5));
  // Of order 1, 2, 4 and 8, and their forms that are not reduced [RFC 7748, section 6.1].
  for (const char* point : {"0000000000000000000000000000000000000000000000000000000000000000",
                            "0100000000000000000000000000000000000000000000000000000000000000",
                            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
                            "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
                            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"}) {
    EXPECT_FALSE(x25519(key, PublicKey{bytes32(point)})) << point;
    Handshake run;
    Buffer initiation = run.initiation();
    std::ranges::copy(bytes32(point), initiation.begin());
    EXPECT_FALSE(run.second.read_static(initiation)) << point;
  }
}

TEST(NoiseTest, x25519_as_published) {
  // RFC 7748, section 5.2.
  const Secret first(bytes32("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"));
  const PublicKey point{
      bytes32("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")};
  EXPECT_EQ(x25519(first, point)->bytes(),
            bytes32("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"));
  const Secret second(bytes32("4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d"));
  const PublicKey other{
      bytes32("e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493")};
  EXPECT_EQ(x25519(second, other)->bytes(),
            bytes32("95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"));
}

}  // namespace
}  // namespace splitnic::fabric::session
