// Channel 0 (control) and channel 1 (data) between a host and an I/O unit, and everything that
// lives on them: pools both ways, pushes, messages, CfgUtil. The same class on both sides: each is
// initiator for one direction and target for the other [S001-07].
//
//   rdma mode: RC + RC; Sends only on channel 0, RDMA writes with idata only on channel 1
//   [S001-27]; frames up to the threshold go as SendData on channel 0 [S001-05]. A frame waits
//   until earlier ones on another way have completed, so a direction keeps its order. send mode: UC
//   + UC; SendData on channel 1, no pools [S001-26]. Loss is tolerated: what finds no slot is
//   dropped and counted.
//
// Thread: the data thread. Nothing here sleeps or does I/O; poll() is called once a turn after
// Adapter::poll. A failed completion, a protocol error that cannot be repaired, eight errors of the
// peer within a minute, or the peer's DISC takes the pair DOWN; the owner then closes this object
// and makes another. What was pushed and not completed is then lost.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "base/status.h"
#include "fabric_emul/verbs/adapter.h"
#include "messaging/pools/pool_spec.h"
#include "messaging/wire/cfg_util.h"
#include "messaging/wire/idata.h"

namespace splitnic::messaging {

enum class Mode : std::uint8_t { kRdma, kSend };

struct PairConfig {
  Mode mode = Mode::kRdma;        // that the active side asks for
  bool follows_peer_mode = true;  // passive side: either mode; false: only `mode`
  std::vector<PoolSpec> pools{kDefaultPools.begin(),
                              kDefaultPools.end()};  // > 256 elements: several pools
  std::uint32_t send_threshold = 0;  // rdma mode: frames up to this go as SendData on channel 0
  std::uint32_t control_message_max = 4096;  // 256..65536; the smaller of both sides holds
  std::uint32_t data_message_max = 65536;    // send mode
  // How the peer indicates writes into our pools; none: by message only. Form B needs exactly one
  // pool of at most 4 MiB, its element size a multiple of 64.
  std::optional<IdataForm> idata_form = IdataForm::kPoolElement;
  // For pools made because the peer asked for more (BufferRecvPoolGet); 0: never.
  std::uint32_t grant_bytes_max = 4 << 20;
  std::string node_name{};
  std::uint32_t nic = 0;  // active side: which NIC of the I/O unit
  // Pairs of this connection, and which of them this one is (connection.h). Passive side, before a
  // CONNECT_REQ has come: the most that are given.
  std::uint32_t queues = 1;
  std::uint32_t queue = 0;
  std::uint64_t window_bytes_max = 2 << 20;
};

// CfgUtil, as the modules see it: a code and the serialised message of
// messaging/cfgutil/cfgutil.proto.
struct CfgRequest {
  CfgCode code{};
  base::Bytes data;
};
struct CfgReply {
  CfgStatus status = CfgStatus::kOk;
  std::string data;
  bool replied = true;  // false: no answer after three tries, or the pair went down
};
using CfgDone = std::function<void(const CfgReply&)>;

// A frame in a pool element or in the slot of a SendData: [virtio-net header][Ethernet frame].
// Stays valid until release(); the peer is not to write to it meanwhile, but could.
struct ReceivedFrame {
  enum class Where : std::uint8_t { kElement, kControlSlot, kDataSlot };
  base::MutableBytes bytes;
  std::uint32_t pool = 0;
  std::uint32_t element = 0;  // or the slot
  std::uint32_t elements = 1;
  Where where = Where::kElement;
  std::uint8_t queue = 0;  // whose pair it came by
};

class ChannelPair;

// Which NIC a CONNECT_REQ with this private data asks for; 0 if it does not say. The rest of it is
// judged by accept().
std::uint32_t nic_asked(base::Bytes private_data);
// How many pairs it asks for, and which of them it is for; 1 and 0 if it does not say.
struct QueuesAsked {
  std::uint32_t queues = 1;
  std::uint32_t queue = 0;
  bool is_send_mode = false;
};
QueuesAsked queues_asked(base::Bytes private_data);
// Why a pair of this configuration would refuse a CONNECT_REQ with this private data; empty: it
// would not. Costs nothing but the reading: for the passive side, before it builds a pair.
std::string capabilities_refused(base::Bytes private_data, const PairConfig& config);

class PairOwner {
 public:
  virtual ~PairOwner() = default;
  virtual void on_pair_up(ChannelPair& pair) = 0;  // peer's pools are known, push may begin
  virtual void on_pair_down(ChannelPair& pair,
                            const std::string& why) = 0;  // once; do not destroy the pair inside
  virtual CfgReply on_cfg_request(ChannelPair& pair, const CfgRequest& request) = 0;
};

struct PoolView {  // for `splitnic show`
  std::uint32_t ref = 0, elements = 0, size = 0, available = 0;
  bool ours = false;  // true: our receive pool (available = posted); false: the peer's (available
                      // to push into)
  std::uint32_t in_use = 0;  // ours: held by the reader; the peer's: being written
  fabric::MemoryHandle handle;
  fabric::VirtualAddress address;
  std::uint32_t queue = 0;
};

struct ChannelView {  // for `splitnic show`
  std::uint8_t number = 0;
  fabric::Qpn qpn, peer_qpn;
  std::string_view service, state;  // "RC", "RTS"
  std::uint32_t queue = 0;
};

class ChannelPair {
 public:
  ChannelPair(fabric::Adapter& adapter, const PairConfig& config, base::Random& random,
              PairOwner& owner);
  ~ChannelPair();
  ChannelPair(const ChannelPair&) = delete;
  ChannelPair& operator=(const ChannelPair&) = delete;

