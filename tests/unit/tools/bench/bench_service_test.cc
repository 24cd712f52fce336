// The two ends of `splitnic bench` in one thread, on each service: what works is measured, what the
// service lacks is refused before anything is sent, and what the path loses is repeated or counted.
// In place of sleeping, each end asks again; nothing depends on how long that takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/wire/flit.h"
#include "tests/unit/tools/bench/bench_ends.h"
#include "tools/bench/bench_service.h"
#include "tools/bench/measure.h"

namespace splitnic::bench::bench_service_test {
namespace {

using namespace bench_ends;
using fabric::MgmtReject;
using fabric::Service;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr fabric::Eui64 kStranger(0x0200000000000003ULL);

struct Operations {
  Service service;
  std::vector<Op> works;
};
const std::vector<Operations>& table() {
  static const std::vector<Operations> kTable = {
      {Service::kRc, {Op::kWrite, Op::kSend, Op::kRead, Op::kFetchOp}},
      {Service::kUc, {Op::kWrite, Op::kSend}},
      {Service::kUd, {Op::kWrite, Op::kSend}},
      {Service::kRd, {Op::kWrite, Op::kSend, Op::kRead, Op::kFetchOp}},
      {Service::kStream, {Op::kWrite, Op::kSend, Op::kRead}}};
  return kTable;
}

TEST(BenchServiceTest,
     S004_02_S000_05_S002_01_X_28_X_29_each_service_does_each_operation_that_it_has) {
  for (const Operations& row : table()) {
    for (const Op op : row.works) expect_measured(run_of(row.service, op));
  }
}

TEST(BenchServiceTest, S004_03_connected_services_carry_messages_of_several_cells) {
  for (const Service service : {Service::kRc, Service::kUc, Service::kStream}) {
    for (const Op op : {Op::kWrite, Op::kSend}) expect_measured(run_of(service, op, 4 * kCell));
  }
}

TEST(BenchServiceTest, S004_02_an_operation_that_the_service_lacks_sends_nothing) {
  for (const auto& run : {run_of(Service::kUc, Op::kRead), run_of(Service::kUd, Op::kRead),
                          run_of(Service::kUc, Op::kFetchOp), run_of(Service::kUd, Op::kFetchOp),
                          run_of(Service::kStream, Op::kFetchOp)}) {
    SCOPED_TRACE(title(run));
    Ends ends;
    const auto refused = ends.connect(run);
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(
        refused.error().text(),
        HasSubstr(run.op == Op::kRead ? "has no read: measure it with --service rc, rd or stream"
                                      : "has no fetchop: measure it with --service rc or rd"));
    EXPECT_FALSE(ends.active.has_link());
    EXPECT_EQ(ends.endpoint.queued_batches(), 0U);
  }
}

TEST(BenchServiceTest, X_10_messages_of_datagram_services_are_one_cell) {
  for (const auto& [service, op] :
       {std::pair(Service::kUd, Op::kWrite), std::pair(Service::kUd, Op::kSend),
        std::pair(Service::kRd, Op::kWrite), std::pair(Service::kRd, Op::kRead)}) {
    expect_measured(run_of(service, op, kCell));
    Ends ends;
    const auto refused = ends.connect(run_of(service, op, kCell + 1));
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().errno_value(), EMSGSIZE);
    EXPECT_THAT(refused.error().text(), HasSubstr("--size 1365"));
    EXPECT_THAT(refused.error().text(), HasSubstr("one cell, of at most 1364 bytes"));
    EXPECT_FALSE(ends.end.is_connected()) << "no CONNECT was sent";
  }
}

TEST(BenchServiceTest, X_10_S000_12_a_send_of_rd_has_several_cells) {
  for (const std::size_t bytes : {kCell + 1, 4 * kCell, kSizeMax}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{4}}) {
      expect_measured(run_of(Service::kRd, Op::kSend, bytes, count));
    }
  }
  const auto run = run_of(Service::kRd, Op::kSend, 4 * kCell, 4);
  Ends ends;
  ASSERT_TRUE(ends.connect(run).has_value());
  lose_a_tenth(ends);
  const auto row = measure(ends.active, run);
  ASSERT_TRUE(row.has_value()) << row.error().text();
  EXPECT_GT(ends.faults.counts().lost, 0U);
  EXPECT_EQ(ends.end.arrived(), ends.active.posted());
}

TEST(BenchServiceTest, S000_12_queue_pairs_of_rd_share_a_context) {
  for (const Op op : {Op::kWrite, Op::kSend, Op::kRead, Op::kFetchOp}) {
    for (const std::size_t count : {std::size_t{4}, kQueuePairsMax}) {
      expect_measured(run_of(Service::kRd, op, 64, count));
    }
  }
  Ends ends;
  EXPECT_FALSE(ends.connect(run_of(Service::kRd, Op::kSend, 64, kQueuePairsMax + 1)).has_value());
  EXPECT_FALSE(ends.connect(run_of(Service::kRc, Op::kSend, 64, 2)).has_value());
}

