// A peer of the connection manager that does anything: MGMT cells of each kind, of known, unknown
// and ended transactions, of this process or another, with pairs that exist or not. Our side
// connects, accepts, refuses and disconnects meanwhile. Whatever comes, the handler is called as
// its contract has it (a request once, its end once, nothing after our own disconnect), and at the
// end no connection and no queue pair is left.
#include <map>

#include "tests/fuzz/targets.h"
#include "tests/support/adapter_pair.h"
#include "tests/support/cell_maker.h"
#include "tests/support/input.h"

namespace splitnic::fuzz {
namespace {

using namespace fabric;
using namespace std::chrono_literals;
using support::Input;

constexpr int kConnectionStepsMax = 96;
constexpr std::size_t kConnectionsMax = 4;  // that our side accepts

enum class Phase : std::uint8_t { kRequested, kUp, kEnded };

// Our side: keeps the state of each connection as the callbacks report it.
class Recorder final : public ConnectionHandler {
 public:
  explicit Recorder(testing::End& end) : end_(end) {
    end_.adapter->connections().set_handler(*this);
  }

  void connect() {
    if (live() == kConnectionsMax) return;
    const Qpn qpn = end_.create_qp(init());
    const std::array pairs{end_.adapter->describe(qpn, 0, 0)};
    const ConnectionId id =
        end_.adapter->connections().connect(end_.link(), pairs, base::as_bytes("x"), end_.now());
    CHECK(all_.emplace(id, One{Phase::kRequested, qpn, true}).second);
  }
  void disconnect(std::size_t which) {
    if (all_.empty()) return;
    const auto at = std::next(all_.begin(), static_cast<std::ptrdiff_t>(which % all_.size()));
    end_.adapter->connections().disconnect(at->first, end_.now());
    finish(at->second);
  }
  void disconnect_all() {
    for (std::size_t i = 0; i < all_.size(); ++i) disconnect(i);
  }
  // A transaction that was seen, or an unknown one.
  std::uint64_t transaction(std::size_t which) const {
    if (which >= all_.size()) return 1000 + which;
    return std::next(all_.begin(), static_cast<std::ptrdiff_t>(which))->first.value;
  }
  // Queue pairs end outside of callbacks.
  void sweep() {
    for (const Qpn qpn : ended_) end_.adapter->destroy_qp(qpn, end_.now());
    ended_.clear();
    CHECK(end_.adapter->qp_count() == live());
  }
  std::size_t live() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        all_, [](const auto& one) { return one.second.phase != Phase::kEnded; }));
  }
  bool refuses = false, agrees = true;

 private:
  struct One {
    Phase phase = Phase::kRequested;
    Qpn qpn;
    bool is_active = false;
  };
  static QpInit init() {
    QpInit out;
    out.common.send_depth = out.common.receive_depth = 4;
    out.window_bytes_max = 4096;
    return out;
  }
  void finish(One& one) {
    if (one.phase == Phase::kEnded) return;
    one.phase = Phase::kEnded;
    ended_.push_back(one.qpn);
  }
  void on_link_up(Link&) override {}
  void on_link_down(Link&, std::string_view) override {}
  MgmtReject on_connect_request(ConnectionId id, Link& link, const Mgmt& request,
                                Mgmt& reply) override {
    const auto known = all_.find(id);
    CHECK(known == all_.end() || known->second.phase == Phase::kEnded);
    CHECK(request.pair_count >= 1 && request.pair_count <= kMgmtPairsMax);
    CHECK(reply.kind == MgmtKind::kConnectRep && reply.transaction == id.value);
    if (refuses) return MgmtReject::kRefused;
    if (live() >= kConnectionsMax) return MgmtReject::kNoResources;
    const Qpn qpn = end_.create_qp(init());
    reply.pair_count = 1;
    reply.pairs[0] = end_.adapter->describe(qpn, 0, 0);
    if (!end_.adapter->connect_qp(reply.pairs[0], request.pairs[0], link)) {
      ended_.push_back(qpn);
      return MgmtReject::kBadParameter;
    }
    all_[id] = One{Phase::kUp, qpn, false};
    return MgmtReject::kNone;
  }
  bool on_connected(ConnectionId id, Link& link, const Mgmt& reply) override {
    One& one = known(id);
    CHECK(one.is_active && one.phase == Phase::kRequested && reply.pair_count >= 1);
    const auto mine = end_.adapter->describe(one.qpn, 0, 0);
    one.phase = Phase::kUp;
    if (agrees && end_.adapter->connect_qp(mine, reply.pairs[0], link)) return true;
    finish(one);
    return false;
  }
  void on_rejected(ConnectionId id, MgmtReject code, base::Bytes) override {
    One& one = known(id);
    CHECK(one.is_active && one.phase == Phase::kRequested && code != MgmtReject::kNone);
    finish(one);
  }
  void on_disconnected(ConnectionId id, std::string_view) override {
    One& one = known(id);
    CHECK(one.phase != Phase::kEnded);
    finish(one);
  }
  One& known(ConnectionId id) {
    const auto at = all_.find(id);
    CHECK(at != all_.end());
    return at->second;
  }

  testing::End& end_;
  std::map<ConnectionId, One> all_;  // also those that have ended
  std::vector<Qpn> ended_;
};

