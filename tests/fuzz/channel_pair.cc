// A host that is connected and does anything: messages of each function with records that name our
// pools, other pools or none, any bytes as a message, RDMA writes with any idata. Our reader holds
// frames and releases them late, pools are flushed, requests are sent, memory is released. Whatever
// comes, a frame that our reader holds does not change and overlaps no other, it lies in our
// memory, the elements of a pool add up, what is kept for the host is bounded, the pair goes down
// once at most, and its end leaves nothing.
#include <deque>

#include "messaging/pools/grant_budget.h"
#include "tests/fuzz/targets.h"
#include "tests/support/lies.h"
#include "tests/support/lying_peer.h"
#include "tests/support/pair_harness.h"

namespace splitnic::fuzz {
namespace {

using namespace messaging;
using namespace std::chrono_literals;
using support::Input;

constexpr int kChannelPairStepsMax = 96;
constexpr std::size_t kArenaBytes = 8192;
constexpr std::size_t kMessageMax = 512;
constexpr std::size_t kDataMessageMax = 2048;
constexpr std::size_t kRequestsMax = 8;

// Our side. The frames that it receives are held until release().
class Victim final : public harness::PairSide {
 public:
  using PairSide::PairSide;

  void make_pair() {
    pair = std::make_unique<ChannelPair>(*adapter, config, random, *this);
    CHECK(pair->register_frames(arena).has_value());
  }
  void close() {
    held_.clear();
    pair->close(clock_.now());
    pair.reset();
  }
  bool step(base::Time now) {
    bool made_progress = adapter->receive(now);
    if (pair) {
      made_progress |= pair->poll(now);
      static_cast<void>(pair->take_completed());
      std::array<ReceivedFrame, 16> frames;
      const std::size_t count = receives ? pair->receive(frames) : 0;
      for (std::size_t i = 0; i < count; ++i) hold(frames[i]);
      made_progress |= count > 0;
    }
    adapter->transmit(now);
    return made_progress;
  }
  base::Time deadline() const { return std::min(adapter->deadline(), pair->deadline()); }
  // Oldest first; each must be as it was when it came.
  void release(std::size_t count) {
    for (; count > 0 && !held_.empty(); --count) {
      check(held_.front());
      const ReceivedFrame frame = held_.front().frame;
      held_.pop_front();
      pair->release(frame, clock_.now());
    }
  }
  void check() {
    if (!downs.empty()) return;
    for (const Held& one : held_) check(one);
    for (const PoolView& pool : pair->pools()) {
      CHECK(pool.available + pool.in_use <= pool.elements);
      CHECK(pool.elements > 0 && pool.size > 0);
    }
  }

  std::unique_ptr<ChannelPair> pair;
  std::vector<std::byte> arena = std::vector<std::byte>(kArenaBytes, std::byte{0x42});
  bool receives = true;

 private:
  struct Held {
    ReceivedFrame frame;
    std::vector<std::byte> copy;
  };
  static void check(const Held& one) { CHECK(std::ranges::equal(one.frame.bytes, one.copy)); }
  void hold(const ReceivedFrame& frame) {
    CHECK(!frame.bytes.empty());
    const std::byte* begin = frame.bytes.data();
    const std::byte* end = begin + frame.bytes.size();
    for (const Held& other : held_) {
      const base::MutableBytes bytes = other.frame.bytes;
      CHECK(end <= bytes.data() || begin >= bytes.data() + bytes.size());
    }
    const auto is_around = [&](base::MutableBytes pool) {
      return begin >= pool.data() && end <= pool.data() + pool.size();
    };
    if (frame.where == ReceivedFrame::Where::kElement) {
      CHECK(std::ranges::any_of(pair->TEST_pool_memory(), is_around));
    }
    held_.push_back({frame, {frame.bytes.begin(), frame.bytes.end()}});
  }
  void on_pair_down(ChannelPair& down, const std::string& why) override {
    CHECK(downs.empty());
    PairSide::on_pair_down(down, why);
  }
  CfgReply on_cfg_request(ChannelPair&, const CfgRequest& request) override {
    return {CfgStatus::kOk, std::string(base::as_text(request.data))};
  }
  fabric::MgmtReject on_connect_request(fabric::ConnectionId id, fabric::Link& from,
                                        const fabric::Mgmt& request, fabric::Mgmt& reply) override {
    if (pair->connection().value != 0) return fabric::MgmtReject::kRefused;
    return pair->accept(id, from, request, reply, clock_.now());
  }
  bool on_connected(fabric::ConnectionId, fabric::Link&, const fabric::Mgmt&) override {
    return false;
  }
  void on_rejected(fabric::ConnectionId, fabric::MgmtReject, base::Bytes) override {}
  void on_disconnected(fabric::ConnectionId id, std::string_view why) override {
    pair->on_disconnected(id, why);
  }

