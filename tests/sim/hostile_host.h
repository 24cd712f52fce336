// A host that has a key, attaches as hosts do, and then obeys nothing: messages, RDMA writes and
// requests that are wrong in one place or in all, cells with the right CRC and any content, for its
// own queue pairs and for those of others, INIT steps, its own records and handshakes once more or
// changed, floods in records and without keys, new connections, handshakes and processes. All of it
// comes from the world's Random, so a run is a number. It sends frames too, with its own address
// and with that of others; they have kEthertype, so whoever receives them knows where they came
// from. Thread: that of the world.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/session/keyed_underlay.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "fabric_emul/underlay/underlay_decorator.h"
#include "lan_bridge/frame/ethernet.h"
#include "messaging/wire/cfg_util.h"
#include "tests/support/lying_peer.h"

namespace splitnic::sim {

class HostileHost {
 public:
  static constexpr std::uint16_t kEthertype = 0x9999;
  static constexpr lan::MacAddress kMac{0x02, 0, 0, 0, 0, 0x0D};

  struct Config {
    fabric::PeerAddress unit;
    fabric::session::PublicKey unit_key;
    std::function<std::uint64_t()> stamp;  // of its handshakes
    fabric::Eui64 eui64;                   // that goes with its key
    fabric::LinkProfile profile = fabric::LinkProfile::kSpeed;
    std::uint16_t cell_bytes = 0;
    lan::MacAddress victim{};  // the address of another host
    fabric::Eui64 victim_eui64;
  };
  // It attaches first, as hosts do; a quiet one does no more. `end`, `clock` and `random` outlive
  // it.
  HostileHost(fabric::InProcessUnderlay& end, Config config, base::Clock& clock,
              base::Random& random, bool is_quiet);

  bool step(base::Time now);
  base::Time deadline() const;
  bool is_attached() const { return peer_->is_connected() && is_started_; }
  // Things that it has done, for tests that want to see some.
  std::uint64_t acts() const { return acts_; }
  std::uint64_t connections() const { return connections_ + peer_->connections(); }

  // Returns true if the frame, virtio-net header included, is one of this host.
  static bool is_source_of(base::Bytes frame);

 private:
  // Keeps some of the datagrams that are sent, to send them once more.
  class Keeper final : public fabric::UnderlayDecorator {
   public:
    using UnderlayDecorator::UnderlayDecorator;
    SendStatus send(const fabric::PeerAddress& to, base::Bytes bytes, std::size_t stride) override;
    std::optional<Received> receive() override { return below_.receive(); }
    base::Time deadline() const override { return below_.deadline(); }
    std::vector<std::vector<std::byte>> kept;

   private:
    std::size_t next_ = 0;
  };

  // A new process; with_keys: with a new session, otherwise it has kept that.
  void start(bool with_keys);
  void keep_attached(base::Time now);
  void configure();
  void request(messaging::CfgCode code, const std::string& data);
  void act(base::Time now);
  void send_lie();
  void write_lie();
  void send_frame();
  void send_raw();
  void send_cell();
  void send_init();
  void repeat();
  void flood();
  void put(base::Bytes datagram);  // in a record
  void put_as_it_is(base::Bytes datagram);
  std::vector<std::byte> random_bytes(std::size_t most);

  const Config config_;
  base::Clock& clock_;
  base::Random& random_;
  const bool is_quiet_;
  const std::uint64_t lies_, writes_;  // of a thousand acts
  Keeper keeper_;
  std::unique_ptr<fabric::session::KeyedUnderlay> session_;
  fabric::PeerAddress unit_;  // above the session
  std::unique_ptr<support::LyingPeer> peer_;
  bool is_started_ = false;  // its NIC, for this connection
  bool has_attached_ = false;
  std::uint64_t context_ = 1;
  base::Time act_at_{};
  base::Time connect_at_{};
  std::uint64_t acts_ = 0;
  std::uint64_t connections_ = 0;  // of processes before
};

}  // namespace splitnic::sim
