// A host that obeys nothing above the cells: an adapter that connects as hosts do, with the
// capabilities of a host, and then sends any message on channel 0 and any RDMA write on channel 1.
// It learns the pools of the other side from their BufferRecvPool, and advertises one,
// so that the other side may push. All that it receives it takes and forgets. What it sends comes
// from lies.h, or from its user.
//
//   LyingPeer peer(endpoint, {.eui64 = fabric::Eui64(0x30)}, random);
//   peer.join(unit_address, now);                       // the link
//   peer.connect(now);                                  // once peer.has_link()
//   peer.send(0, message); peer.write(...);             // once peer.is_connected()
//   peer.step(now);                                     // in each iteration
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "fabric_emul/verbs/adapter.h"
#include "messaging/capabilities.h"
#include "messaging/wire/buffer_recv_pool.h"

namespace splitnic::support {

struct LyingPeerConfig {
  fabric::Eui64 eui64;
  fabric::LinkProfile profile = fabric::LinkProfile::kSpeed;
  std::uint16_t cell_bytes = 0;
  messaging::PairConfig pair{};      // its capabilities
  std::size_t message_bytes = 4096;  // of the longest that it sends or takes
};

class LyingPeer final : private fabric::ConnectionHandler {
 public:
  LyingPeer(fabric::Underlay& underlay, const LyingPeerConfig& config, base::Random& random)
      : adapter(fabric::AdapterLimits{.qps = 64}, random), config_(config) {
    fabric::PortConfig port;
    port.eui64 = config.eui64;
    port.instance = random.next() | 1;
    port.profile = config.profile;
    port.mcp_wanted = config.cell_bytes;
    port_ = adapter.add_port(underlay, port).value();
    adapter.connections().set_handler(*this);
    cq_ = adapter.create_cq(4096).value();
  }

  // Begins the link to this address.
  void join(const fabric::PeerAddress& to, base::Time now) { port_->connect(to, now); }
  bool has_link() const { return link_ != nullptr && link_->up(); }
  // Sends CONNECT_REQ, in place of the connection before. REQUIRES a link that was up.
  void connect(base::Time now) {
    forget(now);
    make_queue_pairs(now);
    capabilities_ = messaging::encode_capabilities(config_.pair, config_.pair.mode);
    const std::array pairs{adapter.describe(qpns_[0], 0, message_max()),
                           adapter.describe(qpns_[1], 1, is_rdma() ? 0 : message_max())};
    id_ = adapter.connections().connect(*link_, pairs, base::as_bytes(capabilities_), now);
  }
  bool is_connected() const { return is_connected_; }
  // Refused, or ended by either side.
  bool has_ended() const { return has_ended_; }
  std::uint64_t connections() const { return connections_; }

  // Sends these bytes as they are. Returns false if the queue is full.
  bool send(unsigned channel, base::Bytes message) {
    fabric::SendWr wr;
    return post(channel, message, wr);
  }
  // One RDMA write on channel 1.
  bool write(fabric::MemoryHandle handle, fabric::VirtualAddress to, base::Bytes bytes,
             std::optional<std::uint32_t> idata) {
    fabric::SendWr wr;
    wr.op = fabric::WrOp::kRdmaWrite;
    wr.remote_handle = handle;
    wr.remote_address = to;
    wr.idata = idata;
    return post(1, bytes, wr);
  }
  // Offers our pool to the other side.
  void advertise() {
    const messaging::PoolRecord record{
        messaging::PoolRef(0), kPoolElements, kElementBytes, window_, start_of(pool_), 0};
    std::array<std::byte, messaging::BufferRecvPool::bytes(1)> message;
    messaging::BufferRecvPool::emit(messaging::kUnsolicited, std::span(&record, 1), message);
    static_cast<void>(send(0, message));
  }

  bool step(base::Time now) {
    bool made_progress = adapter.receive(now);
    std::array<fabric::Wc, 64> wcs;
    while (const std::size_t count = adapter.poll_cq(cq_, wcs)) {
      made_progress = true;
      for (std::size_t i = 0; i < count; ++i) take(wcs[i]);
    }
    adapter.transmit(now);
    return made_progress;
  }
  base::Time deadline() const { return adapter.deadline(); }
  // Ends silently, as a killed process does.
  void forget(base::Time now) {
    if (!has_queue_pairs_) return;
    adapter.connections().disconnect(id_, now);
    for (const fabric::Qpn qpn : qpns_) adapter.destroy_qp(qpn, now);
    adapter.free_pd(pd_);
    has_queue_pairs_ = is_connected_ = has_ended_ = false;
    std::array<fabric::Wc, 64> wcs;
    while (adapter.poll_cq(cq_, wcs) > 0) {
    }
  }
  fabric::Qpn qpn(unsigned channel) const { return qpns_[channel]; }
  fabric::Link* link() { return link_; }

  fabric::Adapter adapter;
  std::vector<messaging::PoolRecord> pools;  // of the other side, the newest 64

 private:
  static constexpr std::size_t kSlots = 32;  // sends and receives of a channel
  static constexpr std::uint32_t kPoolElements = 8;
  static constexpr std::uint32_t kElementBytes = 2048;
  static constexpr std::size_t kPoolsKept = 64;

