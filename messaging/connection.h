// One connection between a host and an I/O unit: one channel pair per queue of the connection
// (docs/GLOSSARY.md), which is not a queue of the program. Each pair has its channels 0 and 1, its
// pools and its pool numbers [S001-27]. The first pair also carries CfgUtil for the connection.
// Frames of one flow use one pair and so stay in order; frames of different flows may
// overtake each other. The pairs share --pool: together they have the elements that a single pair
// would have, rounded up.
//
// Both sides agree on the number of pairs before the first frame: the CONNECT_REQ of the first pair
// requests a number, and the reply grants that number or fewer. If it grants fewer, the active side
// ends the connection and connects with possible(). The connection is up when every pair is, and
// down when one is; the owner then closes it, as it does a pair. docs/protocol/channels.md#queues
//
// Thread: the data thread. With one pair, the functions on the data path are that pair's, inlined.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ring.h"
#include "messaging/channel_pair.h"

namespace splitnic::messaging {

inline constexpr std::uint32_t kQueuesMax = 8;
// A queue of a connection that joins others carries nothing for this time, so that no frame
// overtakes an earlier one of its flow.
inline constexpr base::Duration kQueueSettleFor = std::chrono::milliseconds(10);

// Returns the number of pairs that the passive side grants to this CONNECT_REQ: the smaller of the
// number requested and its own maximum, and one in send mode, where each pair would need its own
// receive slots.
std::uint32_t queues_given(base::Bytes private_data, const PairConfig& config);
// Returns the configuration of each of `queues` pairs that share the memory of one.
PairConfig share_of(const PairConfig& config, std::uint32_t queues);

class Connection final : private PairOwner {
 public:
  // Uses `config.queues` pairs. The callbacks of `owner` always name the first one.
  Connection(fabric::Adapter& adapter, const PairConfig& config, base::Random& random,
             PairOwner& owner);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The pair that represents the connection: the terms, the peer's name and program, CfgUtil and
  // flushes are those of this pair.
  ChannelPair& first() { return *pairs_[0]; }
  const ChannelPair& first() const { return *pairs_[0]; }
  std::size_t queues() const { return pairs_.size(); }
  // Returns the number of queues to request next time: fewer than queues() if the peer refused
  // some.
  std::uint32_t possible() const { return possible_; }

  // Returns the service levels of queue 1, 2 and so on, as both sides know them; empty if there is
  // one queue or the active side named none.
  const std::vector<std::uint8_t>& levels() const { return levels_; }

  // Calls visitor(ChannelPair&) for each pair that exists, by queue.
  template <class Visitor>
  void for_each(Visitor&& visitor) const {
    for (const auto& pair : pairs_) {
      if (pair != nullptr) visitor(*pair);
    }
  }

  // The rest is as in ChannelPair, for all pairs.
  base::Status register_frames(base::MutableBytes arena);
  base::Status connect(fabric::Link& link, base::Time now) { return first().connect(link, now); }
  bool on_connected(fabric::ConnectionId id, fabric::Link& link, const fabric::Mgmt& reply);
  void on_rejected(fabric::ConnectionId id, fabric::MgmtReject code, base::Bytes private_data);
  void on_disconnected(fabric::ConnectionId id, std::string_view why);
  // Accepts the request for the pair that it names. If an additional pair cannot be accepted, the
  // connection ends.
  fabric::MgmtReject accept(fabric::ConnectionId id, fabric::Link& link,
                            const fabric::Mgmt& request, fabric::Mgmt& reply, base::Time now);
  bool has(fabric::ConnectionId id) const { return index_of(id) < pairs_.size(); }
  bool up() const { return ups_ == pairs_.size() && !is_down_ && first().up(); }
  void begin_close();
  bool is_drained() const;
  void close(base::Time now);

  // Pushes the frame on the pair of this flow; with one pair the flow is ignored. If this returns
  // false, the next frame waits too, whatever its flow.
  bool push(base::Bytes frame, std::uint32_t flow, base::Time now) {
    return pairs_.size() == 1 ? first().push(frame, now) : push_by_flow(frame, flow, now);
  }
  // The same on the pair of this number. REQUIRES queue < queues() and queues() > 1.
  bool push_on(std::size_t queue, base::Bytes frame, base::Time now);
  std::size_t frame_bytes_max() const;
  // Counts in the order of push() over all pairs: a push that completed waits for earlier ones on
  // other pairs.
  std::size_t take_completed() {
    return pairs_.size() == 1 ? first().take_completed() : take_completed_in_order();
  }
  std::size_t pushes_in_flight() const;
  // As ChannelPair::collect_arrived().
  void collect_arrived(base::Time now) {
    for_each([now](ChannelPair& pair) { pair.collect_arrived(now); });
  }
  std::size_t unreceived() const;
  std::size_t receive(std::span<ReceivedFrame> out) {
    return pairs_.size() == 1 ? first().receive(out) : receive_from_all(out);
  }
  void release(const ReceivedFrame& frame, base::Time now) {
    pairs_[frame.queue]->release(frame, now);
  }

  bool poll(base::Time now) { return pairs_.size() == 1 ? first().poll(now) : poll_all(now); }
  base::Time deadline() const;
  std::size_t release_idle(std::uint32_t keep);

  bool has_refused_access() const;
  std::vector<PoolView> pools() const;
  std::vector<ChannelView> channels() const;
  // Sums over the pairs.
  void visit_counters(const base::CounterVisitor& visitor) const;

 private:
  static constexpr std::size_t kPushesMax = 4096;

  base::Status make_pair(std::uint32_t queue);
  void connect_additional(base::Time now);
  fabric::MgmtReject accept_additional(const QueuesAsked& asked, fabric::ConnectionId id,
                                       fabric::Link& link, const fabric::Mgmt& request,
                                       fabric::Mgmt& reply, base::Time now);
  bool take_level(const QueuesAsked& asked);
  std::size_t index_of(fabric::ConnectionId id) const;
  bool push_by_flow(base::Bytes frame, std::uint32_t flow, base::Time now);
  std::size_t take_completed_in_order();
  std::size_t receive_from_all(std::span<ReceivedFrame> out);
  bool poll_all(base::Time now);
  void fail(const std::string& why);
  // PairOwner, of the pairs
  void on_pair_up(ChannelPair& pair) override;
  void on_pair_down(ChannelPair& pair, const std::string& why) override;
  CfgReply on_cfg_request(ChannelPair& pair, const CfgRequest& request) override;

  fabric::Adapter& adapter_;
  const PairConfig config_;  // of one pair
  std::vector<std::uint8_t> levels_;
  base::Random& random_;
  PairOwner& owner_;
  base::MutableBytes frames_;
  std::vector<std::unique_ptr<ChannelPair>> pairs_;  // by queue; null: not started yet
  fabric::Link* link_ = nullptr;  // active side: the additional pairs are to be connected over it
  std::uint32_t possible_;
  std::size_t ups_ = 0;
  bool is_down_ = false;
  std::size_t next_ = 0;  // pair from which receive() takes frames first
  // The pair of each push in flight, oldest first; and per pair, the number of completed pushes
  // behind one in flight.
  base::Ring<std::uint8_t> order_;
  std::array<std::size_t, kQueuesMax> completed_{};
};

}  // namespace splitnic::messaging
