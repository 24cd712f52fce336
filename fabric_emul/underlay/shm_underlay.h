// Datagrams between processes of one machine through shared memory: shm://NAME. It only carries
// datagrams: no pool lies in the segment, and all that arrives is copied out of the ring once and
// checked (shm_ring.h).
//
// The listener has a socket DIRECTORY/splitnic-NAME for programs of the same user, or of the users
// that it names. Each client gets its own sealed segment (shm_segment.h) with a ring for each
// direction. The socket stays open: it carries wake-ups (a byte; no eventfd, whose O_NONBLOCK the
// other side could clear), and its end is the peer's end, which frees the segment. A connector
// whose listener ended reconnects with its next send. Wake-ups go only to a side that sleeps
// (may_sleep()), so that nobody enters the kernel while both are busy. Room after kBlocked makes
// fd() readable, too. Set-up in shm_set_up.cc. Thread: one owner, the data thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "fabric_emul/underlay/accept_limit.h"
#include "fabric_emul/underlay/shm_counters.h"
#include "fabric_emul/underlay/shm_ring.h"
#include "fabric_emul/underlay/shm_segment.h"
#include "fabric_emul/underlay/underlay.h"

namespace splitnic::fabric {

// $SPLITNIC_SHM_DIR; else /run/splitnic, where no other user can create a name first [L-9]; else,
// for a user who may not write there, /dev/shm. Network namespaces share all of them.
std::string shm_directory();
// Returns the directory of the services of this machine: /run/splitnic; "" with $SPLITNIC_SHM_DIR.
std::string shm_service_directory();

struct ShmConfig {
  std::string name = {};
  bool listens = false;
  std::string directory = shm_directory();  // of the socket that both ends meet at
  // Connector: searched before `directory`. A listener in either is trusted if it runs as the user
  // of the connector, as root, or as the owner of the folder, where no one else can create a file.
  std::string service_directory = shm_service_directory();
  std::size_t ring_bytes = 2 << 20;  // listener: each direction of each client
  std::size_t clients_max = 64;
  // Listener with named users: connections of one of them at a time, and no more than leave each
  // other one a place [M-8]. A host is one process with one connection; the process that follows it
  // may come before its end is noticed.
  std::size_t clients_of_user_max = 4;
  // Listener: users that may connect; then every user may try. Absent: its own and root.
  std::optional<std::vector<std::uint32_t>> users = {};
  // Listener: of the limit of connections per time; outlives the underlay. Null: no such limit.
  base::Clock* clock = nullptr;
};

class ShmUnderlay final : public Underlay {
 public:
  // A connector opens with or without a listener.
  static base::Result<std::unique_ptr<ShmUnderlay>> open(const ShmConfig& config);
  ~ShmUnderlay() override;

  // The address that a connector sends to.
  static PeerAddress listener_address();
  std::size_t clients() const { return wires_.size(); }
  // Listener: from now on these users may connect. Those that may not any more lose their
  // connection; what has been sent to them before still arrives.
  void set_users(std::vector<std::uint32_t> users);
  std::uint64_t count(ShmCounter counter) const { return counters_[counter]; }
  const base::Counters<ShmCounter>& counters() const { return counters_; }

  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override;
  // Room in the ring to this peer. A claimed wire keeps its memory when its peer ends.
  base::MutableBytes claim(const PeerAddress& to, std::size_t first_bytes) override;
  SendStatus commit(const PeerAddress& to, std::size_t bytes, std::size_t stride) override;
  void abort(const PeerAddress& to) override;
  std::optional<Received> receive() override;
  bool may_sleep() override;
  std::size_t datagram_bytes_max(const PeerAddress& to) const override;
  std::size_t batch_bytes_max() const override { return kShmBatchMax; }
  std::size_t receive_buffer_bytes() const override { return config_.ring_bytes; }
  int fd() const override { return poll_.get(); }
  std::string name_of(const PeerAddress& peer) const override;
  std::optional<std::uint32_t> user_of(const PeerAddress& peer) const override;

 private:
  struct Wire {
    std::uint32_t number = 0;
    std::uint32_t user = 0;  // of the peer
    base::UniqueFd socket;
    std::unique_ptr<ShmSegment> segment;  // null: its descriptor has not arrived yet
    std::optional<ShmRing> in;
    std::optional<ShmRing> out;
    bool is_blocked = false;        // the last send did not fit
    bool has_room = false;          // and may fit now
    bool has_ended = false;         // the peer is gone; what it put before may still be taken
    bool is_broken = false;         // removed as soon as it is not claimed
    bool is_claimed = false;        // the owner may be writing in the room of `out`
    bool is_claim_awaited = false;  // other bytes were to be sent meanwhile
    std::size_t takes_left = 0;     // once ended
    bool can_send() const { return !has_ended && !is_broken && out.has_value(); }
  };

  // Keys of epoll events: a wire's number, or one of these.
  static constexpr std::uint32_t kListenerNumber = 0;  // the only wire of a connector
  static constexpr std::uint32_t kListenerKey = 0xFFFFFFFF;
  static constexpr std::uint32_t kRetryKey = 0xFFFFFFFE;

  // shm_set_up.cc
  explicit ShmUnderlay(const ShmConfig& config);
  base::Status listen();
  bool watch(int fd, std::uint32_t key);
  bool admits(std::uint32_t user) const;
  bool has_share_left(std::uint32_t user) const;
  void free_places();
  void connect();
  // Returns false if no program listens there.
  bool connect_in(const std::string& directory);
  void accept_all();
  void refuse_for_want_of_descriptors();
  void keep_spare();
  void accept_one(base::UniqueFd socket);
  void take_segment(Wire& wire);
  void attach(Wire& wire, std::unique_ptr<ShmSegment> segment);
  // shm_underlay.cc
  bool handle_events();  // returns false if there was none
  void on_readable(Wire& wire);
  std::optional<Received> take_from(Wire& wire);
  std::optional<Received> take_any();
  void remove_ended();
  SendStatus finish_send(Wire& wire, ShmRing::Result result);
  void end_claim(Wire& wire);
  Wire* find(std::uint32_t number) const;
  void update_retry();

  ShmConfig config_;
  AcceptLimit accept_limit_;
  std::string path_;
  bool owns_path_ = false;
  base::UniqueFd poll_;  // the one descriptor that the owner sleeps on
  base::UniqueFd listener_;
  base::UniqueFd spare_;  // makes room for a client that is refused for want of descriptors
  base::UniqueFd retry_;  // readable while a blocked wire has room and send() was not retried
  bool is_retry_set_ = false;
  std::vector<std::unique_ptr<Wire>> wires_;
  std::size_t next_wire_ = 0;
  bool is_woken_ = true;         // a wake-up or another event may be there to read
  unsigned empty_receives_ = 0;  // since the last poll for events
  unsigned full_receives_ = 0;   // those that returned a batch, since then
  std::uint32_t last_number_ = 0;
  std::vector<std::byte> buffer_;  // of the batch that receive() gave out
  base::Counters<ShmCounter> counters_;
};

}  // namespace splitnic::fabric
