// I/O units that announce themselves on the local network, by DNS-SD over multicast DNS [RFC 6762,
// RFC 6763]: service _splitnic._udp, and in its TXT record the hash of the unit's public key. Both
// functions are bodies of a SideProcess: what arrives from the network is parsed there, by Avahi's
// library, without privileges. An announcement proves nothing: the handshake does. Thread: none but
// their own. docs/security.md#announcements
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "control/daemon/side_process.h"
#include "fabric_emul/session/crypto.h"

namespace splitnic::control {

#if defined(SPLITNIC_HAS_MDNS)
inline constexpr bool kHasMdns = true;
#else
inline constexpr bool kHasMdns = false;
#endif

// The first 16 bytes of the SHA-256 of a public key, as 32 hex digits: enough to recognize a key
// that one has, and of no use to who has it not.
std::string key_hash(const fabric::session::PublicKey& key);

// The announcement of a unit: the first packet to announce_unit().
struct Announcement {
  std::string name;  // of the node
  std::uint16_t port = 0;
  std::string key_hash;
  // The address at which the unit listens, without a zone: of the machine's addresses only this one
  // is announced; "0.0.0.0": only those of IPv4; "::" or "": all. One where nobody listens would
  // cost each host seconds.
  std::string address;

  std::string packet() const;
  // With the name cut to what a service may have. Nothing if it is none.
  static std::optional<Announcement> read(const std::string& packet);
};

// Announces what the first packet describes, until the program ends.
void announce_unit(SideProcess::Channel channel);

// Replies to each key hash with the units of that key: one "ADDRESS:PORT" per line, the newest
// first, up to `units_max`; none: an empty line. Never uses the interface `not_on`, "": any.
void find_units(SideProcess::Channel channel, const std::string& not_on, std::size_t units_max);

}  // namespace splitnic::control
