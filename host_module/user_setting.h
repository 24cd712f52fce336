// A setting of the remote NIC that the user of the host has requested, and whether the I/O unit is
// known to have it. It outlives connections: a unit that has restarted gets it again. Plain state.
// docs/nic_service.md#settings-of-the-hosts-user Thread: its owner.
#pragma once

#include <optional>

namespace splitnic::host {

template <class Value>
class UserSetting {
 public:
  // Returns a default one if the user has set none.
  Value value() const { return value_.value_or(Value{}); }
  // `is_acknowledged`: the I/O unit has replied OK; otherwise it is requested on a connection.
  void set(const Value& value, bool is_acknowledged) {
    value_ = value;
    is_acknowledged_ = is_acknowledged;
  }
  // The I/O unit does not permit it, or does not serve the request.
  void forget() { value_.reset(); }
  // A connection begins, or the NIC was reset: the I/O unit may have anything.
  void begin() { is_acknowledged_ = false; }
  void acknowledge() { is_acknowledged_ = true; }
  bool is_due() const { return value_.has_value() && !is_acknowledged_; }

 private:
  std::optional<Value> value_;
  bool is_acknowledged_ = false;
};

}  // namespace splitnic::host