TEST(BenchServiceTest, S000_12_each_queue_pair_sends_to_all_of_the_other_end) {
  constexpr std::size_t kCount = 4;
  std::set<std::pair<std::size_t, std::size_t>> used;
  for (std::size_t round = 0; round < kCount; ++round) {
    std::set<std::size_t> from, to;
    for (std::size_t i = 0; i < kCount; ++i) {
      const Places places = places_of(round * kCount + i, kCount);
      from.insert(places.from);
      to.insert(places.to);
      used.insert({places.from, places.to});
    }
    EXPECT_EQ(from.size(), kCount) << round;
    EXPECT_EQ(to.size(), kCount) << round;
  }
  EXPECT_EQ(used.size(), kCount * kCount);
}

TEST(BenchServiceTest, S000_12_a_path_with_losses_loses_nothing_of_a_reliable_service) {
  for (const Service service : {Service::kRc, Service::kRd, Service::kStream}) {
    const auto run = run_of(service, Op::kWrite, 64, service == Service::kRd ? 4 : 1);
    SCOPED_TRACE(title(run));
    Ends ends;
    ASSERT_TRUE(ends.connect(run).has_value());
    lose_a_tenth(ends);
    const auto row = measure(ends.active, run);
    ASSERT_TRUE(row.has_value()) << row.error().text();
    EXPECT_GT(ends.faults.counts().lost, 0U);
    EXPECT_FALSE(row->lost.has_value());
    EXPECT_EQ(ends.end.arrived(), ends.active.posted());
  }
}

TEST(BenchServiceTest, S004_03_messages_that_an_unacknowledged_service_loses_are_counted) {
  for (const auto& run :
       {run_of(Service::kUc, Op::kWrite), run_of(Service::kUc, Op::kSend, 4 * kCell),
        run_of(Service::kUd, Op::kWrite), run_of(Service::kUd, Op::kSend)}) {
    SCOPED_TRACE(title(run));
    Ends ends;
    ASSERT_TRUE(ends.connect(run).has_value());
    lose_a_tenth(ends);
    const auto row = measure(ends.active, run);
    ASSERT_TRUE(row.has_value()) << row.error().text();
    EXPECT_GT(row->messages, 0U);
    ASSERT_TRUE(row->lost.has_value());
    EXPECT_GT(*row->lost, 0U);
    EXPECT_LT(ends.end.arrived(), ends.active.posted());
    EXPECT_EQ(ends.end.arrived(), ends.active.arrived()) << "both ends count the same";
  }
}

// The link stays up: what has no cells arrives.
TEST(BenchServiceTest, S004_03_a_path_that_loses_all_cells_ends_the_run) {
  const auto run = run_of(Service::kUd, Op::kSend);
  Ends ends;
  ASSERT_TRUE(ends.connect(run).has_value());
  ends.faults.drop_received([](base::Bytes datagram) {
    return static_cast<fabric::FlitType>(datagram[0] >> 4) == fabric::FlitType::kData;
  });
  const auto row = measure(ends.active, run);
  ASSERT_FALSE(row.has_value());
  EXPECT_THAT(row.error().text(), HasSubstr("the path loses too much"));
}

// A node that sends its own private data.
class Stranger final : private fabric::ConnectionHandler {
 public:
  explicit Stranger(Listener& listener) : listener_(listener) {
    adapter_.connections().set_handler(*this);
    fabric::PortConfig config;
    config.eui64 = kStranger;
    config.instance = 5;
    fabric::Port* port = adapter_.add_port(listener.hub.add_endpoint(), config).value();
    port->connect(listener.endpoint.address(), clock_.now());
  }

  std::uint16_t mcp = 0;  // of the queue pair in CONNECT; 0: that of the path

  // The reply to a CONNECT with one queue pair of `service`; nothing: there was none.
  std::optional<MgmtReject> reply_to(Service service, const Handshake& offer) {
    return reply_to(service, base::Bytes(offer.emit()));
  }
  std::optional<MgmtReject> reply_to(Service service, base::Bytes private_data) {
    run_until([this] { return link_ != nullptr; });
    reply_.reset();
    if (link_ == nullptr) return std::nullopt;
    fabric::MgmtPair pair;
    pair.mcp = mcp;
    pair.service = service;
    pair.qpn = fabric::Qpn(77);
    if (service == Service::kStream) {
      pair.flags = fabric::kPairStreamRdma;
      pair.msg_max = 1 << 20;  // its window
    }
    const std::array<fabric::MgmtPair, 1> pairs{pair};
    adapter_.connections().connect(*link_, pairs, private_data, clock_.now());
    run_until([this] { return reply_.has_value(); });
    return reply_;
  }