  std::deque<Held> held_;
};

class ChannelRun {
 public:
  explicit ChannelRun(base::Bytes bytes)
      : in_(bytes),
        config_(in_.u8()),
        unit_end_(hub_.add_endpoint()),
        host_end_(hub_.add_endpoint()),
        unit_(0, unit_end_, clock_, 1, pair_config()),
        host_(host_end_, host_config(), random_) {
    unit_.make_pair();
    entries_ = unit_.adapter->memory().live_count();
    host_.join(unit_end_.address(), clock_.now());
    CHECK(run_until([&] { return host_.has_link(); }, 1s));
    host_.connect(clock_.now());
    CHECK(run_until([&] { return unit_.pair->up(); }, 1s));
  }
  void all() {
    for (int steps = 0; !in_.empty() && steps < kChannelPairStepsMax; ++steps) {
      step(in_.u8());
      check();
    }
    run_for(2ms);
    check();
    unit_.close();
    CHECK(unit_.adapter->memory().live_count() == 0 && unit_.adapter->qp_count() == 0);
  }

 private:
  PairConfig pair_config() const {
    PairConfig pair;
    pair.control_message_max = kMessageMax;
    pair.data_message_max = kDataMessageMax;
    pair.grant_bytes_max = 16384;
    pair.window_bytes_max = 64 * 1024;
    pair.pools = {{4, 256}, {2, 2048}};
    pair.node_name = "x";
    if ((config_ & 1U) != 0) pair.mode = Mode::kSend;
    if ((config_ & 2U) != 0) pair.idata_form.reset();
    if ((config_ & 4U) != 0) {
      pair.idata_form = IdataForm::kOffsetLength;
      pair.pools = {{4, 512}};
    }
    if ((config_ & 8U) != 0) pair.send_threshold = 128;
    if (names_flows()) pair.flow_context_of = flow_context_of;
    return pair;
  }
  // The host's pools have contexts, which select frames by their length here.
  bool names_flows() const { return (config_ & 16U) != 0; }
  static std::uint64_t flow_context_of(base::Bytes frame) {
    const auto bytes = static_cast<std::uint32_t>(frame.size());
    return flow_context(bytes & 3U, bytes >> 2 & 3U, bytes >> 4 & 15U);
  }
  support::LyingPeerConfig host_config() const {
    PairConfig pair = pair_config();
    if (names_flows()) pair.pools.front().context = 1;
    return {.eui64 = fabric::Eui64(0x30), .pair = pair, .message_bytes = kDataMessageMax};
  }

