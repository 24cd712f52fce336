// Numbered packets of changing length from one end to the other, Sends and RDMA writes with idata
// alternating. Checks that each arrived once, in order and unchanged.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing {

class Stream {
 public:
  static constexpr std::size_t kSlots = 32;

  struct Config {
    unsigned packets = 200;
    std::size_t bytes_max = 6000;
    bool posts_receives = true;  // false: the test does
    bool writes = true;          // false: Sends only
  };

  // REQUIRES send and receive queues of kSlots or more.
  Stream(End& from, Qpn source, End& to, Qpn target, const Config& config)
      : config_(config),
        from_(from),
        to_(to),
        source_(source),
        target_(target),
        out_(from.memory(kSlots * config.bytes_max)),
        in_(to.memory(kSlots * config.bytes_max)) {
    if (!config_.posts_receives) return;
    for (unsigned i = 0; i < kSlots; ++i) post_receive();
  }

  // Checks what has arrived, then posts what can be sent. Returns true when all is done or
  // something went wrong.
  bool step() {
    look_at_received();
    look_at_sent();
    while (failure.empty() && posted_ < config_.packets && posted_ < sent_ + kSlots) post();
    return !failure.empty() || (sent_ == config_.packets && received_ == config_.packets);
  }
  void post_receive() {
    const std::size_t slot = receives_posted_++ % kSlots;
    if (!to_.post_recv(target_, {in_.sge(slot * config_.bytes_max, config_.bytes_max)}, slot)) {
      fail("a receive was refused");
    }
  }
  unsigned sent() const { return sent_; }
  unsigned received() const { return received_; }

  std::string failure;  // the first that went wrong; empty: all well

 private:
  void fail(const std::string& what) {
    if (failure.empty()) failure = what;
  }
  std::size_t bytes_of(unsigned number) const {
    const std::size_t n = std::size_t{number} * 7919 % config_.bytes_max;
    return number % 5 == 0 ? n % 64 + 1 : n + 1;
  }
  bool is_write(unsigned number) const { return config_.writes && number % 2 == 1; }

  void post() {
    const std::size_t slot = posted_ % kSlots;
    const std::size_t offset = slot * config_.bytes_max;
    const std::size_t bytes = bytes_of(posted_);
    for (std::size_t i = 0; i < bytes; ++i) out_.bytes[offset + i] = pattern(posted_, i);
    const auto done = is_write(posted_)
                          ? from_.post_write(source_, {out_.sge(offset, bytes)}, in_.at(offset),
                                             in_.handle, posted_, posted_)
                          : from_.post_send(source_, {out_.sge(offset, bytes)}, posted_);
    if (!done) fail("post: " + done.error().text());
    ++posted_;
  }
  void look_at_sent() {
    for (; sent_seen_ < from_.sent.size(); ++sent_seen_) {
      const Wc& wc = from_.sent[sent_seen_];
      if (wc.qpn != source_) continue;
      if (wc.status != WcStatus::kSuccess) {
        fail("send " + std::to_string(wc.wr_id) + ": " + std::string(name(wc.status)));
      } else if (wc.wr_id != sent_) {
        fail("completions out of order");
      }
      ++sent_;
    }
  }
  void look_at_received() {
    for (; received_seen_ < to_.received.size(); ++received_seen_) {
      const Wc& wc = to_.received[received_seen_];
      if (wc.qpn != target_) continue;
      check(wc);
      ++received_;
      if (config_.posts_receives) post_receive();
    }
  }
  void check(const Wc& wc) {
    const unsigned n = received_;
    const std::string what = "packet " + std::to_string(n) + ": ";
    const std::size_t offset = n % kSlots * config_.bytes_max;
    if (wc.status != WcStatus::kSuccess) {
      fail(what + std::string(name(wc.status)));
    } else if (wc.bytes != bytes_of(n) || wc.wr_id != n % kSlots) {
      fail(what + "wrong length or place, duplicate or out of order");
    } else if (is_write(n) && (!wc.has_idata || wc.idata != n)) {
      fail(what + "wrong idata");
    }
    for (std::size_t i = 0; failure.empty() && i < wc.bytes; ++i) {
      if (in_.bytes[offset + i] != pattern(n, i)) fail(what + "changed");
    }
  }

  const Config config_;
  End& from_;
  End& to_;
  const Qpn source_, target_;
  Memory& out_;
  Memory& in_;
  unsigned posted_ = 0, sent_ = 0, received_ = 0;
  std::size_t receives_posted_ = 0;
  std::size_t sent_seen_ = 0, received_seen_ = 0;
};

// One each way at once: all must arrive.
inline void stream_both_ways(AdapterPair& pair, const QpPair& qp, const Stream::Config& config,
                             base::Duration limit = std::chrono::seconds(20)) {
  Stream up(pair.b(), qp.b, pair.a(), qp.a, config);
  Stream down(pair.a(), qp.a, pair.b(), qp.b, config);
  const bool done = pair.run_until(
      [&] {
        const bool up_done = up.step();
        return down.step() && up_done;
      },
      limit);
  EXPECT_TRUE(done) << up.sent() << " " << up.received() << " " << down.sent() << " "
                    << down.received();
  EXPECT_EQ(up.failure, "");
  EXPECT_EQ(down.failure, "");
}

}  // namespace splitnic::fabric::testing
