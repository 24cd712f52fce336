// A setting of the remote NIC that the user of the host has requested, and whether the I/O unit has
// it. It outlives connections: a unit that has restarted, and another unit, get it again, also
// where the one before has refused it. Plain state.
// docs/nic_service.md#settings-of-the-hosts-user Thread: its owner.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace splitnic::host {

template <class Value>
class UserSetting {
 public:
  // Returns the one that the I/O unit has, or is to have: a default one if the user has set none,
  // or if the unit has refused it.
  Value value() const {
    if (state_ == State::kRefused) return Value{};
    return granted_ ? *granted_ : requested();
  }
  // Returns the one that the user has set, or a default one.
  Value requested() const { return requested_.value_or(Value{}); }
  // `is_acknowledged`: the I/O unit has replied OK; otherwise it is requested on a connection.
  void set(const Value& value, bool is_acknowledged) {
    requested_ = value;
    is_refusal_known_ = false;
    begin();
    if (is_acknowledged) acknowledge();
  }
  // A connection begins, or the NIC was reset: the I/O unit may have anything.
  void begin() {
    state_ = State::kDue;
    granted_.reset();
  }
  void acknowledge() {
    state_ = State::kAcknowledged;
    is_refusal_known_ = false;
  }
  // The I/O unit has granted this in its place.
  void acknowledge_as(const Value& granted) {
    acknowledge();
    granted_ = granted;
  }
  // The I/O unit does not permit it, or does not serve the request: it is not requested again on
  // this connection. Returns true if that is news, and not what a connection before has shown.
  bool refuse() {
    state_ = State::kRefused;
    return !std::exchange(is_refusal_known_, true);
  }
  bool is_refused() const { return state_ == State::kRefused; }
  bool is_due() const { return requested_.has_value() && state_ == State::kDue; }

 private:
  enum class State : std::uint8_t { kDue, kAcknowledged, kRefused };

  std::optional<Value> requested_;
  std::optional<Value> granted_;
  State state_ = State::kDue;
  bool is_refusal_known_ = false;  // since it was set, or acknowledged
};

}  // namespace splitnic::host
