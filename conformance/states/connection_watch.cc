// The connections of the target. docs/protocol/mgmt.md#connection
#include <map>

#include "conformance/limits.h"
#include "conformance/states/watch.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::InitStep;
using fabric::Mgmt;
using fabric::MgmtKind;

constexpr base::Duration kNoDisc = 180ms;  // DISC is repeated every 100 ms
constexpr std::size_t kConnectionsMax = 1024;

class ConnectionWatch final : public Watch {
 public:
  ConnectionWatch(Coverage& coverage, Role role) : coverage_(coverage), role_(role) {}

  void on(const Seen& seen) override {
    switch (seen.kind) {
      case SeenKind::kProcess:
        if (role_ == Role::kHost) all_.clear();
        return;
      case SeenKind::kMgmt:
        if (all_.size() > kConnectionsMax) all_.clear();
        seen.is_sent() ? on_sent(seen) : on_received(seen);
        break;
      case SeenKind::kInit:
        if (seen.is_sent()) return;
        if (seen.is_init(InitStep::kReady)) restart(seen.init.peer_instance, seen.at);
        break;
      case SeenKind::kMessage:
        if (!seen.is_sent()) settle_strays();
        break;
      default:
        break;
    }
    if (!seen.is_sent()) look_for_ends(seen.at);
  }

 private:
  enum class State : std::uint8_t { kNone, kRequested, kUp, kClosing, kEnding };
  struct Connection {
    State state = State::kNone;
    std::uint64_t instance = 0;           // of the suite's end
    bool is_active = false;               // the target's role
    std::optional<MgmtKind> last_sent{};  // that has no visible effect yet
    unsigned discs = 0;
    base::Time at{};  // of the last DISC, or of what ended them
    std::string_view ends_by{};
  };

  void reach(std::string_view edge) { coverage_.reach("connection", edge); }

  void on_sent(const Seen& seen) {
    const Mgmt& m = seen.mgmt;
    Connection& c = all_[m.transaction];
    if (m.kind == MgmtKind::kDiscRep && c.state == State::kClosing) {
      end_when_quiet(c, "disc_rep", seen.at);
      return;
    }
    c.last_sent = m.kind;
    if (c.state == State::kNone) c.instance = m.instance;
  }

  void on_received(const Seen& seen) {
    const Mgmt& m = seen.mgmt;
    restart(m.peer_instance, seen.at);
    Connection& c = all_[m.transaction];
    const auto sent = std::exchange(c.last_sent, std::nullopt);
    switch (m.kind) {
      case MgmtKind::kConnectReq:
        if (c.state != State::kNone) {
          c.last_sent = sent;
          return;
        }
        reach("request");
        settle_rejects();
        c = {.state = State::kRequested, .instance = m.peer_instance, .is_active = true};
        return;
      case MgmtKind::kConnectRep:
        if (sent != MgmtKind::kConnectReq) return;
        reach(c.state == State::kNone ? "accepted" : "repeated_request");
        c.state = State::kUp;
        c.instance = m.peer_instance;
        settle_strays();
        return;
      case MgmtKind::kConnectRej:
        if (sent == MgmtKind::kConnectReq && c.state == State::kNone) reach("refused");
        return;
      case MgmtKind::kConnectRtu:
        if (sent != MgmtKind::kConnectRep) return;
        reach(c.state == State::kRequested ? "suitable" : "repeated_reply");
        c.state = State::kUp;
        return;
      case MgmtKind::kDisc:
        return on_disc(c, sent, seen.at);
      case MgmtKind::kDiscRep:
        if (sent == MgmtKind::kDisc) on_disc_rep(c);
        settle_strays();
        return;
      default:
        return;
    }
  }

  void on_disc(Connection& c, std::optional<MgmtKind> sent, base::Time now) {
    if (c.state == State::kUp) reach("disconnects");
    if (c.state == State::kRequested && sent == MgmtKind::kConnectRep) reach("not_suitable");
    if (c.state == State::kClosing && sent == MgmtKind::kConnectReq) reach("closing_request");
    if (c.state == State::kClosing && sent == MgmtKind::kConnectRep) reach("closing_reply");
    if (c.state == State::kClosing && sent == MgmtKind::kConnectRej) reach("closing_reject");
    if (c.state == State::kNone) return;
    c.state = State::kClosing;
    if (++c.discs >= kDiscsMax) end_when_quiet(c, "ten_discs", now);
  }

  void on_disc_rep(Connection& c) {
    switch (c.state) {
      case State::kNone:
        reach("stray_disc");
        break;
      case State::kRequested:
        reach("disc_of_request");
        break;
      case State::kUp:
        reach("disc");
        break;
      case State::kClosing:
      case State::kEnding:
        reach("crossing_disc");
        break;
    }
    c = {};
  }

  // An end shows only by what does not come any more.
  void end_when_quiet(Connection& c, std::string_view edge, base::Time now) {
    c.state = State::kEnding;
    c.ends_by = edge;
    c.at = now;
  }
  void look_for_ends(base::Time now) {
    for (auto& [transaction, c] : all_) {
      if (c.state != State::kEnding || now - c.at < kNoDisc) continue;
      reach(c.ends_by);
      c = {};
    }
  }

  // Another instance of the suite: what the target had with the one before has ended.
  void restart(std::uint64_t instance, base::Time now) {
    if (instance == 0) return;
    for (auto& [transaction, c] : all_) {
      if (c.instance == 0 || c.instance == instance) continue;
      if (c.state == State::kRequested) reach("restart_when_requested");
      if (c.state == State::kUp) reach("restart_when_up");
      if (c.state == State::kClosing) {
        c.instance = 0;
        end_when_quiet(c, "restart_when_closing", now);
      } else if (c.state != State::kEnding) {
        c = {};
      }
    }
  }

  // A reply to something later shows that these had none.
  void settle_strays() {
    for (auto& [transaction, c] : all_) {
      if (!c.last_sent || *c.last_sent == MgmtKind::kDisc) continue;
      if (c.state == State::kNone && *c.last_sent != MgmtKind::kConnectReq) reach("stray");
      const bool is_late = c.state == State::kUp && c.is_active;
      if (is_late && *c.last_sent == MgmtKind::kConnectRej) reach("late_reject");
      if (c.state == State::kNone || is_late) c.last_sent.reset();
    }
  }
  // A new attempt shows that the one before has ended.
  void settle_rejects() {
    for (auto& [transaction, c] : all_) {
      if (c.state != State::kRequested || c.last_sent != MgmtKind::kConnectRej) continue;
      reach("rejected");
      c = {};
    }
  }

  Coverage& coverage_;
  const Role role_;
  std::map<std::uint64_t, Connection> all_;  // by transaction
};

}  // namespace

std::unique_ptr<Watch> watch_connection(Coverage& coverage, Role role) {
  return std::make_unique<ConnectionWatch>(coverage, role);
}

}  // namespace splitnic::conformance
