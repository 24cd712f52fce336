// The file of --hosts: which hosts may attach, how each proves its identity, and its rights. The
// parser is pure; read_hosts_file() adds the checks of the file itself. docs/hosts_file.md
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "fabric_emul/session/crypto.h"
#include "iou_module/hosts/host_rights.h"

namespace splitnic::iou {

inline constexpr std::size_t kHostsFileBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kHostsInFileMax = 4096;

// A user of this machine, as the kernel reports it for the peer of a socket.
struct UserId {
  std::uint32_t value = 0;
  friend auto operator<=>(const UserId&, const UserId&) = default;
};

// The LID of a node, for which its switch vouches.
struct NodeLid {
  std::uint16_t value = 0;
  friend auto operator<=>(const NodeLid&, const NodeLid&) = default;
};

// The proof of the identity of a host: a key over UDP, a user over shm, the LID of its port behind
// a keyed switch.
using Credential = std::variant<fabric::session::PublicKey, UserId, NodeLid>;

struct HostEntry {
  Credential who;
  HostRights rights;  // with its name
  friend bool operator==(const HostEntry&, const HostEntry&) = default;
};

struct HostsFile {
  std::vector<HostEntry> hosts;  // in the order of the file
};

// The facts that the file is checked against.
struct UnitFacts {
  std::optional<fabric::session::PublicKey> public_key;  // none: the unit has no --key-file
  std::size_t nics = 1;
  bool has_vouched_lids = false;  // it is attached to a keyed switch
};

// An error is "line L, column C: what is wrong".
base::Result<HostsFile> parse_hosts_file(std::string_view text, const UnitFacts& unit);
// The same of a file. An error begins with its path; it is also one that the file cannot be read,
// is not regular, or that others than its owner may write to it.
base::Result<HostsFile> read_hosts_file(const std::string& path, const UnitFacts& unit);

}  // namespace splitnic::iou
