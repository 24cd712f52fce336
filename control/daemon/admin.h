// Serves the requests of the control socket: show, stats, set and ping. Both programs handle them
// here and differ in what they report, what may be set and whom they ping. Thread: the data thread.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/counters.h"
#include "base/status.h"
#include "control/admin.h"
#include "control/snapshot.h"
#include "messaging/connection.h"

namespace splitnic::control {

class Admin {
 public:
  // Visits the counters of what lies below the module, such as its carriers.
  using VisitCounters = std::function<void(const base::CounterVisitor&)>;

  Admin(base::Clock& clock, VisitCounters visit_carriers)
      : clock_(clock), visit_carriers_(std::move(visit_carriers)) {}
  virtual ~Admin() = default;
  Admin(const Admin&) = delete;
  Admin& operator=(const Admin&) = delete;

  // Replies now, or once the echoes of a ping have ended.
  void handle(const Request& request, ReplyFunction reply);

 protected:
  // The program's state, with the counters of the module. Works before the module exists.
  virtual Snapshot snapshot() const = 0;
  virtual Reply set(const std::string& what, const std::string& value) = 0;
  // Returns the connection to send the next ECHO over; an error explains why there is none.
  virtual base::Result<messaging::Connection*> connection_to_ping() = 0;

  base::Clock& clock_;

 private:
  void ping(std::uint32_t count, ReplyFunction reply);
  bool send_echo(const std::string& data, std::function<void(bool)> done);

  VisitCounters visit_carriers_;
};

// Adds the channels and pools of a connection to `peer`.
void add_connection(Snapshot& snapshot, const messaging::Connection& connection,
                    const std::string& peer);
const char* mode_name(messaging::Mode mode);

}  // namespace splitnic::control
