// The link of the target. docs/protocol/flit.md#states-of-a-link
#include "conformance/states/watch.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::Init;
using fabric::InitStep;

constexpr base::Duration kSilentAfter = 900ms;  // of a peer: P-LINK-14
// A link that is UP gets IDLE every 200 ms, a silent one nothing but INIT.
constexpr base::Duration kNothingSent = 300ms;

class LinkWatch final : public Watch {
 public:
  LinkWatch(Coverage& coverage, Role role) : coverage_(coverage), role_(role) {}

  void on(const Seen& seen) override {
    if (seen.kind == SeenKind::kSession || seen.kind == SeenKind::kMessage) return;
    if (seen.kind == SeenKind::kProcess) {
      if (role_ == Role::kHost) begin();
      return;
    }
    look_for_silence(seen.at);
    if (seen.is_sent()) {
      on_sent(seen);
      last_sent_ = seen.at;
    } else {
      if (seen.kind == SeenKind::kInit) {
        follow_profile(seen.init);
        role_ == Role::kHost ? on_listener(seen) : on_client(seen);
      } else {
        on_flit(seen);
        last_flit_ = seen.at;
      }
    }
  }

 private:
  void reach(std::string_view edge) { coverage_.reach("link", edge); }
  void begin() {
    is_up_ = is_silent_ = is_known_ = false;
    bye_ = Bye::kNone;
    ready_.reset();
    hello_ = proof_ = 0;
  }

  void look_for_silence(base::Time now) {
    if (is_full_ || !is_up_ || is_silent_ || bye_ != Bye::kNone) return;
    if (now - last_sent_ < kSilentAfter || now - last_flit_ < kNothingSent) return;
    is_silent_ = true;
    is_woken_ = false;
    reach("silence");
  }

  // A link of the full profile is never SILENT: it is down.
  void follow_profile(const Init& init) {
    if (init.step == InitStep::kReady) is_full_ = init.profile == fabric::LinkProfile::kFull;
  }

  void on_sent(const Seen& seen) {
    const Init& init = seen.init;
    if (seen.kind == SeenKind::kInit) follow_profile(init);
    if (seen.kind != SeenKind::kInit) {
      is_woken_ |= is_silent_;
      if (bye_ == Bye::kSent) bye_ = Bye::kTried;
      return;
    }
    switch (init.step) {
      case InitStep::kHello:
        hello_ = init.nonce;
        return;
      case InitStep::kAnswer:
        proof_ = init.nonce;
        offered_ = init.instance;
        return;
      case InitStep::kReady:
        ready_ = init;
        return;
      case InitStep::kBye:
        if (is_up_ && init.instance == own_ && init.peer_instance == target_) bye_ = Bye::kSent;
        return;
      default:
        return;
    }
  }

  // BYE had its effect if the flit behind it had none.
  void end_by_bye() {
    reach(is_silent_ ? "silent_bye" : "bye");
    bye_ = Bye::kNone;
    is_up_ = is_silent_ = false;
  }

  // The target listens: READY shows that it knew the peer, or knows it now.
  void on_listener(const Seen& seen) {
    const Init& init = seen.init;
    if (init.step != InitStep::kReady) return;
    const bool is_of_proof = proof_ != 0 && init.echo == proof_;
    if (!is_of_proof && init.echo != hello_) return;
    if (bye_ == Bye::kTried) end_by_bye();
    if (is_of_proof && is_known_ && offered_ != own_) {
      reach(is_silent_ ? "silent_other_instance" : "other_instance");
      is_up_ = is_silent_ = false;
    }
    if (!is_known_) reach("start");
    if (is_silent_) reach("silent_ready");
    if (!is_up_) reach("ready");
    if (is_of_proof) own_ = offered_;
    come_up(init.instance, seen.at);
  }

  // The target connects: what it does after READY shows that it has taken it.
  void on_client(const Seen& seen) {
    const Init& init = seen.init;
    target_ = init.instance;
    if (init.step != InitStep::kHello) return;
    if (!is_known_ && !is_up_) reach("start");
    is_known_ = true;
    if (bye_ == Bye::kTried || (bye_ == Bye::kSent && !is_silent_)) end_by_bye();
  }

  void on_flit(const Seen& seen) {
    if (role_ == Role::kUnit && ready_ && seen.kind == SeenKind::kMgmt) take_ready(seen);
    if (bye_ == Bye::kTried && seen.kind != SeenKind::kIdle) bye_ = Bye::kNone;  // it was not taken
    if (!is_silent_) return;
    if (ready_) {
      if (ready_->instance != own_) return;  // MGMT shows whether it was taken
      reach("silent_ready");
      ready_.reset();
      is_silent_ = false;
    } else if (is_woken_) {
      reach("heard");
      is_silent_ = false;
    }
  }

  // A message of the connection has the instance of the READY that was taken.
  void take_ready(const Seen& seen) {
    if (seen.mgmt.peer_instance != ready_->instance) return;
    const bool is_other = is_up_ && own_ != ready_->instance;
    if (is_other) reach(is_silent_ ? "silent_other_instance" : "other_instance");
    if (is_silent_ && !is_other) reach("silent_ready");
    if (!is_up_ || is_other) reach("ready");
    own_ = ready_->instance;
    ready_.reset();
    is_silent_ = false;
    come_up(seen.mgmt.instance, seen.at);
  }

  void come_up(std::uint64_t target, base::Time now) {
    is_up_ = is_known_ = true;
    is_silent_ = false;
    bye_ = Bye::kNone;
    target_ = target;
    last_flit_ = last_sent_ = now;
  }

  Coverage& coverage_;
  const Role role_;
  bool is_known_ = false;  // the target has, or had, a link with us
  bool is_up_ = false, is_silent_ = false;
  bool is_full_ = false;
  bool is_woken_ = false;  // something was sent to a silent target
  enum class Bye : std::uint8_t { kNone, kSent, kTried } bye_ = Bye::kNone;
  std::uint64_t own_ = 0, target_ = 0;  // instances
  std::uint64_t hello_ = 0, proof_ = 0, offered_ = 0;
  std::optional<Init> ready_;  // that the target has not shown to have taken
  base::Time last_sent_{}, last_flit_{};
};

}  // namespace

std::unique_ptr<Watch> watch_link(Coverage& coverage, Role role) {
  return std::make_unique<LinkWatch>(coverage, role);
}

}  // namespace splitnic::conformance
