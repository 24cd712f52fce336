#include "tools/bench/fabric_end.h"

#include <array>
#include <cerrno>
#include <span>
#include <string>

#include "tools/bench/bench_service.h"

namespace splitnic::bench {

using fabric::MgmtReject;

namespace {

// For the user, behind the code of a refusal.
std::string_view hint_of(MgmtReject code) {
  if (code == MgmtReject::kNoResources) return ": another one measures there";
  if (code == MgmtReject::kRefused) return ": both ends need the same version of splitnic";
  return "";
}

}  // namespace

FabricEnd::FabricEnd(fabric::Underlay& underlay, const EndConfig& config, int wake_fd)
    : config_(config),
      adapter_(std::make_unique<fabric::Adapter>(fabric::AdapterLimits{}, random_)),
      queues_(*adapter_) {
  fabric::PortConfig port;
  port.eui64 = config.eui64;
  port.instance = random_.next() | 1;
  port.listens = !config.is_active;
  port.crc_head_only = config.is_shm;
  port.forget_after = {};  // each measurement uses a separate link
  port_ = adapter_->add_port(underlay, port).value();
  adapter_->connections().set_handler(*this);
  waiting_.add(underlay);
  wake_slot_ = waiting_.poller().add(wake_fd);
}

base::Status FabricEnd::connect(const fabric::PeerAddress& peer, const Run& run,
                                base::Duration patience) {
  if (auto checked = check_run(run.service, run.op, run.queue_pairs); !checked) return checked;
  Handshake what;
  what.op = run.op;
  what.service = run.service;
  what.goes_back_n = run.goes_back_n;
  what.bytes = static_cast<std::uint32_t>(run.bytes);
  if (auto opened = queues_.open(what, run.queue_pairs, clock_.now()); !opened) return opened;
  port_->connect(peer, clock_.now());
  auto connected = iterate_until([this] { return is_connected_; }, patience);
  if (!connected && !has_failed()) return base::Error("no reply", ETIMEDOUT);
  return connected;
}

void FabricEnd::disconnect() {
  adapter_->connections().disconnect(connection_, clock_.now());
  adapter_->transmit(clock_.now());
  port_->send_bye(clock_.now());
  port_->flush(clock_.now());
}

void FabricEnd::end_session() {
  queues_.close(clock_.now());
  connection_ = {};
  link_ = nullptr;
  is_connected_ = false;
  why_ = base::Error();
  posted_ = requested_ = sent_ = received_ = replied_ = written_off_ = arrived_ = 0;
}

// The passive end is free for the next peer then: its session ends with the iteration.
void FabricEnd::fail(const base::Error& why) {
  if (!has_failed()) why_ = why;
}

void FabricEnd::post(Word word) {
  if (word == Word::kReply) replied_ = posted_;  // those before it need none
  if (word != Word::kReport) ++posted_;
  ++requested_;
  const MessageMark mark{word, MessageNumber(static_cast<std::uint32_t>(posted_)), {}};
  if (auto posted = queues_.post(mark); !posted) fail(posted.error());
}

void FabricEnd::iterate(base::Time wake_at) {
  now_ = clock_.now();
  // The passive end sleeps until somebody is there.
  const bool spins = config_.spins && (config_.is_active || is_connected_);
  if (!spins || adapter_->wants_write()) {
    waiting_.wait(now_, {.made_progress = made_progress_ || spins,
                         .bytes_processed = bytes_processed(),
                         .wants_write = adapter_->wants_write(),
                         .deadline = std::min(adapter_->deadline(), wake_at)});
    now_ = clock_.now();
    if (adapter_->wants_write() && waiting_.has_room()) adapter_->on_writable(now_);
  }
  // Replies leave together with the acknowledgements that are due.
  made_progress_ = adapter_->receive(now_);
  made_progress_ |= take_completions();
  adapter_->transmit(now_);
  if (config_.is_active || !has_failed()) return;
  adapter_->connections().disconnect(connection_, now_);  // else the peer waits in vain
  end_session();
}

bool FabricEnd::take_completions() {
  fabric::WcBatch wcs;
  bool made_progress = false;
  for (const fabric::CqId cq : queues_.completion_queues()) {
    while (const std::size_t count = adapter_->poll_cq(cq, wcs)) {
      made_progress = true;
      for (const fabric::Wc& wc : std::span(wcs).first(count)) on_completion(wc);
    }
  }
  return made_progress;
}

// Completions of a session that is over may still come.
void FabricEnd::on_completion(const fabric::Wc& wc) {
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

void FabricEnd::take_message(const fabric::Wc& wc) {
  if (!wc.has_idata) return;
  const auto mark = MessageMark::parse(wc.idata);
  if (!mark) return;
  if (config_.is_active) return on_reply(*mark);
  if (mark->word != Word::kReport) ++arrived_;
  if (mark->word == Word::kCount) return;
  MessageMark reply = *mark;
  reply.count = ArrivalCount(static_cast<std::uint32_t>(arrived_));
  if (auto posted = queues_.reply(wc, reply); !posted) fail(posted.error());
}

// A reply that is late, or that was there before, changes nothing.
void FabricEnd::on_reply(const MessageMark& mark) {
  const std::int32_t ahead = mark.number - MessageNumber(static_cast<std::uint32_t>(replied_));
  if (ahead <= 0 || static_cast<std::size_t>(ahead) > posted_ - replied_) return;
  replied_ += static_cast<std::size_t>(ahead);
  const std::int32_t more = mark.count - ArrivalCount(static_cast<std::uint32_t>(arrived_));
  if (more > 0) arrived_ += static_cast<std::size_t>(more);
}

void FabricEnd::on_link_up(fabric::Link& link) {
  if (!config_.is_active || link_ != nullptr) return;
  link_ = &link;
  const Handshake& what = queues_.what();
  if (auto fits = check_length(what.service, what.bytes, link.mcp()); !fits) {
    return fail(fits.error());
  }
  const std::array<fabric::MgmtPair, 1> mine{queues_.describe()};
  const std::vector<std::byte> offer = queues_.offer().emit();
  connection_ = adapter_->connections().connect(link, mine, offer, clock_.now());
}

void FabricEnd::on_link_down(fabric::Link& link, std::string_view why) {
  if (&link == link_) fail(base::Error("the peer is gone: " + std::string(why)));
}

// kNone: a session may begin.
MgmtReject FabricEnd::check_request(const fabric::Link& link, const fabric::MgmtPair& pair,
                                    const Handshake& theirs) const {
  const bool goes_back_n = (pair.flags & fabric::kPairGoBackN) != 0;
  if (goes_back_n != theirs.goes_back_n || pair.service != theirs.service ||
      !check_length(theirs.service, theirs.bytes, link.mcp())) {
    return MgmtReject::kBadParameter;
  }
  return is_connected_ && &link != link_ ? MgmtReject::kNoResources : MgmtReject::kNone;
}

MgmtReject FabricEnd::on_connect_request(fabric::ConnectionId id, fabric::Link& link,
                                         const fabric::Mgmt& request, fabric::Mgmt& reply) {
  const auto theirs = Handshake::parse(request.private_data);
  if (config_.is_active || !theirs || request.pair_count != 1) return MgmtReject::kRefused;
  const fabric::MgmtPair& pair = request.pairs[0];
  if (const MgmtReject wrong = check_request(link, pair, *theirs); wrong != MgmtReject::kNone) {
    return wrong;
  }
  end_session();
  const MgmtReject code = begin_session(link, pair, *theirs, reply);
  if (code != MgmtReject::kNone) {
    end_session();
    return code;
  }
  link_ = &link;
  connection_ = id;
  is_connected_ = true;
  return code;
}

// Passive: after a refusal some of the session may be there.
MgmtReject FabricEnd::begin_session(fabric::Link& link, const fabric::MgmtPair& pair,
                                    const Handshake& theirs, fabric::Mgmt& reply) {
  const std::size_t queue_pairs = std::max<std::size_t>(theirs.queue_pairs.size(), 1);
  if (!queues_.open(theirs, queue_pairs, clock_.now())) return MgmtReject::kNoResources;
  reply.pair_count = 1;
  reply.pairs[0] = queues_.describe();
  reply.pairs[0].peer_qpn = pair.qpn;
  if (!queues_.connect(pair, theirs, link)) return MgmtReject::kBadParameter;
  reply_ = queues_.offer().emit();
  reply.private_data = reply_;
  return MgmtReject::kNone;
}

bool FabricEnd::on_connected(fabric::ConnectionId, fabric::Link& link, const fabric::Mgmt& reply) {
  const auto theirs = Handshake::parse(reply.private_data);
  if (!theirs || reply.pair_count != 1) {
    fail(base::Error("the reply of the peer is not understood" +
                     std::string(hint_of(MgmtReject::kRefused))));
    return false;
  }
  auto connected = queues_.connect(reply.pairs[0], *theirs, link);
  if (!connected) fail(connected.error());
  is_connected_ = connected.has_value();
  return is_connected_;
}

void FabricEnd::on_rejected(fabric::ConnectionId, MgmtReject code, base::Bytes) {
  fail(base::Error("the peer refuses: " + std::string(fabric::name(code)) +
                   std::string(hint_of(code))));
}

void FabricEnd::on_disconnected(fabric::ConnectionId id, std::string_view why) {
  if (id == connection_) fail(base::Error("the peer is gone: " + std::string(why)));
}

}  // namespace splitnic::bench
