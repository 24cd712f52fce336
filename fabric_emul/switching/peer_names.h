// The peers of an attached port, as the layers above address them: an address stands for a node
// that was named, whose LID the switch resolves, or for the LID of any other peer. Plain values.
// Thread: the data thread. docs/protocol/path.md#names
#pragma once

#include <string>
#include <vector>

#include "fabric_emul/underlay/underlay.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

class PeerNames {
 public:
  struct Named {
    std::string name;
    Lid lid{};                // 0: not resolved
    bool is_asked = false;    // since the switch is there, and it has replied
    bool is_unknown = false;  // to it
    bool uses_all_paths = false;
  };

  // Returns the address that stands for this name, the same each time.
  PeerAddress add(const std::string& name, bool uses_all_paths);

  // Returns LID 0 for a name that is not resolved, and for what is no address of a peer.
  Lid lid_of(const PeerAddress& peer) const;
  PeerAddress address_of(Lid peer) const;
  // Returns null if nobody has named it. Valid until the next add().
  const Named* at(const PeerAddress& peer) const;
  const Named* at(Lid peer) const;
  // By their numbers, which count from 0 and stay.
  std::vector<Named>& all() { return named_; }

 private:
  std::vector<Named> named_;
};

}  // namespace splitnic::fabric
