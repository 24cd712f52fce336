// A series of CfgUtil ECHO round trips, one after the other, for `splitnic ping`. Each open request
// holds the run, so it ends with its last callback. Thread: the data thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "control/report/snapshot.h"
#include "control/socket/requests.h"

namespace splitnic::control {

class EchoRun : public std::enable_shared_from_this<EchoRun> {
 public:
  using Done = std::function<void(bool is_replied)>;
  // Sends one ECHO, whose result is given to Done once. Returns false if it could not be sent.
  using Send = std::function<bool(Done)>;

  // Sends `count` echoes and then replies with their times. The first that is not sent or gets no
  // reply is the last. `clock` and what `send` uses outlive the run, which has `send` until it
  // ends.
  static void start(std::uint32_t count, base::Clock& clock, Send send, ReplyFunction reply);

 private:
  EchoRun(std::uint32_t count, base::Clock& clock, Send send, ReplyFunction reply)
      : left_(count), clock_(clock), send_(std::move(send)), reply_(std::move(reply)) {}
  void send_next();
  void on_done(base::Time sent_at, bool is_replied);
  void finish();

  std::uint32_t left_;
  base::Clock& clock_;
  Send send_;
  ReplyFunction reply_;
  PingResult result_;
};

}  // namespace splitnic::control