  void step(unsigned choice) {
    switch (choice % 8) {
      case 0:
      case 1:
        return send_message();
      case 2:
      case 3:
        return send_write();
      case 4:
        return unit_.release(choice >> 3);
      case 5:
        return run_for(10us * ((choice >> 3) * (choice >> 3)));
      case 6:
        return act(choice >> 3);
      default:
        send_raw(choice >> 3);
    }
  }
  void act(unsigned choice) {
    switch (choice % 8) {
      case 0:
        unit_.receives = !unit_.receives;
        break;
      case 1:
      case 2:
        push();
        break;
      case 3:
        flush(choice >= 16);
        break;
      case 4:
        unit_.pair->release_idle(static_cast<std::uint32_t>(in_.below(4)));
        break;
      case 5:
        if (choice >= 24) unit_.pair->begin_close();
        break;
      case 6:
        request();
        break;
      default:
        run_for(200ms);
    }
  }
  void push() {
    const std::size_t bytes = 1 + in_.below(kDataMessageMax);
    static_cast<void>(unit_.pair->push(base::Bytes(unit_.arena).first(bytes), clock_.now()));
    run_for(20us);
  }
  void request() {
    if (open_requests_ == kRequestsMax) return;
    const auto sent = unit_.pair->request(CfgCode::kEcho, "x", [this](const CfgReply&) {
      CHECK(open_requests_ > 0);
      --open_requests_;
    });
    if (sent) ++open_requests_;
  }
  void flush(bool ours) {
    std::vector<std::uint32_t> refs;
    for (const PoolView& pool : unit_.pair->pools()) {
      if (pool.ours == ours) refs.push_back(pool.ref);
    }
    unit_.pair->flush(refs, ours);
  }
  void send_message() {
    std::array<std::byte, kMessageMax> out;
    const std::size_t bytes = support::Lies(in_, host_.pools, names_flows()).message(out);
    host_.send(0, base::Bytes(out).first(bytes));
    run_for(20us);
  }
  void send_write() {
    const auto form = (config_ & 4U) != 0 ? IdataForm::kOffsetLength : IdataForm::kPoolElement;
    const auto write = support::Lies(in_, host_.pools).write(form, kDataMessageMax);
    const std::vector<std::byte> bytes(write.bytes, std::byte{in_.u8()});
    host_.write(write.handle, write.to, bytes, write.idata);
    run_for(20us);
  }
  // Any bytes as a message, of either channel.
  void send_raw(unsigned choice) {
    host_.send(choice % 2, in_.bytes(kMessageMax));
    if (choice >= 8) run_for(20us);
  }

  void check() {
    unit_.check();
    const ChannelPair& pair = *unit_.pair;
    // A region and a window for each pool that was granted, and what the pair has itself.
    CHECK(unit_.adapter->memory().live_count() <= entries_ + 2 * GrantBudget::kPoolsMax + 8);
    CHECK(unit_.adapter->connections().size() <= 1);
    CHECK(pair.pools().size() <= GrantBudget::kPoolsMax + 4 + 1024);
    CHECK(pair.up() || pair.pushes_in_flight() < 2048);
  }

  void iterate(base::Time until) {
    bool made_progress = unit_.step(clock_.now());
    made_progress |= host_.step(clock_.now());
    made_progress |= unit_end_.queued_batches() + host_end_.queued_batches() > 0;
    clock_.advance(2us);
    if (made_progress) return;
    const base::Time next = std::min({until, unit_.deadline(), host_.deadline()});
    clock_.set(std::max(next, clock_.now()));
  }
  template <class Done>
  bool run_until(Done&& done, base::Duration limit) {
    const base::Time until = clock_.now() + limit;
    while (!done()) {
      if (clock_.now() >= until) return false;
      iterate(until);
    }
    return true;
  }
  void run_for(base::Duration span) {
    static_cast<void>(run_until([] { return false; }, span));
  }

  Input in_;
  const std::uint8_t config_;
  base::ManualClock clock_;
  base::SeededRandom random_{5};
  fabric::InProcessHub hub_{{.drops_when_full = true}};
  fabric::InProcessUnderlay& unit_end_;
  fabric::InProcessUnderlay& host_end_;
  Victim unit_;
  support::LyingPeer host_;
  std::size_t entries_ = 0;
  std::size_t open_requests_ = 0;
};

}  // namespace

// First byte: the pair. Then steps of one byte and more.
void channel_pair(base::Bytes in) { ChannelRun(in).all(); }

}  // namespace splitnic::fuzz
