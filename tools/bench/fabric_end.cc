#include "tools/bench/fabric_end.h"

#include <algorithm>
#include <array>
#include <cerrno>
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

FabricEnd::FabricEnd(const EndConfig& config, int wake_fd)
    : config_(config),
      adapter_(std::make_unique<fabric::Adapter>(fabric::AdapterLimits{}, random_)),
      session_(*adapter_, config.is_active) {
  adapter_->connections().set_handler(*this);
  wake_slot_ = waiting_.poller().add(wake_fd);
}

FabricEnd::FabricEnd(fabric::Underlay& underlay, const EndConfig& config, int wake_fd)
    : FabricEnd(config, wake_fd) {
  port_ = adapter_->add_port(underlay, config_of(config.eui64)).value();
  waiting_.add(underlay);
}

fabric::PortConfig FabricEnd::config_of(fabric::Eui64 eui64) const {
  fabric::PortConfig port;
  port.eui64 = eui64;
  port.instance = instance_;
  port.listens = !config_.is_active;
  port.crc_head_only = config_.is_shm;
  port.forget_after = {};  // each measurement uses a separate link
  return port;
}

// The passive end may have one port for all of them: each has another address there.
void FabricEnd::add_port(fabric::Underlay& underlay, const fabric::PeerAddress& peer) {
  const fabric::Eui64 eui64 = fabric::local_eui64(random_.next());
  other_ports_.push_back({adapter_->add_port(underlay, config_of(eui64)).value(), peer});
  waiting_.add(underlay);
}

base::Status FabricEnd::open_session(const Run& run) {
  if (auto checked = check_run(run.service, run.op, run.queue_pairs); !checked) return checked;
  if (auto checked = check_size(run.op, run.bytes); !checked) return checked;
  if (auto checked = check_pieces(run); !checked) return checked;
  Handshake what;
  what.op = run.op;
  what.service = run.service;
  what.goes_back_n = run.goes_back_n;
  what.spans_links = !other_ports_.empty();
  what.bytes = static_cast<std::uint32_t>(run.bytes);
  return session_.queues().open(what, run.queue_pairs, run.pieces, clock_.now());
}

base::Status FabricEnd::await_connection(base::Duration patience) {
  auto connected = iterate_until([this] { return session_.is_connected(); }, patience);
  if (!connected && !session_.has_failed()) return base::Error("no reply", ETIMEDOUT);
  return connected;
}

base::Status FabricEnd::connect(const fabric::PeerAddress& peer, const Run& run,
                                base::Duration patience) {
  if (auto opened = open_session(run); !opened) return opened;
  port_->connect(peer, clock_.now());
  for (const OtherPort& other : other_ports_) other.port->connect(other.peer, clock_.now());
  return await_connection(patience);
}

base::Status FabricEnd::connect_loopback(const Run& run, base::Duration patience) {
  if (auto opened = open_session(run); !opened) return opened;
  far_ = std::make_unique<BenchSession>(*adapter_, false);
  const auto near = adapter_->open_loopback(clock_.now());
  if (!near) return near.error();
  near_ = *near;
  return await_connection(patience);
}

void FabricEnd::disconnect() {
  adapter_->connections().disconnect(connection_, clock_.now());
  adapter_->transmit(clock_.now());
  if (port_ == nullptr) return;
  for (const auto& port : adapter_->ports()) {
    port->send_bye(clock_.now());
    port->flush(clock_.now());
  }
}

void FabricEnd::end_session() {
  session_.end(clock_.now());
  connection_ = {};
  link_ = nullptr;
}

void FabricEnd::iterate(base::Time wake_at) {
  now_ = clock_.now();
  // The passive end sleeps until somebody is there.
  const bool spins = config_.spins && (config_.is_active || session_.is_connected());
  if (!spins || adapter_->wants_write()) {
    waiting_.wait(now_, {.made_progress = made_progress_ || spins,
                         .bytes_processed = session_.bytes_processed(),
                         .wants_write = adapter_->wants_write(),
                         .deadline = std::min(adapter_->deadline(), wake_at)});
    now_ = clock_.now();
    // Of the loopback each iteration makes room.
    const bool has_room = far_ != nullptr || waiting_.has_room();
    if (adapter_->wants_write() && has_room) adapter_->on_writable(now_);
  }
  // Replies leave together with the acknowledgements that are due.
  made_progress_ = adapter_->receive(now_);
  made_progress_ |= take_completions();
  adapter_->transmit(now_);
  if (config_.is_active || !session_.has_failed()) return;
  adapter_->connections().disconnect(connection_, now_);  // else the peer waits in vain
  end_session();
}

bool FabricEnd::take_completions() {
  bool made_progress = session_.take_completions();
  if (far_ != nullptr) {
    made_progress |= far_->take_completions();
    if (far_->has_failed()) session_.fail(far_->why());
  }
  return made_progress;
}