  bool is_rdma() const { return config_.pair.mode == messaging::Mode::kRdma; }
  std::uint32_t message_max() const { return static_cast<std::uint32_t>(config_.message_bytes); }
  fabric::VirtualAddress start_of(fabric::MemoryHandle handle) {
    return adapter.memory().start_of(handle);
  }
  fabric::Sge slot_of(fabric::MemoryHandle region, std::size_t slot, std::size_t bytes) {
    return {fabric::VirtualAddress(start_of(region).value + slot * config_.message_bytes),
            static_cast<std::uint32_t>(bytes), region};
  }
  void make_queue_pairs(base::Time now) {
    has_queue_pairs_ = true;
    pools.clear();
    pd_ = adapter.alloc_pd();
    const auto region = [&](std::vector<std::byte>& memory, std::size_t bytes, unsigned rights) {
      memory.resize(bytes);
      return adapter.memory()
          .regions()
          .register_region(pd_, memory, static_cast<std::uint8_t>(rights))
          .value();
    };
    sends_ = region(send_memory_, kSlots * config_.message_bytes, fabric::kLocalRead);
    receives_ = region(receive_memory_, 2 * kSlots * config_.message_bytes,
                       fabric::kLocalRead | fabric::kLocalWrite);
    pool_ = region(pool_memory_, kPoolElements * kElementBytes,
                   fabric::kLocalRead | fabric::kWindowBind);
    for (unsigned channel = 0; channel < 2; ++channel) {
      fabric::QpInit init;
      init.service = is_rdma() ? fabric::Service::kRc : fabric::Service::kUc;
      init.common.pd = pd_;
      init.common.send_cq = init.common.recv_cq = cq_;
      init.common.send_depth = init.common.receive_depth = kSlots;
      qpns_[channel] = adapter.create_qp(init, now).value();
      CHECK(adapter.prepare_qp(qpns_[channel]).has_value());
      for (std::size_t slot = 0; slot < kSlots; ++slot) post_receive(channel, slot);
    }
    window_ = adapter.memory()
                  .windows()
                  .bind_window(pd_, pool_, start_of(pool_), pool_memory_.size(),
                               fabric::kRemoteWrite, qpns_[1])
                  .value();
  }
  void post_receive(unsigned channel, std::size_t slot) {
    const fabric::Sge piece = slot_of(receives_, channel * kSlots + slot, config_.message_bytes);
    static_cast<void>(adapter.post_recv(
        qpns_[channel], {.wr_id = channel * kSlots + slot, .scatter = {&piece, 1}}));
  }
  bool post(unsigned channel, base::Bytes bytes, fabric::SendWr& wr) {
    CHECK(bytes.size() <= config_.message_bytes);
    if (!is_connected_) return false;
    const std::size_t slot = next_slot_++ % kSlots;
    const fabric::Sge piece = slot_of(sends_, slot, bytes.size());
    std::ranges::copy(
        bytes, send_memory_.begin() + static_cast<std::ptrdiff_t>(slot * config_.message_bytes));
    wr.wr_id = kSendBit;
    wr.gather = {&piece, 1};
    return adapter.post_send(qpns_[channel], wr).has_value();
  }
  void take(const fabric::Wc& wc) {
    if (!has_queue_pairs_ || (wc.qpn != qpns_[0] && wc.qpn != qpns_[1])) return;
    if (wc.status != fabric::WcStatus::kSuccess) {
      has_ended_ = true;
      is_connected_ = false;
      return;
    }
    if (wc.wr_id == kSendBit) return;
    const auto slot = static_cast<std::size_t>(wc.wr_id);
    if (wc.qpn == qpns_[0]) {
      learn(base::Bytes(receive_memory_).subspan(slot * config_.message_bytes, wc.bytes));
    }
    post_receive(static_cast<unsigned>(slot / kSlots), slot % kSlots);
  }
  void learn(base::Bytes message) {
    const auto advertised = messaging::BufferRecvPool::parse(message);
    if (!advertised) return;
    for (std::size_t i = 0; i < advertised->size(); ++i) {
      if (pools.size() == kPoolsKept) pools.erase(pools.begin());
      pools.push_back((*advertised)[i]);
    }
  }

  void on_link_up(fabric::Link& link) override { link_ = &link; }
  void on_link_down(fabric::Link&, std::string_view) override {}
  bool on_connected(fabric::ConnectionId id, fabric::Link& over,
                    const fabric::Mgmt& reply) override {
    if (id != id_ || !has_queue_pairs_) return false;
    for (const fabric::MgmtPair& theirs : reply.used_pairs()) {
      if (theirs.channel > 1) return false;
      const auto mine = adapter.describe(qpns_[theirs.channel], theirs.channel, message_max());
      if (!adapter.connect_qp(mine, theirs, over)) return false;
    }
    ++connections_;
    is_connected_ = true;
    if (is_rdma()) advertise();
    return true;
  }
  void on_rejected(fabric::ConnectionId id, fabric::MgmtReject, base::Bytes) override {
    if (id == id_) has_ended_ = true;
  }
  void on_disconnected(fabric::ConnectionId id, std::string_view) override {
    if (id != id_) return;
    has_ended_ = true;
    is_connected_ = false;
  }

  static constexpr std::uint64_t kSendBit = 1U << 16;

  const LyingPeerConfig config_;
  fabric::Port* port_ = nullptr;
  fabric::Link* link_ = nullptr;
  fabric::CqId cq_;
  fabric::PdId pd_;
  std::array<fabric::Qpn, 2> qpns_;
  fabric::ConnectionId id_;
  std::string capabilities_;
  bool has_queue_pairs_ = false, is_connected_ = false, has_ended_ = false;
  std::uint64_t connections_ = 0;
  std::vector<std::byte> send_memory_, receive_memory_, pool_memory_;
  fabric::MemoryHandle sends_, receives_, pool_, window_;
  std::size_t next_slot_ = 0;
};

}  // namespace splitnic::support
