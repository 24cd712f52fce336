// One end of a link as the suite plays it, host or I/O unit: it has the numbers that a correct end
// would have, builds any INIT, cell and message from them, right or wrong, and takes what arrives
// apart into events. It has no state machine: what is sent and when, the case decides. Only what
// every end must do at once happens unasked: IDLE, and ACKs, replies to probes, to CfgUtil
// requests, to flushes, and to DISC, which a case may switch off. What arrives is checked for the
// rules of every flit and cell. After the first expectation that is not met nothing is sent or
// awaited any more, so a case needs no branch for that. Thread: one owner. end_link.cc: INIT,
// lanes; end_connection.cc: MGMT; end_send.cc: cells; end_wait.cc: waiting; end_receive.cc: what
// arrives; end_rules.cc: what holds for all of it. What needs only the functions here is apart:
// cells.h, messages.h, pools.h, expectations.h.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "conformance/event.h"
#include "conformance/inbox.h"
#include "conformance/line.h"
#include "conformance/outcome.h"
#include "messaging/wire/buffer_recv_pool.h"

namespace splitnic::conformance {

inline constexpr std::uint64_t kFeatureVnet = 1U << 6;  // of INIT_NIC

struct EndConfig {
  fabric::Eui64 eui64;
  std::uint64_t instance = 1;
  std::uint64_t process = 0;  // what two processes never share differs by it
  fabric::LinkProfile profile = fabric::LinkProfile::kSpeed;
  bool crc_head_only = false;        // shm profile
  base::Duration timeout{};          // of one reply
  std::uint32_t pool_elements = 64;  // of the pool that advertise() offers
  std::uint32_t pool_element_bytes = 2048;
  // Behind a switch: port numbers in INIT, ours and the target's, 0 of an end node; and the LID
  // that a neighbouring switch states from the first HELLO on.
  std::uint8_t port = 0, target_port = 0;
  fabric::Lid lid{};
  // Of the cells of the target; none: each of its peers has its own, by a topology.
  std::optional<fabric::PartitionKey> partition = fabric::kDefaultPartition;
};

// The agreement that an end asks for; by default the one that every target has. A case changes it
// before it connects. docs/protocol/channels.md#arrangements
struct Terms {
  enum class Channels : std::uint8_t {
    kTwo,
    kOne,       // channel 0 carries the data too
    kSeparate,  // mode send: a connection for each
  };
  Channels channels = Channels::kTwo;
  unsigned connecting = 0;  // kSeparate: the channel of the next CONNECT
  // Of INIT: the lanes, and in the full profile the blocks of each data lane that are granted.
  std::uint16_t lanes = 0x800F;
  std::uint32_t granted_blocks = 4096;
  std::uint32_t receive_buffer_bytes = 4 << 20;
  std::uint16_t mcp_max = fabric::kMcpMax;  // of CONNECT
  std::uint16_t pair_flags = 0;             // of CONNECT: fabric::kPairPacketCrc
  std::uint32_t idata_form_in = 0;          // connect::IdataForm, of writes into our pools
  bool selects_flows = false;               // by the contexts of our pools
};

// The part of a cell of the target that stays when it comes once more. Its flags may change.
struct SentCell {
  fabric::Psn psn{};
  std::uint16_t csn = 0;
  fabric::Pos pos{};
  fabric::Op op{};
  std::uint32_t crc = 0;  // of its extensions and its payload
  bool operator==(const SentCell&) const = default;
};
SentCell as_sent(const fabric::CellView& view);

// One direction pair of a connection: the numbers that come next.
struct Channel {
  fabric::Service service = fabric::Service::kRc;
  fabric::Qpn own{}, peer{};
  fabric::Psn psn{};  // of the next packet that we send
  fabric::Lcn lcn{};
  std::uint16_t mcp = 0;
  std::uint16_t reads_served = 0;  // RDMA reads and FetchOps that the target accepts in flight
  // Of the target's next cell.
  fabric::Psn expected_psn{};
  fabric::Lcn expected_lcn{};
  std::uint16_t expected_csn = 0;
  bool asked_for_ack = false;    // the last cell had flag A
  bool has_packet_crcs = false;  // as the target has stated
  fabric::Op op{};               // of the packet that has begun
  std::uint32_t completed = 0;   // packets, 24 bits
  ByteVector partial;
  fabric::PacketCrc packet_crc;  // of `partial`
  Event packet{};                // that has begun
  std::deque<SentCell> taken;    // the newest ones; the last is that before expected_lcn
};

class End {
 public:
  // `line`, `random` and `outcome` outlive this.
  End(Line& line, const EndConfig& config, base::Random& random, Outcome& outcome);
  virtual ~End() = default;
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  // Expectations.
  bool is_good() const { return outcome_.is_good(); }
  // Ends the case, with what was received last, unless the condition holds.
  bool expect(bool is_met, std::string_view expected);
  Outcome& outcome() { return outcome_; }
  Line& line() { return line_; }
  base::Random& random() { return random_; }
  const EndConfig& config() const { return config_; }
  base::Time now() { return line_.now(); }