void FabricEnd::on_link_up(fabric::Link& link) {
  if (!config_.is_active || link_ != nullptr) return;
  // Both ends of the way within the adapter are reported, in either order.
  if (far_ != nullptr && ++ends_up_ < 2) return;
  link_ = far_ != nullptr ? near_ : &link;
  BenchQueues& queues = session_.queues();
  const Handshake& what = queues.what();
  if (auto fits = check_length(what.service, what.op, what.bytes, link_->mcp()); !fits) {
    return session_.fail(fits.error());
  }
  const std::array<fabric::MgmtPair, 1> mine{queues.describe()};
  const std::vector<std::byte> offer = queues.offer().emit();
  connection_ = adapter_->connections().connect(*link_, mine, offer, clock_.now());
}

// The session continues where its queue pair has another link.
void FabricEnd::on_link_down(fabric::Link& link, std::string_view why) {
  if (&link != link_) return;
  fabric::Link* other = adapter_->connections().link_of(connection_);
  if (other != nullptr && other->up()) {
    link_ = other;
    return;
  }
  session_.fail(base::Error("the peer is gone: " + std::string(why)));
}

// kNone: a session may begin.
MgmtReject FabricEnd::check_request(const fabric::Link& link, const fabric::MgmtPair& pair,
                                    const Handshake& theirs) const {
  const bool goes_back_n = (pair.flags & fabric::kPairGoBackN) != 0;
  if (goes_back_n != theirs.goes_back_n || pair.service != theirs.service ||
      !check_length(theirs.service, theirs.op, theirs.bytes, link.mcp())) {
    return MgmtReject::kBadParameter;
  }
  const bool is_taken = session_.is_connected() && &link != link_;
  return is_taken ? MgmtReject::kNoResources : MgmtReject::kNone;
}

MgmtReject FabricEnd::on_connect_request(fabric::ConnectionId id, fabric::Link& link,
                                         const fabric::Mgmt& request, fabric::Mgmt& reply) {
  const auto theirs = Handshake::parse(request.private_data);
  const bool serves = far_ != nullptr || !config_.is_active;
  if (!serves || !theirs || request.pair_count != 1) return MgmtReject::kRefused;
  const fabric::MgmtPair& pair = request.pairs[0];
  if (const MgmtReject wrong = check_request(link, pair, *theirs); wrong != MgmtReject::kNone) {
    return wrong;
  }
  if (far_ != nullptr) return begin_session(*far_, link, pair, *theirs, reply);
  end_session();
  const MgmtReject code = begin_session(session_, link, pair, *theirs, reply);
  if (code != MgmtReject::kNone) {
    end_session();
    return code;
  }
  link_ = &link;
  connection_ = id;
  return code;
}

// After a refusal some of the session may be there.
MgmtReject FabricEnd::begin_session(BenchSession& passive, fabric::Link& link,
                                    const fabric::MgmtPair& pair, const Handshake& theirs,
                                    fabric::Mgmt& reply) {
  BenchQueues& queues = passive.queues();
  const std::size_t queue_pairs = std::max<std::size_t>(theirs.queue_pairs.size(), 1);
  Handshake what = theirs;
  what.spans_links = (pair.flags & fabric::kPairLinks) != 0;
  if (!queues.open(what, queue_pairs, 1, clock_.now())) return MgmtReject::kNoResources;
  if (theirs.op == Op::kRead) queues.fill();
  reply.pair_count = 1;
  reply.pairs[0] = queues.describe();
  reply.pairs[0].peer_qpn = pair.qpn;
  if (!queues.connect(pair, theirs, link)) return MgmtReject::kBadParameter;
  reply_ = queues.offer().emit();
  reply.private_data = reply_;
  passive.on_connected();
  return MgmtReject::kNone;
}

bool FabricEnd::on_connected(fabric::ConnectionId, fabric::Link& link, const fabric::Mgmt& reply) {
  const auto theirs = Handshake::parse(reply.private_data);
  if (!theirs || reply.pair_count != 1) {
    session_.fail(base::Error("the reply of the peer is not understood" +
                              std::string(hint_of(MgmtReject::kRefused))));
    return false;
  }
  const auto connected = session_.queues().connect(reply.pairs[0], *theirs, link);
  if (!connected) {
    session_.fail(connected.error());
    return false;
  }
  session_.on_connected();
  return true;
}

void FabricEnd::on_rejected(fabric::ConnectionId, MgmtReject code, base::Bytes) {
  session_.fail(base::Error("the peer refuses: " + std::string(fabric::name(code)) +
                            std::string(hint_of(code))));
}

void FabricEnd::on_disconnected(fabric::ConnectionId id, std::string_view why) {
  if (id == connection_) session_.fail(base::Error("the peer is gone: " + std::string(why)));
}

}  // namespace splitnic::bench
