// Handshakes and keys of the target. Which keys a record is under its index shows.
// docs/protocol/session.md#keys
#include <algorithm>
#include <deque>

#include "conformance/states/watch.h"
#include "fabric_emul/session/messages.h"

namespace splitnic::conformance {
namespace {

namespace session = fabric::session;
using session::MessageType;

constexpr std::size_t kHandshakesMax = 64;
constexpr std::string_view kResponder = "keys at the responder";
constexpr std::string_view kInitiator = "session at the initiator";

bool has_mac2(base::Bytes initiation) {
  const base::Bytes mac2 = initiation.subspan(session::Initiation::kMac2At);
  return std::ranges::any_of(mac2, [](std::byte b) { return b != std::byte{0}; });
}

class SessionWatch final : public Watch {
 public:
  SessionWatch(Coverage& coverage, Role role) : coverage_(coverage), role_(role) {}

  void on(const Seen& seen) override {
    if (seen.kind == SeenKind::kProcess) ++process_;
    if (seen.kind != SeenKind::kSession) return;
    const auto type = session::type_of(seen.datagram);
    if (!type) return;
    if (role_ == Role::kHost) {
      on_responder(*type, seen);
    } else {
      on_initiator(*type, seen);
    }
  }

 private:
  enum class State : std::uint8_t { kSent, kNext, kReplaced, kCurrent, kEarlier };
  struct Handshake {
    std::uint32_t local = 0, remote = 0;  // indexes
    unsigned process = 0;                 // of the suite
    State state = State::kSent;
    bool is_tried = false;  // replaced, and a record was sent under it
  };

  void on_responder(MessageType type, const Seen& seen) {
    if (handshakes_.size() > kHandshakesMax) handshakes_.pop_front();
    if (type == MessageType::kInitiation && seen.is_sent()) {
      handshakes_.push_back(
          {.local = session::Initiation::sender(seen.datagram), .process = process_});
    } else if (type == MessageType::kResponse && !seen.is_sent()) {
      on_offered(seen.datagram);
    } else if (type == MessageType::kData && seen.is_sent()) {
      for (Handshake& one : handshakes_) {
        if (one.remote == session::Data::receiver(seen.datagram)) {
          one.is_tried |= one.state == State::kReplaced;
        }
      }
    } else if (type == MessageType::kData) {
      on_record(session::Data::receiver(seen.datagram));
    }
  }
  void on_offered(base::Bytes response) {
    for (Handshake& one : handshakes_) {
      if (one.state == State::kNext) one.state = State::kReplaced;
    }
    for (Handshake& one : handshakes_) {
      if (one.local != session::Response::receiver(response) || one.state != State::kSent) continue;
      one.remote = session::Response::sender(response);
      one.state = State::kNext;
      coverage_.reach(kResponder, "offered");
    }
  }
  // The target seals under these keys.
  void on_record(std::uint32_t local) {
    const auto now = std::ranges::find(handshakes_, local, &Handshake::local);
    if (now == handshakes_.end() || now->state != State::kNext) return;
    now->state = State::kCurrent;
    coverage_.reach(kResponder, "confirmed");
    for (Handshake& one : handshakes_) {
      if (one.local == local) continue;
      if (one.state == State::kReplaced && one.is_tried) coverage_.reach(kResponder, "replaced");
      if (one.state != State::kCurrent) continue;
      one.state = State::kEarlier;
      coverage_.reach(kResponder, one.process == now->process ? "previous" : "ended");
    }
  }

  void on_initiator(MessageType type, const Seen& seen) {
    if (type == MessageType::kInitiation && !seen.is_sent()) {
      on_initiation(seen.datagram);
    } else if (type == MessageType::kCookie && seen.is_sent()) {
      has_cookie_ = true;
    } else if (type == MessageType::kResponse && seen.is_sent()) {
      offered_ = session::Response::sender(seen.datagram);
    } else if (type == MessageType::kData && !seen.is_sent()) {
      if (!is_waiting_ || session::Data::receiver(seen.datagram) != offered_) return;
      is_waiting_ = false;
      coverage_.reach(kInitiator, "response");
    }
  }
  void on_initiation(base::Bytes initiation) {
    if (!has_begun_) {
      coverage_.reach(kInitiator, "start");
    } else {
      coverage_.reach(kInitiator, is_waiting_ ? "repeated" : "rekey");
    }
    if (has_cookie_ && has_mac2(initiation)) coverage_.reach(kInitiator, "cookie");
    has_begun_ = is_waiting_ = true;
    has_cookie_ = false;
  }

  Coverage& coverage_;
  const Role role_;
  unsigned process_ = 0;
  std::deque<Handshake> handshakes_;  // of a target that responds
  // Of a target that initiates.
  bool has_begun_ = false, is_waiting_ = false, has_cookie_ = false;
  std::uint32_t offered_ = 0;
};

}  // namespace

std::unique_ptr<Watch> watch_session(Coverage& coverage, Role role) {
  return std::make_unique<SessionWatch>(coverage, role);
}

}  // namespace splitnic::conformance
