// The questions of an attached port to its switch, each repeated until it has a reply: its place in
// the network and the number of its LIDs, the LIDs of peers that were named, and the number of LIDs
// of peers to which all paths are used. Sans-I/O. Thread: the data thread.
// docs/protocol/path.md#names docs/protocol/network.md#place
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/counters.h"
#include "fabric_emul/link/link.h"
#include "fabric_emul/switching/attachment_counters.h"
#include "fabric_emul/switching/network_layer.h"
#include "fabric_emul/switching/peer_names.h"
#include "fabric_emul/switching/peer_paths.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

class Resolver {
 public:
  // `hop` is the link to the switch. All outlive this; names, paths and network get the replies.
  Resolver(Link& hop, PeerNames& names, PeerPaths& paths, NetworkLayer& network,
           base::Counters<AttachmentCounter>& counters);

  // The switch is there, and the port has this base LID: all is asked once more.
  void start(Lid base, base::Time now);
  // The switch is gone.
  void stop() { ask_at_ = base::kNever; }
  // A peer was named.
  void ask_now(base::Time now) { ask_at_ = now; }
  // All paths to this peer are used, unless it was named by one.
  void use_all_paths(Lid peer, base::Time now);
  // Asks what has no reply, if it is time. REQUIRES start().
  void step(base::Time now);
  base::Time deadline() const { return ask_at_; }
  // Takes the MGMT message of the switch, or counts it as invalid.
  void on_mgmt(base::Bytes payload, base::Time now);

  // Of the port: 0 until the switch has replied.
  std::uint8_t lmc() const { return lmc_; }

 private:
  static constexpr base::Duration kRepeatAfter = std::chrono::milliseconds(200);
  // Transactions; others are the number of a name.
  static constexpr std::uint64_t kOwnPlace = UINT64_MAX;
  static constexpr std::uint64_t kOwnLids = UINT64_MAX - 1;
  static constexpr std::uint64_t kLidsOfPeer = std::uint64_t{1} << 32;  // and its LID

  void ask(std::uint64_t transaction, std::string_view name, base::Time now);
  // These return false if the reply is not valid.
  bool take(std::uint64_t transaction, base::Bytes reply, base::Time now);
  bool on_place(base::Bytes reply);
  bool on_own_lids(base::Bytes reply);
  bool on_lids_of(Lid peer, base::Bytes reply);
  bool on_name(PeerNames::Named& named, base::Bytes reply, base::Time now);

  Link& hop_;
  PeerNames& names_;
  PeerPaths& paths_;
  NetworkLayer& network_;
  base::Counters<AttachmentCounter>& counters_;
  Lid base_;
  bool is_place_known_ = false;  // the switch has replied what the place of this port is
  bool is_lmc_known_ = false;    // and how many LIDs it has
  std::uint8_t lmc_ = 0;
  base::Time ask_at_ = base::kNever;
  base::Time asked_at_{};
};

}  // namespace splitnic::fabric