  // Events. A wait that ends without one ends the case with `expected`, unless it is empty. A wait
  // is as long as the timeout, or `at_least`.
  std::optional<Event> await(EventKind kind, std::string_view expected);
  std::optional<Event> await_if(const std::function<bool(const Event&)>& suits,
                                std::string_view expected, base::Duration at_least = {});
  // What was received.
  Inbox& inbox() { return inbox_; }
  // Takes what arrives for so long.
  void listen(base::Duration span);
  // While this end waits, the link of the other one stays alive too. `other` outlives this.
  void accompany(End& other) { companions_.push_back(&other); }

  // Link.
  fabric::Init init(fabric::InitStep step);
  void send(const fabric::Init& init);
  void send_flit(const fabric::FlitHeader& header, base::Bytes payload);
  bool is_linked() const { return is_linked_; }
  virtual fabric::LinkProfile profile() const { return config_.profile; }
  bool is_full() const { return profile() == fabric::LinkProfile::kFull; }
  Lanes& lanes() { return line_.lanes(); }
  // Full profile: sends what the lanes have to send now. After a failure it sends nothing.
  void send_lanes();
  std::uint64_t target_instance() const { return target_instance_; }
  fabric::Eui64 target_eui64() const { return target_eui64_; }
  fabric::Lid lid() const { return lid_; }
  fabric::Lid target_lid() const { return target_lid_; }

  // Connection.
  fabric::Mgmt mgmt(fabric::MgmtKind kind, std::uint64_t transaction) const;
  // Puts two new queue pairs and these capabilities into a message.
  void describe(fabric::Mgmt& into, std::string_view capabilities);
  // As an end of mode rdma states them.
  std::string capabilities() const;
  void send(const fabric::Mgmt& mgmt, fabric::PartitionKey key = fabric::kDefaultPartition);
  void send_mgmt(base::Bytes payload, fabric::PartitionKey key = fabric::kDefaultPartition);
  // Puts other capabilities into a message that describe() has filled in.
  void put_capabilities(fabric::Mgmt& into, std::string_view capabilities);
  // Takes the numbers of the target's CONNECT_REQ or CONNECT_REP.
  bool adopt(const fabric::Mgmt& theirs);
  // Link, CONNECT and pools both ways.
  virtual bool attach() = 0;
  // Frames pass afterwards. REQUIRES an attached end.
  virtual bool start_nic() = 0;
  // An address that no other end of the suite has.
  std::string mac() const;
  // Ends the connection, whatever became of the case.
  virtual void leave() = 0;
  std::uint64_t transaction() const { return transaction_; }
  Channel& channel(unsigned number) { return channels_.at(number); }
  // The number of the channel that carries data: 1, or 0 where there is one channel.
  unsigned data() const { return terms.channels == Terms::Channels::kOne ? 0 : 1; }
  const std::vector<messaging::PoolRecord>& pools() const { return pools_; }
  // The longest message on channel 0 that both sides take.
  std::size_t message_max() const { return message_max_; }
  // Whether writes to the target have idata: of form A. Otherwise a message indicates them.
  bool writes_idata() const { return writes_idata_; }
  // The same of writes of the target.
  bool reads_idata() const { return reads_idata_; }

  // Cells. cell() has the numbers that come next, and changes nothing.
  fabric::CellHead cell(unsigned channel, fabric::Op op, fabric::Pos pos, std::uint16_t csn = 0);
  void send_cell(base::Bytes cell);

