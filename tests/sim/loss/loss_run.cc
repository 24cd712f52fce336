#include "tests/sim/loss/loss_run.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "tests/sim/loss/bottleneck_carrier.h"
#include "tests/support/adapter_pair.h"

namespace splitnic::sim {
namespace {

using namespace fabric::testing;  // NOLINT(google-build-using-namespace): the harness is built of
                                  // it
constexpr std::size_t kBytes = 64 << 10;
constexpr std::size_t kInFlight = 64;  // 4 MiB, as fabric_bench
constexpr std::size_t kReceives = 1024;
constexpr base::Duration kIteration = std::chrono::microseconds(10);

class LossRun {
 public:
  LossRun(const PathConfig& path, std::uint64_t seed)
      : path_(path), pair_(options(seed), make_carrier(path, seed)) {
    CHECK(pair_.run_until([this] { return !pair_.b().links.empty(); }));
    fabric::QpInit init;
    init.common.send_depth = init.common.receive_depth = kReceives;
    qp_ = pair_.connect(init);
    for (std::size_t i = 0; i < kReceives; ++i) CHECK(pair_.a().post_recv(qp_.a));
    from_ = &pair_.b().memory(kInFlight * kBytes, 1);
    to_ = &pair_.a().memory(kInFlight * kBytes);
  }

  LossFigures measure(std::size_t messages) {
    carrier_->begin();
    write(messages / 2);  // until the window is what it will be
    took_.clear();
    const base::Time begin = pair_.now();
    const std::uint64_t cells = sent(fabric::TransportCounter::kTxCells);
    const std::uint64_t again = sent(fabric::TransportCounter::kTxRetransmit);
    const std::uint64_t timeouts = sent(fabric::TransportCounter::kTimeouts);
    const std::uint64_t written = write(messages);
    const auto ns = static_cast<std::uint64_t>((pair_.now() - begin).count());
    LossFigures out;
    const std::uint64_t could = ns * (path_.bytes_a_second / 1'000'000) / 1000;
    out.goodput_permille = written * kBytes * 1000 / could;
    out.again_permille = (sent(fabric::TransportCounter::kTxRetransmit) - again) * 1000 /
                         (sent(fabric::TransportCounter::kTxCells) - cells);
    out.timeouts = sent(fabric::TransportCounter::kTimeouts) - timeouts;
    std::ranges::sort(took_);
    out.p99_us = static_cast<std::uint64_t>(took_[took_.size() * 99 / 100].count()) / 1000;
    return out;
  }

 private:
  static PairOptions options(std::uint64_t seed) {
    PairOptions out;
    out.seed = seed;
    return out;
  }
  std::unique_ptr<Carrier> make_carrier(const PathConfig& path, std::uint64_t seed) {
    auto made = std::make_unique<BottleneckCarrier>(path, seed, kIteration);
    carrier_ = made.get();
    return made;
  }
  std::uint64_t sent(fabric::TransportCounter which) { return pair_.b().count(which); }

  void post() {
    const std::size_t at = (next_++ % kInFlight) * kBytes;
    CHECK(pair_.b().post_write(qp_.b, {from_->sge(at, kBytes)}, to_->at(at), to_->handle, 0, 0));
    posted_at_.push_back(pair_.now());
  }
  // Keeps kInFlight open until `messages` or a few more are complete; returns how many.
  std::size_t write(std::size_t messages) {
    std::size_t written = 0;
    const bool done = pair_.run_until(
        [&] {
          for (const fabric::Wc& wc : pair_.a().received) {
            CHECK(wc.status == fabric::WcStatus::kSuccess);
            CHECK(pair_.a().post_recv(qp_.a));
          }
          pair_.a().received.clear();
          for (const fabric::Wc& wc : pair_.b().sent) {
            CHECK(wc.status == fabric::WcStatus::kSuccess);
            took_.push_back(pair_.now() - posted_at_.front());
            posted_at_.pop_front();
            ++written;
          }
          pair_.b().sent.clear();
          while (posted_at_.size() < kInFlight) post();
          return written >= messages;
        },
        std::chrono::hours(1));
    CHECK(done);
    return written;
  }

  const PathConfig path_;
  BottleneckCarrier* carrier_ = nullptr;
  AdapterPair pair_;
  QpPair qp_;
  Memory* from_ = nullptr;
  Memory* to_ = nullptr;
  std::size_t next_ = 0;
  std::deque<base::Time> posted_at_;
  std::vector<base::Duration> took_;
};

}  // namespace

LossFigures run_loss(const PathConfig& path, std::uint64_t seed, std::size_t messages) {
  return LossRun(path, seed).measure(messages);
}

}  // namespace splitnic::sim
