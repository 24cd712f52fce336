#include "tools/bench/fabric_end.h"

namespace splitnic::bench {

using fabric::MgmtReject;

namespace {

constexpr std::size_t kDepth = 1024;  // slots_for() is no more

}  // namespace

FabricEnd::FabricEnd(fabric::Underlay& underlay, const EndConfig& config, int wake_fd)
    : config_(config),
      adapter_(std::make_unique<fabric::Adapter>(fabric::AdapterLimits{}, random_)) {
  fabric::PortConfig port;
  port.eui64 = config.eui64;
  port.instance = random_.next() | 1;
  port.listens = !config.is_active;
  port.crc_head_only = config.is_shm;
  port.forget_after = {};  // each measurement uses a separate link
  port_ = adapter_->add_port(underlay, port).value();
  adapter_->connections().set_handler(*this);
  pd_ = adapter_->alloc_pd();
  send_cq_ = adapter_->create_cq(2 * kDepth).value();
  recv_cq_ = adapter_->create_cq(2 * kDepth).value();
  waiting_.add(underlay);
  wake_slot_ = waiting_.poller().add(wake_fd);
}

base::Status FabricEnd::connect(const fabric::PeerAddress& peer, const Run& run,
                                base::Duration patience) {
  Handshake what;
  what.op = run.op;
  what.goes_back_n = run.goes_back_n;
  what.bytes = static_cast<std::uint32_t>(run.bytes);
  if (auto begun = begin(what); !begun) return begun;
  port_->connect(peer, clock_.now());
  auto connected = iterate_until([this] { return is_connected_; }, patience);
  if (!connected && why_.empty()) return base::Error("no reply");
  return connected;
}

void FabricEnd::disconnect() {
  adapter_->connections().disconnect(connection_, clock_.now());
  adapter_->transmit(clock_.now());
  port_->send_bye(clock_.now());
  port_->flush(clock_.now());
}

// Memory, and a queue pair in INIT with receives posted for all that the other end may have in
// flight.
base::Status FabricEnd::begin(const Handshake& what) {
  what_ = what;
  memory_.assign(slots_for(what.bytes) * slot_stride(what.bytes), std::byte{1});
  auto handle = adapter_->memory().regions().register_region(pd_, memory_, fabric::kAccessRights);
  if (!handle) return handle.error();
  handle_ = *handle;
  start_ = adapter_->memory().start_of(handle_);
  fabric::QpInit init;
  init.common.pd = pd_;
  init.common.send_cq = send_cq_;
  init.common.recv_cq = recv_cq_;
  init.common.send_depth = kDepth + 1;
  init.common.receive_depth = kDepth;
  init.common.max_dest_rd_atomic = fabric::kReadsMax;
  init.selective_repeat = !what.goes_back_n;
  auto qpn = adapter_->create_qp(init, clock_.now());
  if (!qpn) return qpn.error();
  qpn_ = *qpn;
  if (auto prepared = adapter_->prepare_qp(qpn_); !prepared) return prepared;
  const std::size_t receives = what.op == Op::kSend ? slots_for(what.bytes) : kDepth;
  for (std::size_t i = 0; i < receives; ++i) {
    if (auto posted = post_receive(); !posted) return posted;
  }
  return {};
}

void FabricEnd::end_session() {
  if (qpn_.value != 0) adapter_->destroy_qp(qpn_, clock_.now());
  if (handle_.value != 0) static_cast<void>(adapter_->memory().regions().deregister(handle_));
  qpn_ = {};
  handle_ = {};
  connection_ = {};
  link_ = nullptr;
  is_connected_ = false;
  why_.clear();
  next_slot_ = next_receive_ = posted_ = sent_ = received_ = 0;
}

// The passive end is free for the next peer then; its state is dropped when the iteration ends.
void FabricEnd::fail(const std::string& why) {
  if (why_.empty()) why_ = why;
}

fabric::Sge FabricEnd::slot(std::size_t number) const {
  fabric::Sge piece;
  piece.address = fabric::VirtualAddress(start_.value + number * slot_stride(what_.bytes));
  piece.length = what_.bytes;
  piece.lkey = handle_;
  return piece;
}

base::Status FabricEnd::post_receive() {
  if (what_.op != Op::kSend) return adapter_->post_recv(qpn_, fabric::RecvWr{});
  const std::array<fabric::Sge, 1> scatter{slot(next_receive_)};
  next_receive_ = (next_receive_ + 1) % slots_for(what_.bytes);
  return adapter_->post_recv(qpn_, fabric::RecvWr{0, scatter});
}

void FabricEnd::post(Word word) {
  if (auto posted = try_post(word); !posted) fail(posted.error().text());
}

base::Status FabricEnd::try_post(Word word) {
  const std::array<fabric::Sge, 1> piece{slot(next_slot_)};
  fabric::SendWr wr;
  wr.gather = piece;
  if (what_.op != Op::kSend) {
    wr.op = what_.op == Op::kRead ? fabric::WrOp::kRdmaRead : fabric::WrOp::kRdmaWrite;
    wr.remote_handle = remote_handle_;
    wr.remote_address =
        fabric::VirtualAddress(remote_start_.value + next_slot_ * slot_stride(what_.bytes));
  }
  if (what_.op != Op::kRead) wr.idata = static_cast<std::uint32_t>(word);
  next_slot_ = (next_slot_ + 1) % slots_for(what_.bytes);
  ++posted_;
  return adapter_->post_send(qpn_, wr);
}

void FabricEnd::iterate() {
  now_ = clock_.now();
  // The passive end sleeps until somebody is there.
  const bool spins = config_.spins && (config_.is_active || is_connected_);
  if (!spins || adapter_->wants_write()) {
    waiting_.wait(now_, {.made_progress = made_progress_ || spins,
                         .bytes_processed = bytes_processed(),
                         .wants_write = adapter_->wants_write(),
                         .deadline = adapter_->deadline()});
    now_ = clock_.now();
    if (adapter_->wants_write() && waiting_.has_room()) adapter_->on_writable(now_);
  }
  // Replies leave together with the acknowledgements that are due.
  made_progress_ = adapter_->receive(now_);
  made_progress_ |= take_completions();
  adapter_->transmit(now_);
  if (!config_.is_active && !why_.empty()) end_session();
}

bool FabricEnd::take_completions() {
  fabric::WcBatch wcs;
  bool made_progress = false;
  for (const fabric::CqId cq : {send_cq_, recv_cq_}) {
    while (const std::size_t count = adapter_->poll_cq(cq, wcs)) {
      made_progress = true;
      for (const fabric::Wc& wc : std::span(wcs).first(count)) on_completion(wc);
    }
  }
  return made_progress;
}

// Completions of a session that is over may still come.
void FabricEnd::on_completion(const fabric::Wc& wc) {
  if (!is_connected_ || !why_.empty() || wc.qpn != qpn_) return;
  if (wc.status != fabric::WcStatus::kSuccess) {
    return fail("a " + std::string(name(what_.op)) + " ended as " + std::string(name(wc.status)));
  }
  if (wc.op != fabric::WcOp::kReceive && wc.op != fabric::WcOp::kReceiveRdmaIdata) {
    ++sent_;
    return;
  }
  ++received_;
  if (auto posted = post_receive(); !posted) return fail(posted.error().text());
  if (!config_.is_active && wc.idata == static_cast<std::uint32_t>(Word::kReply)) {
    post(Word::kCount);
  }
}

std::array<std::byte, Handshake::kBytes> FabricEnd::handshake() const {
  Handshake mine = what_;
  mine.handle = handle_.value;
  mine.start = start_.value;
  return mine.emit();
}

void FabricEnd::take(const Handshake& theirs) {
  remote_handle_ = fabric::MemoryHandle(theirs.handle);
  remote_start_ = fabric::VirtualAddress(theirs.start);
  is_connected_ = true;
}

void FabricEnd::on_link_up(fabric::Link& link) {
  if (!config_.is_active || link_ != nullptr) return;
  link_ = &link;
  const std::array<fabric::MgmtPair, 1> mine{adapter_->describe(qpn_, 0, 0)};
  connection_ = adapter_->connections().connect(link, mine, handshake(), clock_.now());
}

void FabricEnd::on_link_down(fabric::Link& link, std::string_view why) {
  if (&link == link_) fail("the peer is gone: " + std::string(why));
}

MgmtReject FabricEnd::on_connect_request(fabric::ConnectionId id, fabric::Link& link,
                                         const fabric::Mgmt& request, fabric::Mgmt& reply) {
  const auto theirs = Handshake::parse(request.private_data);
  if (config_.is_active || !theirs || request.pair_count != 1) return MgmtReject::kRefused;
  const bool goes_back_n = (request.pairs[0].flags & fabric::kPairGoBackN) != 0;
  if (goes_back_n != theirs->goes_back_n) return MgmtReject::kBadParameter;
  if (is_connected_ && &link != link_) return MgmtReject::kNoResources;
  end_session();
  if (!begin(*theirs)) return MgmtReject::kNoResources;
  link_ = &link;
  connection_ = id;
  reply.pair_count = 1;
  reply.pairs[0] = adapter_->describe(qpn_, 0, 0);
  reply.pairs[0].peer_qpn = request.pairs[0].qpn;
  if (!adapter_->connect_qp(reply.pairs[0], request.pairs[0], link)) return MgmtReject::kRefused;
  reply_ = handshake();
  reply.private_data = reply_;
  take(*theirs);
  return MgmtReject::kNone;
}

bool FabricEnd::on_connected(fabric::ConnectionId, fabric::Link& link, const fabric::Mgmt& reply) {
  const auto theirs = Handshake::parse(reply.private_data);
  if (!theirs || reply.pair_count != 1) {
    fail("the peer speaks otherwise");
    return false;
  }
  auto connected = adapter_->connect_qp(adapter_->describe(qpn_, 0, 0), reply.pairs[0], link);
  if (!connected) fail(connected.error().text());
  if (connected) take(*theirs);
  return connected.has_value();
}

void FabricEnd::on_rejected(fabric::ConnectionId, MgmtReject code, base::Bytes) {
  const std::string what(fabric::name(code));
  fail("the peer refuses: " + what +
       (code == MgmtReject::kNoResources ? ": another one measures there" : ""));
}

void FabricEnd::on_disconnected(fabric::ConnectionId id, std::string_view why) {
  if (id == connection_) fail("the peer is gone: " + std::string(why));
}

}  // namespace splitnic::bench