 private:
  template <class Done>
  void run_until(const Done& is_done) {
    const base::Time limit = clock_.now() + 10s;
    while (!is_done() && clock_.now() < limit) {
      adapter_.poll(clock_.now());
      listener_.end.iterate();
    }
  }
  void on_link_up(fabric::Link& link) override { link_ = &link; }
  void on_link_down(fabric::Link&, std::string_view) override {}
  bool on_connected(fabric::ConnectionId, fabric::Link&, const fabric::Mgmt&) override {
    reply_ = MgmtReject::kNone;
    return false;
  }
  void on_rejected(fabric::ConnectionId, MgmtReject code, base::Bytes) override { reply_ = code; }
  void on_disconnected(fabric::ConnectionId, std::string_view) override {}

  Listener& listener_;
  base::SystemClock clock_;
  base::SeededRandom random_{9};
  fabric::Adapter adapter_{fabric::AdapterLimits{}, random_};
  fabric::Link* link_ = nullptr;
  std::optional<MgmtReject> reply_;
};

Handshake offer_of(Service service, Op op) {
  Handshake out;
  out.service = service;
  out.op = op;
  out.bytes = op == Op::kFetchOp ? std::uint32_t{kFetchOpBytes} : 64U;
  if (service == Service::kRd) out.queue_pairs = {fabric::Qpn(20), fabric::Qpn(21)};
  return out;
}

TEST(BenchServiceTest, the_passive_end_takes_what_fits_together) {
  Listener listener;
  Stranger stranger(listener);
  for (const Operations& row : table()) {
    for (const Op op : row.works) {
      const auto code = stranger.reply_to(row.service, offer_of(row.service, op));
      EXPECT_EQ(code, std::optional(MgmtReject::kNone)) << word_of(row.service) << " " << name(op);
    }
  }
}

TEST(BenchServiceTest, S004_02_X_10_the_passive_end_refuses_what_does_not_fit_together) {
  Listener listener;
  Stranger stranger(listener);
  const std::optional bad_parameter = MgmtReject::kBadParameter;
  const std::optional refused = MgmtReject::kRefused;
  const Handshake rc = offer_of(Service::kRc, Op::kWrite);
  const Handshake rd = offer_of(Service::kRd, Op::kWrite);
  EXPECT_EQ(stranger.reply_to(Service::kRd, rc), bad_parameter) << "another service in CONNECT";
  EXPECT_EQ(stranger.reply_to(Service::kRc, rd), bad_parameter);
  Handshake long_message = offer_of(Service::kUd, Op::kSend);
  long_message.bytes = kCell + 1;
  EXPECT_EQ(stranger.reply_to(Service::kUd, long_message), bad_parameter) << "more than a cell";
  Handshake long_send = offer_of(Service::kRd, Op::kSend);
  long_send.bytes = kCell + 1;
  EXPECT_EQ(stranger.reply_to(Service::kRd, long_send), bad_parameter) << "more than it takes";
  Handshake goes_back_n = rc;
  goes_back_n.goes_back_n = true;
  EXPECT_EQ(stranger.reply_to(Service::kRc, goes_back_n), bad_parameter) << "not in CONNECT";
  EXPECT_EQ(stranger.reply_to(Service::kUd, offer_of(Service::kUd, Op::kRead)), refused);
  EXPECT_EQ(stranger.reply_to(Service::kRc, base::Bytes()), refused) << "no private data";
  EXPECT_FALSE(listener.end.is_connected());
  EXPECT_EQ(stranger.reply_to(Service::kRc, rc), std::optional(MgmtReject::kNone));
}

TEST(BenchServiceTest, the_passive_end_keeps_nothing_of_a_session_that_cannot_begin) {
  Listener listener;
  Stranger stranger(listener);
  const Handshake rd = offer_of(Service::kRd, Op::kSend);
  stranger.mcp = fabric::kMcpMin;  // of which the context takes no such message
  EXPECT_EQ(stranger.reply_to(Service::kRd, rd), std::optional(MgmtReject::kBadParameter));
  EXPECT_FALSE(listener.end.is_connected());
  EXPECT_FALSE(listener.end.has_link());
  stranger.mcp = 0;
  EXPECT_EQ(stranger.reply_to(Service::kRd, rd), std::optional(MgmtReject::kNone));
}

TEST(BenchServiceTest, S000_12_a_context_ends_with_its_session) {
  Listener listener;
  Stranger stranger(listener);
  const Handshake rd = offer_of(Service::kRd, Op::kSend);
  for (std::size_t i = 0; i <= fabric::AdapterLimits{}.ee_contexts; ++i) {
    ASSERT_EQ(stranger.reply_to(Service::kRd, rd), std::optional(MgmtReject::kNone)) << i;
  }
}

TEST(BenchServiceTest, words_of_services_both_ways) {
  for (const std::string_view word : {"rc", "uc", "ud", "rd", "stream"}) {
    const auto service = service_of(word);
    ASSERT_TRUE(service.has_value()) << word;
    EXPECT_EQ(word_of(*service), word);
  }
  EXPECT_FALSE(service_of("RC"));
  EXPECT_FALSE(service_of(""));
  EXPECT_EQ(word_of(Service::kRaw), "");
}

}  // namespace
}  // namespace splitnic::bench::bench_service_test
