// The providers of AES-256-GCM: published vectors, equal bytes on random input, every flipped bit.
#include "fabric_emul/session/aead.h"

#include <gtest/gtest.h>

#include "tests/unit/fabric_emul/session/session_support.h"

namespace splitnic::fabric::session {
namespace {

class AeadTest : public testing::TestWithParam<AeadProvider> {
 protected:
  void SetUp() override {
    aead_ = make_aead(GetParam());
    if (!aead_) GTEST_FAIL() << name_of(GetParam()) << " is not in this build";
  }
  std::unique_ptr<Aead> aead_;
};

// Test cases 13 to 16 of "The Galois/Counter Mode of Operation", D. McGrew and J. Viega.
struct Vector {
  const char *key, *nonce, *plain, *associated, *sealed;
};
constexpr const char* kKey16 = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";
constexpr const char* kPlain16 =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b5"
    "25"
    "b16aedf5aa0de657ba637b39";
constexpr const char* kZero32 = "0000000000000000000000000000000000000000000000000000000000000000";
const Vector kVectors[] = {
    {kZero32, "000000000000000000000000", "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
    {kZero32, "000000000000000000000000", "00000000000000000000000000000000", "",
     "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"},
    {kKey16, "cafebabefacedbaddecaf888", kPlain16, "feedfacedeadbeeffeedfacedeadbeefabaddad2",
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828"
     "838"
     "c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b"},
};

TEST_P(AeadTest, published_vectors) {
  for (const Vector& vector : kVectors) {
    aead_->set_key(Secret(bytes32(vector.key)));
    Nonce nonce{};
    std::ranges::copy(from_hex(vector.nonce), nonce.begin());
    const Buffer plain = from_hex(vector.plain);
    const Buffer associated = from_hex(vector.associated);
    Buffer sealed(plain.size() + kTagBytes);
    aead_->seal(sealed, plain, nonce, associated);
    EXPECT_EQ(sealed, from_hex(vector.sealed));
    Buffer opened(plain.size());
    EXPECT_TRUE(aead_->open(opened, sealed, nonce, associated));
    EXPECT_EQ(opened, plain);
  }
}

TEST_P(AeadTest, seals_and_opens_in_place) {
  aead_->set_key(Secret(counted(9)));
  base::SeededRandom random(3);
  const Buffer plain = random_bytes(random, 1440);
  Buffer buffer = plain;
  buffer.resize(plain.size() + kTagBytes);
  const base::MutableBytes all(buffer);
  aead_->seal(all, all.first(plain.size()), nonce_of(5), {});
  EXPECT_NE(Buffer(buffer.begin(), buffer.end() - kTagBytes), plain);
  EXPECT_TRUE(aead_->open(all.first(plain.size()), all, nonce_of(5), {}));
  buffer.resize(plain.size());
  EXPECT_EQ(buffer, plain);
}

TEST_P(AeadTest, S_56_no_flipped_bit_opens_and_no_plaintext_is_left) {
  aead_->set_key(Secret(counted(1)));
  base::SeededRandom random(11);
  const Buffer plain = random_bytes(random, 50);
  const Buffer associated = random_bytes(random, 16);
  Buffer sealed(plain.size() + kTagBytes);
  aead_->seal(sealed, plain, nonce_of(7), associated);
  const auto expect_refused = [&](const Buffer& bytes, const Nonce& nonce, const Buffer& header) {
    Buffer out(plain.size(), std::byte{0xEE});
    EXPECT_FALSE(aead_->open(out, bytes, nonce, header));
    EXPECT_EQ(out, Buffer(plain.size()));
  };
  for (std::size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
    Buffer changed = sealed;
    changed[bit / 8] ^= std::byte{1} << bit % 8;
    expect_refused(changed, nonce_of(7), associated);
  }
  for (std::size_t bit = 0; bit < 8 * associated.size(); ++bit) {
    Buffer changed = associated;
    changed[bit / 8] ^= std::byte{1} << bit % 8;
    expect_refused(sealed, nonce_of(7), changed);
  }
  expect_refused(sealed, nonce_of(8), associated);
  aead_->set_key(Secret(counted(2)));
  expect_refused(sealed, nonce_of(7), associated);
}

std::vector<AeadProvider> providers() {
  std::vector<AeadProvider> all{AeadProvider::kOpenSsl};
  if (make_aead(AeadProvider::kIpsecMb)) all.push_back(AeadProvider::kIpsecMb);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Providers, AeadTest, testing::ValuesIn(providers()), [](const auto& test) {
  return test.param == AeadProvider::kOpenSsl ? "OpenSsl" : "IpsecMb";
});

// A build without libipsec-mb has one provider, and nothing to compare.
TEST(AeadProvidersTest, give_the_same_bytes_on_random_input) {
  base::SeededRandom random(77);
  for (const AeadProvider provider : providers()) {
    const auto reference = make_aead(AeadProvider::kOpenSsl);
    const auto other = make_aead(provider);
    for (std::size_t round = 0; round < 1600; ++round) {
      Secret drawn;
      std::ranges::copy(random_bytes(random, kKeyBytes), drawn.mutable_bytes().begin());
      reference->set_key(drawn);
      other->set_key(drawn);
      // Every length up to 1500, then some up to the longest datagram.
      const std::size_t length = round < 1500 ? round : random.below(65000);
      const Buffer plain = random_bytes(random, length);
      const Buffer associated = random_bytes(random, random.below(40));
      const Nonce nonce = nonce_of(random.next());
      Buffer sealed(length + kTagBytes);
      Buffer sealed_by_other(length + kTagBytes);
      reference->seal(sealed, plain, nonce, associated);
      other->seal(sealed_by_other, plain, nonce, associated);
      ASSERT_EQ(sealed, sealed_by_other) << length;
      Buffer opened(length);
      ASSERT_TRUE(other->open(opened, sealed, nonce, associated)) << length;
      ASSERT_EQ(opened, plain) << length;
    }
  }
}

TEST(AeadProvidersTest, the_best_one_is_one_that_is_there) {
  EXPECT_NE(make_aead(best_aead_provider()), nullptr);
}

}  // namespace
}  // namespace splitnic::fabric::session
