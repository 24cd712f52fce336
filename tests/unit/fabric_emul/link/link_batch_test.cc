// Datagrams of one batch that differ in more than their payload.
#include "link_pair.h"

namespace splitnic::fabric::link_cells_test {
namespace {

using ::testing::ElementsAre;

// Sends equally long datagrams as one batch from b.
void send_batch(Pair& pair, const std::vector<std::vector<std::byte>>& datagrams) {
  std::vector<std::byte> batch;
  for (const auto& one : datagrams) batch.insert(batch.end(), one.begin(), one.end());
  pair.b_at.send(pair.a_at.address(), batch, datagrams[0].size());
}

TEST(LinkBatchTest, a_crc_over_the_payload_is_checked_in_each_flit_of_a_batch) {
  Pair p;
  FlitHeader header = data_header();
  header.ctl = kFlitSof | kFlitEof;
  const auto good = flit_of(header, pattern(64, 1));
  auto bad = good;
  bad.back() ^= std::byte{1};
  send_batch(p, {good, good, bad, good});
  p.a.receive(p.now);
  EXPECT_THAT(p.a.cells, ElementsAre(pattern(64, 1), pattern(64, 1), pattern(64, 1)));
  EXPECT_EQ(p.a.count(LinkCounter::kRxDropCrc), 1U);
}

TEST(LinkBatchTest, a_crc_over_the_header_lets_the_payloads_of_a_batch_differ) {
  Pair p;
  send_batch(p, {flit_of(data_header(), pattern(64, 1)), flit_of(data_header(), pattern(64, 2))});
  p.a.receive(p.now);
  EXPECT_THAT(p.a.cells, ElementsAre(pattern(64, 1), pattern(64, 2)));
}

// Another identity proves the address of b, which so loses it, behind a cell of b.
TEST(LinkBatchTest, a_cell_is_not_of_the_peer_that_takes_its_address_in_the_same_batch) {
  Pair p;
  send_init(p.b_at, p.a_at.address(), hello_of(0xC, 300));
  p.a.receive(p.now);
  Init proof = hello_of(0xC, 300);
  while (const auto got = p.b_at.receive()) {
    FlitView flit;
    Init init;
    if (parse_flit(got->bytes, flit) == FlitError::kNone &&
        parse_init(flit.payload, init) == InitError::kNone && init.step == InitStep::kChallenge) {
      proof.echo = init.nonce;
    }
  }
  ASSERT_NE(proof.echo, 0U);
  proof.step = InitStep::kAnswer;
  std::vector<std::byte> last;
  append_init(last, proof);
  send_batch(p, {flit_of(data_header(), pattern(kInitBytes, 1)), last});
  p.a.receive(p.now);
  EXPECT_EQ(p.a.link().peer_eui64(), Eui64(0xC));
  EXPECT_TRUE(p.a.link().up());
  EXPECT_TRUE(p.a.cells.empty());
  EXPECT_EQ(p.a.count(LinkCounter::kRxDropState), 1U);
}

}  // namespace
}  // namespace splitnic::fabric::link_cells_test
