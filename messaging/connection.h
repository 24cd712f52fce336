// The channel pairs of one connection between a host and an I/O unit: one a queue, each with its
// channels 0 and 1, its pools and its pool numbers [S001-27]. The first carries CfgUtil for all.
// Frames of one flow go by one pair and so stay in order; frames of different flows may overtake
// each other. --pool is shared: the pairs together have as many elements as one alone would have
// (a few more, rounded up).
//
// How many there are is agreed before the first frame: the first pair's CONNECT_REQ names the
// number, the answer gives the same or less. If it is less, the active side ends the connection
// and begins again with possible(). The group is up when every pair is, and down when one is: then
// the owner closes it, as it does a pair. docs/wire/message.md#queues
//
// Thread: the data thread. With one pair, all here is that pair.
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

// How many pairs the passive side gives for this CONNECT_REQ: the smaller of what is asked and what
// it has. One in send mode, where each would need receive slots of its own.
std::uint32_t queues_given(base::Bytes private_data, const PairConfig& config);
// What each of so many pairs has of the memory that one alone would have.
PairConfig share_of(const PairConfig& config, std::uint32_t queues);

class Connection final : private PairOwner {
 public:
  // `config.queues` pairs. The callbacks of `owner` name the first one, whichever they are about.
  Connection(fabric::Adapter& adapter, const PairConfig& config, base::Random& random,
             PairOwner& owner);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  ChannelPair& first() { return *pairs_[0]; }
  const ChannelPair& first() const { return *pairs_[0]; }
  std::size_t queues() const { return pairs_.size(); }
  // What the next try is to ask for: less than queues() if the peer has said so.
  std::uint32_t possible() const { return possible_; }

  // As in ChannelPair, of all pairs.
  base::Status register_frames(base::MutableBytes arena);
  base::Status connect(fabric::Link& link, base::Time now);
  bool on_connected(fabric::ConnectionId id, fabric::Link& link, const fabric::Mgmt& reply,
                    base::Time now);
  void on_rejected(fabric::ConnectionId id, fabric::MgmtReject code, base::Bytes private_data);
  void on_disconnected(fabric::ConnectionId id, std::string_view why);
  // Whichever pair the request is for. A further one that cannot be taken ends the group.
  fabric::MgmtReject accept(fabric::ConnectionId id, fabric::Link& link,
                            const fabric::Mgmt& request, fabric::Mgmt& reply, base::Time now);
  bool has(fabric::ConnectionId id) const { return index_of(id) < pairs_.size(); }
  fabric::ConnectionId connection() const { return first().connection(); }
  void begin_close();
  bool is_drained() const;
  void close(base::Time now);
  bool up() const { return ups_ == pairs_.size() && !is_down_ && first().up(); }

  // By the pair of this flow. False as ChannelPair::push(): the next frame waits too, whatever its
  // flow. With one pair the flow does not matter.
  bool push(base::Bytes frame, std::uint32_t flow, base::Time now) {
    if (pairs_.size() == 1) return first().push(frame, now);
    return push_by_flow(frame, flow, now);
  }
  std::size_t frame_bytes_max() const;
  // In the order of push(), over all pairs: what one of them has completed waits for what was
  // pushed before by another.
  std::size_t take_completed();
  std::size_t pushes_in_flight() const;
  std::size_t unreceived() const;
  std::size_t receive(std::span<ReceivedFrame> out);
  void release(const ReceivedFrame& frame, base::Time now) {
    pairs_[frame.queue]->release(frame, now);
  }

  base::Status request(CfgCode code, const std::string& data, base::Time now, CfgDone done) {
    return first().request(code, data, now, std::move(done));
  }
  bool poll(base::Time now);
  base::Time deadline() const;
  std::size_t give_back_idle(std::uint32_t keep);

  const std::string& peer_name() const { return first().peer_name(); }
  Mode mode() const { return first().mode(); }
  std::uint16_t cell_payload_max() const { return first().cell_payload_max(); }
  bool has_refused_access() const;
  std::vector<PoolView> pools() const;
  std::vector<ChannelView> channels() const;
  std::vector<base::MutableBytes> TEST_pool_memory();
  void TEST_send(base::Bytes message) { first().TEST_send(message); }
  // Sums over the pairs.
  void visit_counters(const base::CounterVisitor& visitor) const;

 private:
  static constexpr std::size_t kPushesMax = 4096;

  base::Status make_pair(std::uint32_t queue);
  void connect_further(base::Time now);
  fabric::MgmtReject accept_further(const QueuesAsked& asked, fabric::ConnectionId id,
                                    fabric::Link& link, const fabric::Mgmt& request,
                                    fabric::Mgmt& reply, base::Time now);
  std::size_t index_of(fabric::ConnectionId id) const;
  bool push_by_flow(base::Bytes frame, std::uint32_t flow, base::Time now);
  void fail(const std::string& why);
  // PairOwner, of the pairs
  void on_pair_up(ChannelPair& pair) override;
  void on_pair_down(ChannelPair& pair, const std::string& why) override;
  CfgReply on_cfg_request(ChannelPair& pair, const CfgRequest& request) override;

  fabric::Adapter& adapter_;
  const PairConfig config_;  // of one pair
  base::Random& random_;
  PairOwner& owner_;
  base::MutableBytes frames_;
  std::vector<std::unique_ptr<ChannelPair>> pairs_;  // by queue; null: not begun yet
  fabric::Link* link_ = nullptr;                     // active side: the further ones are due on it
  std::uint32_t possible_;
  std::size_t ups_ = 0;
  bool is_down_ = false;
  std::size_t next_ = 0;  // whose frames are received first
  // Whose pushes are open, oldest first; and how many of each have completed behind an open one.
  base::Ring<std::uint8_t> order_;
  std::array<std::size_t, kQueuesMax> completed_{};
};

}  // namespace splitnic::messaging
