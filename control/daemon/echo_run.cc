#include "control/daemon/echo_run.h"

#include <utility>

#include "control/report/ping_json.h"

namespace splitnic::control {

void EchoRun::start(std::uint32_t count, base::Clock& clock, Send send, ReplyFunction reply) {
  const std::shared_ptr<EchoRun> run(new EchoRun(count, clock, std::move(send), std::move(reply)));
  run->send_next();
}

void EchoRun::send_next() {
  if (left_ == 0) return finish();
  --left_;
  ++result_.sent;
  const bool is_sent = send_([run = shared_from_this(), sent_at = clock_.now()](bool is_replied) {
    run->on_done(sent_at, is_replied);
  });
  if (!is_sent) finish();
}

void EchoRun::on_done(base::Time sent_at, bool is_replied) {
  if (!is_replied) return finish();
  result_.round_trips.push_back(clock_.now() - sent_at);
  send_next();
}

void EchoRun::finish() {
  if (result_.round_trips.empty()) {
    return reply_(
        {ReplyStatus::kFailed,
         "no reply from the other side: check that its program runs and that the link is up"});
  }
  reply_({ReplyStatus::kOk, ping_json(result_)});
}

}  // namespace splitnic::control