  // Memory that push() may name: registered for local read in this pair's protection domain. Call
  // before connect() or accept(); the arena must outlive the pair.
  base::Status register_frames(base::MutableBytes arena);

  // Active side: queue pairs are made and CONNECT_REQ is sent over a link that is up.
  base::Status connect(fabric::Link& link, base::Time now);
  // The answers, forwarded by the module's ConnectionHandler.
  bool on_connected(fabric::Link& link, const fabric::Mgmt& reply, base::Time now);
  void on_rejected(fabric::MgmtReject code, base::Bytes private_data);
  void on_disconnected(std::string_view why);
  // Passive side: fills the reply, or says why not (mode or version that we do not speak:
  // kRefused).
  fabric::MgmtReject accept(fabric::ConnectionId id, fabric::Link& link,
                            const fabric::Mgmt& request, fabric::Mgmt& reply, base::Time now);
  fabric::ConnectionId connection() const;
  // Begins an orderly end: nothing more is pushed, pools of both sides are flushed [S001-16]. Go on
  // calling poll() until is_drained(), for 200 ms or so at the most; then close().
  void begin_close();
  bool is_drained() const;
  // Disconnects and releases everything, at once. on_pair_down is not called.
  void close(base::Time now);
  bool up() const;
  // Ends pools while the connection goes on: ours, or the peer's [S001-16] [S001-17].
  void flush(std::span<const std::uint32_t> pool_refs, bool ours);

  // Pushes one frame that lies in registered memory; false: no element, credit or queue room now,
  // or an earlier frame has to complete first (nothing was taken, pool.wait is counted once a
  // wait). A frame longer than frame_bytes_max() is never taken: check before.
  bool push(base::Bytes frame, base::Time now);
  std::size_t frame_bytes_max() const;
  // Pushes that completed since the last call, in the order of push(): their memory may be reused.
  std::size_t take_completed();
  std::size_t pushes_in_flight() const;

  // Frames that arrived and were not received yet, until close().
  std::size_t unreceived() const;
  // Frames that arrived, oldest first, at most out.size(); release() each once it was taken out of
  // its element.
  std::size_t receive(std::span<ReceivedFrame> out);
  void release(const ReceivedFrame& frame, base::Time now);

  // CfgUtil request to the peer; `done` is called once, from poll(). Refused if 8 are open or the
  // pair is down.
  base::Status request(CfgCode code, const std::string& data, base::Time now, CfgDone done);

  // Takes completions, handles messages, returns elements in batches, repeats what was not
  // answered. True if anything was done.
  bool poll(base::Time now);
  base::Time deadline() const;

  // The connection is idle: memory of our pools goes back to the machine, but for `keep` elements a
  // pool. Nothing changes for the peer, whose next write takes it again. Says how many bytes.
  std::size_t give_back_idle(std::uint32_t keep);

  const std::string& peer_name() const;  // node name from CONNECT
  std::uint32_t peer_queues() const;     // active side: how many pairs the answer gives
  Mode mode() const;
  fabric::Qpn qpn(unsigned channel) const;
  // Cell payload of channel 1, bytes; 0 before it is connected.
  std::uint16_t cell_payload_max() const;
  // The peer reached for memory that it was not given; the pair ends by it.
  bool has_refused_access() const;
  std::vector<PoolView> pools() const;
  std::vector<ChannelView> channels() const;
  // The memory of our own pools, for checkers of what the peer writes.
  std::vector<base::MutableBytes> TEST_pool_memory();
  // Sends these bytes as they are on channel 0: what a peer with a fault would send.
  void TEST_send(base::Bytes message);
  void visit_counters(const base::CounterVisitor& visitor) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace splitnic::messaging
