// One end of a link as the suite plays it, host or I/O unit: it has the numbers that a correct end
// would have, builds INIT, connection messages and cells from them, right or wrong, and takes what
// arrives apart into events, which wait in its inbox. It has no state machine: what is sent and
// when, the case decides. Only what every end must do at once happens unasked: its habits, which a
// case may switch off. What arrives is checked for the rules of every flit and cell. After the
// first expectation that is not met nothing is sent or awaited any more, so a case needs no branch
// for that. Thread: one owner. end_link.cc: INIT, lanes; end_connection.cc: MGMT; end_send.cc:
// cells; end_wait.cc: waiting; end_receive.cc: what arrives. What needs only the functions here is
// apart: cells.h, messages.h, pools.h, expectations.h. The rules are in rules.h.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "conformance/agreed.h"
#include "conformance/channel.h"
#include "conformance/event.h"
#include "conformance/habits.h"
#include "conformance/inbox.h"
#include "conformance/line.h"
#include "conformance/outcome.h"
#include "conformance/rules.h"
#include "conformance/terms.h"

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

// The target, as its INIT states it.
struct TargetIdentity {
  std::uint64_t instance = 0;  // 0: not known yet
  fabric::Eui64 eui64{};
  fabric::Lid lid{};
  bool takes_fragments = false;
};

class End {
 public:
  // `line`, `random` and `outcome` outlive this.
  End(Line& line, const EndConfig& config, base::Random& random, Outcome& outcome);
  virtual ~End() = default;
  End(const End&) = delete;
  End& operator=(const End&) = delete;

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
  // The events that wait.
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
  fabric::Lid lid() const { return lid_; }
  const TargetIdentity& target() const { return target_; }

  // Connection.
  fabric::Mgmt mgmt(fabric::MgmtKind kind, std::uint64_t transaction) const;
  // Puts two new queue pairs and these capabilities into a message.
  void describe(fabric::Mgmt& into, std::string_view capabilities);
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
  const Agreed& agreed() const { return agreed_; }

  // Cells. cell() has the numbers that come next, and changes nothing.
  fabric::CellHead cell(unsigned channel, fabric::Op op, fabric::Pos pos, std::uint16_t csn = 0);
  void send_cell(base::Bytes cell);

  // For the next CfgUtil request.
  messaging::TransactionContext next_context() { return messaging::TransactionContext(++context_); }

  Terms terms;
  Habits habits;

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
  TargetIdentity target_;
  fabric::Lid lid_{};
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
  std::optional<LinkIdentities> identities() const;
  // `broken`: a rule that rules.h has found broken; "": none.
  bool check_rules(std::string_view broken) { return rule(broken.empty(), broken); }
  void take_datagram(base::Bytes datagram);
  void take_flit(const fabric::FlitView& flit, std::size_t datagram_bytes);
  void take_init_flit(const fabric::FlitView& flit, std::size_t datagram_bytes);
  void take_lane_flit(const fabric::FlitView& flit, std::size_t datagram_bytes);
  void take_cell(base::Bytes bytes, std::uint8_t vl, std::size_t datagram_bytes);
  void take_request(unsigned channel, const fabric::CellView& view);
  void take_retransmission(unsigned channel, const fabric::CellView& view);
  bool may_acknowledge(unsigned channel) const {
    return habits.acknowledges && (channel == 0 || habits.acknowledges_data);
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

  std::string capabilities_;  // that this end has stated
  Agreed agreed_;
  std::uint64_t context_;
};

}  // namespace splitnic::conformance
