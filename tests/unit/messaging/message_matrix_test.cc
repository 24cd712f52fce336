// The nine messages against every state of their receiver: of a pool that it owns, of a pool of the
// peer that it uses, and of the pair. Each meets a receiver that was brought into the state for it
// alone.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "messaging/message_dispatch.h"
#include "messaging/wire/send_data.h"
#include "tests/support/channel_fixture.h"
#include "tests/unit/messaging/pools/pool_support.h"

namespace splitnic::messaging::message_matrix_test {
namespace {

using namespace std::chrono_literals;
using namespace test;
using messaging::harness::ChannelFixture;
using messaging::harness::ChannelSide;

constexpr TransactionContext kFlush = for_receivers_pools(kGoldenContext);
constexpr TransactionContext kUnknown{0x77};

Message cfg_request(CfgCode code) {
  Message out(CfgUtilRequest::bytes(0));
  CfgUtilRequest{kGoldenContext, code, {}}.emit(out);
  return out;
}
Message cfg_reply(TransactionContext context) {
  Message out(CfgUtilReply::bytes(0));
  CfgUtilReply{context, CfgCode::kEcho, CfgStatus::kOk, {}}.emit(out);
  return out;
}
Message send_data() { return words({0x60001, 0, 0, 5, 0x68656c6c, 0x6f000000}); }
Message get() { return words({0x20001, 0, 1, 1536, 64}); }

// All nine, in the order of their function names. Those of pools name element 0 of pool `ref`; the
// flush reply is to the request `flush`, the reply of CfgUtil to nothing.
std::vector<Message> nine(std::uint32_t ref, TransactionContext request, TransactionContext flush) {
  return {advertise(record(ref, 4, 2048, 9)),
          get(),
          update(ElementRange{PoolRef(ref), 0, 1}),
          flush_request(request, ref),
          flush_reply(flush),
          send_data(),
          indicate(ConsumedRecord{PoolRef(ref), 0, 1, 1}),
          cfg_request(CfgCode::kEcho),
          cfg_reply(kUnknown)};
}

// Brings a side into a state. Returns the context of its flush request, if it has sent one.
using Prepare = std::function<TransactionContext(Side&)>;

// The verdicts of the nine messages, '.' for accepted; each side is a new one. In this order:
// BufferRecvPool, its Get, its Update, flush request, flush reply, SendData, BufferRDMAIndicate,
// CfgUtil request and reply.
std::string row(std::uint32_t ref, TransactionContext request, const Prepare& prepare) {
  std::string out;
  for (std::size_t i = 0; i < 9; ++i) {
    Side side;
    const TransactionContext flush = prepare(side);
    const DropCounters before = side.drops;
    const Verdict verdict = side.receive(nine(ref, request, flush)[i], kStart);
    if (!verdict) {
      EXPECT_EQ(side.drops[verdict.error()], before[verdict.error()] + 1) << i;
    }
    out += (out.empty() ? "" : " ") + (verdict ? "." : std::string(name(verdict.error())));
  }
  return out;
}

TransactionContext context_of(const Message& request) {
  return BufferPoolFlushRequest::parse(request)->context();
}

// A side that owns pool 5, of which the peer knows.
TransactionContext advertised(Side& side) {
  side.owner.add_as(PoolRef(5), memory(8, 2048, 1));
  EXPECT_FALSE(side.next(kStart).empty());
  return kUnknown;
}
// Five of its eight elements: an Update is due when less than half of a pool is posted.
TransactionContext filled(Side& side) {
  advertised(side);
  for (std::uint32_t element = 0; element < 5; ++element) {
    EXPECT_TRUE(side.receive(indicate(ConsumedRecord{PoolRef(5), element, 1, 1}), kStart));
  }
  return kUnknown;
}
TransactionContext released(Side& side) {
  filled(side);
  side.owner.release(PoolRef(5), 0, 5, kStart);
  return kUnknown;
}

TEST(MessageMatrix, P_36_at_the_owner_of_a_pool) {
  const auto at_owner = [](const Prepare& prepare) { return row(5, kFlush, prepare); };
  EXPECT_EQ(at_owner([](Side&) { return kUnknown; }), ". . pool . context . pool . context")
      << "unknown";
  EXPECT_EQ(at_owner([](Side& side) {
              side.owner.add_as(PoolRef(5), memory(8, 2048, 1));
              return kUnknown;
            }),
            ". . pool . context . pool . context")
      << "not advertised yet";
  EXPECT_EQ(at_owner(advertised), ". . role . context . . . context") << "ADVERTISED, POSTED";
  EXPECT_EQ(at_owner(filled), ". . role . context . state . context") << "FILLED";
  EXPECT_EQ(at_owner(released), ". . role . context . state . context") << "RELEASED";
  EXPECT_EQ(at_owner([](Side& side) {
              released(side);
              EXPECT_FALSE(side.next(kStart + 1ms).empty()) << "the Update";
              return kUnknown;
            }),
            ". . role . context . . . context")
      << "RETURNED";
  EXPECT_EQ(at_owner([](Side& side) {
              advertised(side);
              side.owner.request_flush_all();
              return context_of(side.next(kStart));
            }),
            ". . role . . . . . context")
      << "FLUSHING by the owner";
  EXPECT_EQ(at_owner([](Side& side) {
              advertised(side);
              EXPECT_TRUE(side.receive(flush_request(kFlush, 5U), kStart));
              return kUnknown;
            }),
            ". . role . context . . . context")
      << "FLUSHING by the peer: what it indicates late counts";
  EXPECT_EQ(at_owner([](Side& side) {
              filled(side);
              EXPECT_TRUE(side.receive(flush_request(kFlush, 5U), kStart));
              EXPECT_FALSE(side.next(kStart).empty()) << "the reply";
              return kUnknown;
            }),
            ". . pool . context . pool . context")
      << "FREE again, and a reader holds an element";
}

// A side that uses pool 6 of the peer.
TransactionContext available(Side& side) {
  EXPECT_TRUE(side.receive(advertise(record(6, 4, 2048, 9)), kStart));
  return kUnknown;
}
ElementLease writing(Side& side) {
  available(side);
  return side.user.take(1).value();
}

TEST(MessageMatrix, P_36_at_the_user_of_a_pool) {
  const auto at_user = [](const Prepare& prepare) { return row(6, kGoldenContext, prepare); };
  EXPECT_EQ(at_user([](Side&) { return kUnknown; }), ". . pool . context . pool . context")
      << "unknown";
  EXPECT_EQ(at_user(available), "state . state . context . role . context") << "AVAILABLE";
  EXPECT_EQ(at_user([](Side& side) {
              writing(side);
              return kUnknown;
            }),
            "state . . . context . role . context")
      << "WRITING: the Update overtook the ACK";
  EXPECT_EQ(at_user([](Side& side) {
              side.user.on_written(writing(side));
              return kUnknown;
            }),
            "state . . . context . role . context")
      << "CONSUMED";
  EXPECT_EQ(at_user([](Side& side) {
              available(side);
              EXPECT_TRUE(side.receive(flush_request(kGoldenContext, 6U), kStart));
              return kUnknown;
            }),
            "state . state . context . role . context")
      << "FLUSHING by its owner";
  EXPECT_EQ(at_user([](Side& side) {
              writing(side);
              EXPECT_TRUE(side.receive(flush_request(kGoldenContext, 6U), kStart));
              return kUnknown;
            }),
            "state . state . context . role . context")
      << "FLUSHING by its owner, and a write has not completed";
  EXPECT_EQ(at_user([](Side& side) {
              side.user.on_written(writing(side));
              side.user.request_flush_all();
              return context_of(side.next(kStart));
            }),
            "state . . . . . role . context")
      << "FLUSHING by the user, whose request the Update crossed";
  EXPECT_EQ(at_user([](Side& side) {
              available(side);
              EXPECT_TRUE(side.receive(flush_request(kGoldenContext, 6U), kStart));
              EXPECT_FALSE(side.next(kStart).empty()) << "the reply";
              return kUnknown;
            }),
            ". . pool . context . pool . context")
      << "FREE again";
}

std::map<std::string, std::uint64_t> drops_of(const ChannelSide& side) {
  std::map<std::string, std::uint64_t> drops;
  side.pair->visit_counters([&](std::string_view name, std::uint64_t count) {
    constexpr std::string_view kPrefix = "msg.drop.";
    if (name.starts_with(kPrefix) && count > 0) drops[std::string(name.substr(9))] = count;
  });
  return drops;
}

// The outcome of each of the nine at the unit: '.', or the reason why it was dropped; and '!' if
// the pair ended.
std::string row_of_pairs(const PairConfig& config,
                         const std::function<void(ChannelFixture&)>& prepare) {
  std::string out;
  for (std::size_t i = 0; i < 9; ++i) {
    ChannelFixture harness({.unit = config, .host = config});
    EXPECT_TRUE(harness.connect());
    prepare(harness);
    EXPECT_TRUE(drops_of(harness.unit()).empty());
    harness.host().pair->TEST_send(nine(0, kGoldenContext, kUnknown)[i]);
    harness.run_for(10ms);
    std::string outcome;
    for (const auto& [reason, count] : drops_of(harness.unit())) {
      EXPECT_EQ(count, 1U);
      outcome += reason;
    }
    out += (out.empty() ? "" : " ") + (outcome.empty() ? "." : outcome);
    if (!harness.unit().downs.empty()) out += '!';
  }
  return out;
}

TEST(MessageMatrix, P_36_at_a_pair) {
  PairConfig rdma;
  rdma.pools = {{4, 2048}};
  EXPECT_EQ(row_of_pairs(rdma, [](ChannelFixture&) {}), "state . state! . context . . . context")
      << "UP";
  EXPECT_EQ(row_of_pairs(rdma,
                         [](ChannelFixture& harness) {
                           harness.unit().pair->begin_close();
                           harness.run_for(10ms);
                         }),
            ". . pool pool context . pool . context")
      << "CLOSING: its pools are flushed";
  PairConfig send;
  send.mode = Mode::kSend;
  EXPECT_EQ(row_of_pairs(send, [](ChannelFixture&) {}), "role role role role role . role . context")
      << "UP in send mode, which has no pools";
}

}  // namespace
}  // namespace splitnic::messaging::message_matrix_test
