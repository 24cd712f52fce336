// A run of CfgUtil ECHO round trips, one after the other, for `splitnic ping`.
#pragma once

#include <functional>
#include <memory>

#include "control/admin.h"
#include "control/snapshot.h"

namespace splitnic::control {

// Sends one echo; the callback is to be called once, with whether it was answered. False: it was
// not sent.
using SendEcho = std::function<bool(std::function<void(bool replied)> done)>;

// Runs on the data thread: `count` echoes, then the answer. `clock` and what `send` uses outlive
// the run.
inline void run_echoes(std::uint32_t count, base::Clock& clock, SendEcho send,
                       ReplyFunction reply) {
  struct Run {
    std::uint32_t left;
    base::Clock& clock;
    SendEcho send;
    ReplyFunction reply;
    PingResult result;
    std::function<void()> next;
  };
  auto run = std::make_shared<Run>(Run{count, clock, std::move(send), std::move(reply), {}, {}});
  run->next = [run] {
    const auto finish = [&] {
      const bool good = !run->result.round_trips.empty();
      run->reply({good ? ReplyStatus::kOk : ReplyStatus::kFailed,
                  good ? ping_text(run->result) : "no answer from the other side"});
      run->next = nullptr;  // ends the cycle of ownership
    };
    if (run->left == 0) return finish();
    --run->left;
    ++run->result.sent;
    const base::Time begun = run->clock.now();
    const bool sent = run->send([run, begun](bool replied) {
      if (replied)
        run->result.round_trips.push_back(run->clock.now() - begun);
      else
        run->left = 0;
      const auto step = run->next;
      step();
    });
    if (!sent) finish();
  };
  const auto step = run->next;
  step();
}

}  // namespace splitnic::control
