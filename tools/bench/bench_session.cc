#include "tools/bench/bench_session.h"

#include <span>
#include <string>

namespace splitnic::bench {

void BenchSession::end(base::Time now) {
  queues_.close(now);
  is_connected_ = false;
  why_ = base::Error();
  posted_ = requested_ = sent_ = received_ = replied_ = written_off_ = arrived_ = 0;
}

void BenchSession::post(Word word) {
  if (word == Word::kReply) replied_ = posted_;  // those before it need none
  if (word != Word::kReport) ++posted_;
  ++requested_;
  const MessageMark mark{word, MessageNumber(static_cast<std::uint32_t>(posted_)), {}};
  if (auto posted = queues_.post(mark); !posted) fail(posted.error());
}

bool BenchSession::take_completions() {
  fabric::WcBatch wcs;
  bool made_progress = false;
  for (const fabric::CqId cq : queues_.completion_queues()) {
    while (const std::size_t count = adapter_.poll_cq(cq, wcs)) {
      made_progress = true;
      for (const fabric::Wc& wc : std::span(wcs).first(count)) on_completion(wc);
    }
  }
  return made_progress;
}

// Completions of a session that is over may still come.
void BenchSession::on_completion(const fabric::Wc& wc) {
  if (!is_connected_ || has_failed() || !queues_.owns(wc.qpn)) return;
  if (wc.status != fabric::WcStatus::kSuccess) {
    return fail(base::Error("a " + std::string(name(queues_.what().op)) + " ended as " +
                            std::string(name(wc.status))));
  }
  if (wc.op != fabric::WcOp::kReceive && wc.op != fabric::WcOp::kReceiveRdmaIdata) {
    ++sent_;
    return;
  }
  ++received_;
  if (auto posted = queues_.post_receive(wc.qpn); !posted) return fail(posted.error());
  if (queues_.is_from_peer(wc)) take_message(wc);
}

void BenchSession::take_message(const fabric::Wc& wc) {
  if (!wc.has_idata) return;
  const auto mark = MessageMark::parse(wc.idata);
  if (!mark) return;
  if (is_active_) return on_reply(*mark);
  if (mark->word != Word::kReport) ++arrived_;
  if (mark->word == Word::kCount) return;
  MessageMark reply = *mark;
  reply.count = ArrivalCount(static_cast<std::uint32_t>(arrived_));
  if (auto posted = queues_.reply(wc, reply); !posted) fail(posted.error());
}

// A reply that is late, or that was there before, changes nothing.
void BenchSession::on_reply(const MessageMark& mark) {
  const std::int32_t ahead = mark.number - MessageNumber(static_cast<std::uint32_t>(replied_));
  if (ahead <= 0 || static_cast<std::size_t>(ahead) > posted_ - replied_) return;
  replied_ += static_cast<std::size_t>(ahead);
  const std::int32_t more = mark.count - ArrivalCount(static_cast<std::uint32_t>(arrived_));
  if (more > 0) arrived_ += static_cast<std::size_t>(more);
}

}  // namespace splitnic::bench