  // For the next CfgUtil request.
  messaging::TransactionContext next_context() { return messaging::TransactionContext(++context_); }

  Terms terms;
  bool acknowledges = true;
  bool acknowledges_data = true;       // on the channel of data, where that is not channel 0
  std::uint16_t receive_credits = 64;  // of ACKs
  bool replies_to_probes = true;
  bool replies_to_requests = true;
  bool replies_to_flushes = true;
  bool replies_to_disc = true;
  bool keeps_alive = true;

 protected:
  // The events that each role treats in its way; by default they wait.
  virtual void take_init(const Event& event) { inbox_.add(event); }
  virtual void take_mgmt(const Event& event);
  // Whether the target has sent this on the link before this one: it is no event then.
  virtual bool is_of_link_before(const fabric::Mgmt& /*mgmt*/) { return false; }
  // Replies to a CfgUtilRequest. Returns whether the event waits for the case too.
  virtual bool take_cfg_request(const Event& event) = 0;
  // Returns whether it has taken a cell as it came: then it is no event.
  virtual bool takes_whole(const fabric::FlitHeader& /*flit*/, base::Bytes /*cell*/) {
    return false;
  }
  virtual void set_linked(bool is_linked) {
    is_linked_ = is_linked;
    if (!is_linked) line_.lanes().stop();
  }
  // Full profile: both ends have the INIT of each other, and READY echoes this nonce. A READY that
  // repeats one changes nothing.
  void start_lanes(const fabric::Init& theirs, std::uint64_t nonce, bool is_client);

  std::optional<Event> await_until(const std::function<bool(const Event&)>& suits, base::Time until,
                                   std::string_view expected);
  // A rule of the protocol, whatever the case is about: if it is broken, the case has failed.
  bool rule(bool is_kept, std::string_view what);
  // Takes one datagram, or waits until then. Returns whether there may be more.
  bool pump(base::Time until);

  std::uint64_t instance_;
  std::uint64_t target_instance_ = 0;
  fabric::Eui64 target_eui64_{};
  fabric::Lid lid_{}, target_lid_{};
  std::uint16_t mcp_ = 0;
  std::uint64_t transaction_ = 0;
  bool is_linked_ = false;
  bool is_connected_ = false;
  std::array<Channel, 2> channels_;

 private:
  // Whether the next CONNECT is for this channel.
  bool offers(unsigned channel) const;
  void keep_alive();
  base::Time idle_at() const;
  bool check_data_flit(const fabric::FlitHeader& header);
  bool check_cell(base::Bytes bytes, const fabric::CellView& view);
  bool check_mgmt(const fabric::MacHeader& header, const fabric::Mgmt& mgmt);
  bool check_request(unsigned channel, const fabric::CellView& view);
  bool check_packet_crc(unsigned channel, const fabric::CellView& view);
  bool check_filler(base::Bytes filler);
  void take_datagram(base::Bytes datagram);
  void take_flit(const fabric::FlitView& flit, std::size_t datagram_bytes);
  void take_init_flit(const fabric::FlitView& flit, std::size_t datagram_bytes);
  void take_lane_flit(const fabric::FlitView& flit, std::size_t datagram_bytes);
  void take_cell(base::Bytes bytes, std::uint8_t vl, std::size_t datagram_bytes);
  void take_request(unsigned channel, const fabric::CellView& view);
  void take_retransmission(unsigned channel, const fabric::CellView& view);
  bool may_acknowledge(unsigned channel) const {
    return acknowledges && (channel == 0 || acknowledges_data);
  }
  void finish_packet(unsigned channel, const fabric::CellView& view);
  bool take_message(const Event& event);

  Line& line_;
  const EndConfig config_;
  base::Random& random_;
  Outcome& outcome_;
  base::Time until_;  // of the case
  Inbox inbox_;
  std::vector<End*> companions_;

  std::string capabilities_;
  std::size_t message_max_ = 0;
  bool writes_idata_ = false;
  bool reads_idata_ = false;
  std::vector<messaging::PoolRecord> pools_;
  std::uint64_t context_;
};

}  // namespace splitnic::conformance