class ConnectionRun {
 public:
  explicit ConnectionRun(base::Bytes bytes)
      : in_(bytes), pair_(options()), victim_(pair_.a()), recorder_(victim_) {}
  void all() {
    for (int steps = 0; !in_.empty() && steps < kConnectionStepsMax; ++steps) {
      step(in_.u8());
      run();
    }
    recorder_.disconnect_all();
    recorder_.sweep();
    for (int i = 0; i < 40 && connections().size() > 0; ++i) pass(50ms, true);
    CHECK(connections().size() == 0);
  }

 private:
  static testing::PairOptions options() {
    testing::PairOptions out;
    out.limits.qps = 64;
    out.cq_depth = 256;
    out.hub.drops_when_full = true;
    return out;
  }
  ConnectionManager& connections() { return victim_.adapter->connections(); }

  void step(unsigned choice) {
    switch (choice % 8) {
      case 0:
        return recorder_.connect();
      case 1:
        return recorder_.disconnect(choice >> 3);
      case 2:
        recorder_.refuses = (choice & 8U) != 0;
        recorder_.agrees = (choice & 16U) == 0;
        return;
      case 3:
        return pass(std::chrono::milliseconds(choice), (choice & 128U) == 0);
      default:
        return add_mgmt(choice >> 3);
    }
  }
  // With a sign of life, the link stays up.
  void pass(base::Duration by, bool is_alive) {
    pair_.in_process().wait(pair_.now() + by);
    if (is_alive) inject({});
    run();
  }
  void run() {
    victim_.poll();
    recorder_.sweep();
    for (int i = 0; victim_.adapter->deadline() <= pair_.now(); ++i) {
      CHECK(i < 64);
      victim_.poll();
    }
    CHECK(connections().size() <= kKeptMax);
  }

  // Values that suit unless the input changes them.
  void add_mgmt(unsigned choice) {
    Link& link = victim_.link();
    Mgmt m;
    m.kind = static_cast<MgmtKind>(1 + choice % 6);
    m.transaction = recorder_.transaction(in_.below(12));
    m.eui64 = link.peer_eui64();
    m.instance = link.peer_instance();
    m.peer_eui64 = link.local_eui64();
    m.peer_instance = link.local_instance();
    if (m.kind == MgmtKind::kConnectRej) m.reject = static_cast<MgmtReject>(1 + in_.u8() % 5);
    const bool has_pairs = m.kind == MgmtKind::kConnectReq || m.kind == MgmtKind::kConnectRep;
    m.pair_count = has_pairs ? 1 + in_.below(kMgmtPairsMax) : 0;
    for (std::size_t i = 0; i < m.pair_count; ++i) m.pairs[i] = some_pair();
    const base::Bytes data = in_.bytes(32);
    m.private_data = data;
    const std::uint8_t change = in_.u8();
    if (change == 1) ++m.instance;
    if (change == 2) ++m.peer_instance;
    if (change == 3) ++m.eui64.value;
    if (change == 4) ++m.peer_eui64.value;
    if (change == 5) m.kind = MgmtKind::kResolve;
    if (change == 6) m.kind = MgmtKind::kResolved;
    std::vector<std::byte> payload(m.bytes());
    emit_mgmt(payload, m);
    if (change >= 224) payload[in_.below(payload.size())] ^= std::byte{in_.u8()};
    if (change >= 248) payload.resize(payload.size() - payload.size() / 4 * 2);
    inject(payload);
  }
  MgmtPair some_pair() {
    const std::uint8_t choice = in_.u8();
    MgmtPair pair;
    pair.service = choice < 192 ? Service::kRc : static_cast<Service>(choice % 8);
    pair.flags = static_cast<std::uint16_t>(in_.u8() & 0x1FU);
    pair.qpn = Qpn(0x100U + choice);
    pair.start_psn = Psn(in_.u8());
    pair.start_lcn = Lcn(in_.u8());
    pair.mcp = static_cast<std::uint16_t>(choice < 128 ? 1024 : in_.u8() * 4);
    pair.receive_credits = 4;
    pair.max_dest_rd_atomic = in_.u8();
    return pair;
  }
  // An empty payload is an MGMT cell that has no format.
  void inject(base::Bytes payload) {
    victim_.tap.inject(pair_.address(1),
                       testing::make_mgmt_cell_from_peer(victim_.link(), payload));
  }

  // Those that live, and a disconnect per step that the peer has not confirmed.
  static constexpr std::size_t kKeptMax = kConnectionsMax + kConnectionStepsMax;

  Input in_;
  testing::AdapterPair pair_;
  testing::End& victim_;
  Recorder recorder_;
};

}  // namespace

// Steps of one byte and more.
void connection(base::Bytes in) { ConnectionRun(in).all(); }

}  // namespace splitnic::fuzz
