#include "tests/bench/fabric/fabric_end.h"

#include <unistd.h>

#include "fabric_emul/link/shm_underlay.h"
#include "fabric_emul/link/udp_underlay.h"

namespace splitnic::bench {

using fabric::MgmtReject;

namespace {

constexpr std::size_t kDepth = 1024;  // slots_for() is no more

void check(const base::Status& status) {
  if (!status) fail(status.error().text());
}
template <class T>
T value_of(base::Result<T> result) {
  if (!result) fail(result.error().text());
  return std::move(*result);
}

}  // namespace

std::string_view name(Op op) {
  constexpr std::array<std::string_view, 4> kNames = {"write", "send", "read", "mmsg"};
  return kNames[static_cast<std::size_t>(op)];
}

FabricEnd::FabricEnd(const Ends& ends, const Run& run, Control& control, bool is_active)
    : run_(run),
      control_(control),
      is_active_(is_active),
      memory_(slots_for(run.bytes) * slot_stride(run.bytes), std::byte{1}) {
  Greeting theirs{};
  if (is_active_) theirs = control_.hear_value<Greeting>();
  open_underlay(ends, theirs);
  open_adapter();
  Greeting mine{handle_.value, start_.value, {}};
  address_.copy(mine.address.data(), mine.address.size() - 1);
  control_.tell_value(mine);
  if (!is_active_) theirs = control_.hear_value<Greeting>();
  remote_handle_ = fabric::MemoryHandle(theirs.handle);
  remote_start_ = fabric::VirtualAddress(theirs.start);
  fabric_slot_ = poller_.add(underlay_->fd());
  control_slot_ = poller_.add(control_.fd());
  if (is_active_) port_->connect(peer_, clock_.now());
  turn_until([this] { return is_connected_; });
  if (!is_active_) lose();
}

void FabricEnd::open_underlay(const Ends& ends, const Greeting& theirs) {
  if (run_.is_shm) {
    fabric::ShmConfig shm;
    address_ = is_active_ ? theirs.address.data() : "bench-" + std::to_string(::getpid());
    shm.name = address_;
    shm.listens = !is_active_;
    underlay_ = value_of(fabric::ShmUnderlay::open(shm));
    peer_ = fabric::ShmUnderlay::listener_address();
    return;
  }
  fabric::UdpConfig udp;
  (is_active_ ? udp.connect : udp.bind) = is_active_ ? theirs.address.data() : ends.address + ":0";
  auto opened = value_of(fabric::UdpUnderlay::open(udp));
  if (is_active_) {
    peer_ = opened->connected_to();
  } else {
    address_ = opened->name_of(opened->local_address());
  }
  underlay_ = std::move(opened);
}

void FabricEnd::open_adapter() {
  faults_.emplace(*underlay_, random_, clock_);
  const bool has_faults = !is_active_ && run_.loss_percent > 0;
  fabric::Underlay& below = has_faults ? static_cast<fabric::Underlay&>(*faults_) : *underlay_;
  adapter_ = std::make_unique<fabric::Adapter>(fabric::AdapterLimits{}, random_);
  fabric::PortConfig config;
  config.eui64 = fabric::Eui64(is_active_ ? 0x0200000000000001ULL : 0x0200000000000002ULL);
  config.instance = random_.next() | 1;
  config.listens = !is_active_;
  config.crc_head_only = run_.is_shm;
  port_ = value_of(adapter_->add_port(below, config));
  adapter_->connections().set_handler(*this);
  pd_ = adapter_->alloc_pd();
  send_cq_ = value_of(adapter_->create_cq(2 * kDepth));
  recv_cq_ = value_of(adapter_->create_cq(2 * kDepth));
  handle_ = value_of(adapter_->memory().register_region(pd_, memory_, fabric::kAccessRights));
  start_ = adapter_->memory().start_of(handle_);
}

// From now on; the set-up is not what is measured.
void FabricEnd::lose() {
  fabric::FaultConfig faults;
  faults.loss_ppm = static_cast<std::uint32_t>(run_.loss_percent * 10'000);
  faults_->set_config(faults);
}

// In INIT, with receives posted for all that the other end may have under way.
fabric::Qpn FabricEnd::make_qp() {
  fabric::QpInit init;
  init.pd = pd_;
  init.send_cq = send_cq_;
  init.recv_cq = recv_cq_;
  init.send_depth = kDepth + 1;
  init.receive_depth = kDepth;
  init.reads_taken = fabric::kReadsMax;
  init.selective_repeat = !run_.goes_back_n;
  qpn_ = value_of(adapter_->create_qp(init, clock_.now()));
  check(adapter_->prepare_qp(qpn_));
  const std::size_t receives = run_.op == Op::kSend ? slots_for(run_.bytes) : kDepth;
  for (std::size_t i = 0; i < receives; ++i) post_receive();
  return qpn_;
}

fabric::Sge FabricEnd::slot(std::size_t number) const {
  fabric::Sge piece;
  piece.address = fabric::VirtualAddress(start_.value + number * slot_stride(run_.bytes));
  piece.length = static_cast<std::uint32_t>(run_.bytes);
  piece.lkey = handle_;
  return piece;
}

void FabricEnd::post_receive() {
  if (run_.op != Op::kSend) return check(adapter_->post_recv(qpn_, fabric::RecvWr{}));
  const std::array<fabric::Sge, 1> scatter{slot(next_receive_)};
  next_receive_ = (next_receive_ + 1) % slots_for(run_.bytes);
  check(adapter_->post_recv(qpn_, fabric::RecvWr{0, scatter}));
}

void FabricEnd::post(Word word) {
  const std::array<fabric::Sge, 1> piece{slot(next_slot_)};
  fabric::SendWr wr;
  wr.gather = piece;
  if (run_.op != Op::kSend) {
    wr.op = run_.op == Op::kRead ? fabric::WrOp::kRdmaRead : fabric::WrOp::kRdmaWrite;
    wr.remote_handle = remote_handle_;
    wr.remote_address =
        fabric::VirtualAddress(remote_start_.value + next_slot_ * slot_stride(run_.bytes));
  }
  if (run_.op != Op::kRead) wr.idata = static_cast<std::uint32_t>(word);
  next_slot_ = (next_slot_ + 1) % slots_for(run_.bytes);
  check(adapter_->post_send(qpn_, wr));
  ++posted_;
}

bool FabricEnd::turn() {
  now_ = clock_.now();
  if (!run_.spins || adapter_->wants_write()) {
    poller_.want(fabric_slot_, true, adapter_->wants_write());
    poller_.wait(now_, adapter_->deadline(), did_ || run_.spins);
    now_ = clock_.now();
    // A shm wire tells of room as input.
    if (adapter_->wants_write() &&
        (poller_.writable(fabric_slot_) || poller_.readable(fabric_slot_))) {
      adapter_->on_writable(now_);
    }
  }
  did_ = adapter_->poll(now_);
  if (take_completions()) {
    did_ = true;
    adapter_->transmit(now_);
  }
  return did_;
}

bool FabricEnd::take_completions() {
  std::array<fabric::Wc, 64> wcs;
  bool did = false;
  for (const fabric::CqId cq : {send_cq_, recv_cq_}) {
    while (const std::size_t count = adapter_->poll_cq(cq, wcs)) {
      did = true;
      for (const fabric::Wc& wc : std::span(wcs).first(count)) on_completion(wc);
    }
  }
  return did;
}

void FabricEnd::on_completion(const fabric::Wc& wc) {
  if (wc.status != fabric::WcStatus::kSuccess) {
    fail("a " + std::string(name(run_.op)) + " ended as " + std::string(name(wc.status)));
  }
  if (wc.op != fabric::WcOp::kReceive && wc.op != fabric::WcOp::kReceiveRdmaIdata) {
    ++sent_;
    return;
  }
  ++received_;
  post_receive();
  if (!is_active_ && wc.idata == static_cast<std::uint32_t>(Word::kAnswer)) post(Word::kCount);
}

void FabricEnd::on_link_up(fabric::Link& link) {
  if (!is_active_ || qpn_.value != 0) return;
  const std::array<fabric::MgmtPair, 1> mine{adapter_->describe(make_qp(), 0, 0)};
  adapter_->connections().connect(link, mine, {}, clock_.now());
}

MgmtReject FabricEnd::on_connect_request(fabric::ConnectionId, fabric::Link& link,
                                         const fabric::Mgmt& request, fabric::Mgmt& reply) {
  if (qpn_.value != 0 || request.pair_count != 1) return MgmtReject::kRefused;
  const bool goes_back_n = (request.pairs[0].flags & fabric::kPairGoBackN) != 0;
  if (goes_back_n != run_.goes_back_n) return MgmtReject::kBadParameter;
  reply.pair_count = 1;
  reply.pairs[0] = adapter_->describe(make_qp(), 0, 0);
  reply.pairs[0].peer_qpn = request.pairs[0].qpn;
  check(adapter_->connect_qp(reply.pairs[0], request.pairs[0], link));
  is_connected_ = true;
  return MgmtReject::kNone;
}

bool FabricEnd::on_connected(fabric::ConnectionId, fabric::Link& link, const fabric::Mgmt& reply) {
  check(adapter_->connect_qp(adapter_->describe(qpn_, 0, 0), reply.pairs[0], link));
  is_connected_ = true;
  return true;
}

void FabricEnd::on_rejected(fabric::ConnectionId, MgmtReject code, base::Bytes) {
  fail("the connection was refused: " + std::string(fabric::name(code)));
}

}  // namespace splitnic::bench
