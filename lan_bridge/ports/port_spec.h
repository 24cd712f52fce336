// The source and destination of frames, as --lan and --tap name it. The text is parsed in
// control/config/values.h; port_factory.h opens the port.
#pragma once

#include <cstdint>
#include <string>

namespace splitnic::lan {

// The way in which a pcap port writes frames to the LAN.
enum class Injection : std::uint8_t {
  kPacket,  // through a packet socket; as kPcap, and logged, if the kernel has no vnet header
  kPcap,    // pcap_inject()
};

struct PortSpec {
  enum class Kind : std::uint8_t { kPcap, kPacket, kTap, kFile };
  Kind kind = Kind::kPcap;
  std::string text;                          // as typed
  std::string interface;                     // pcap, packet, tap
  Injection injection = Injection::kPacket;  // pcap
  std::string input;                         // file; one of the two may be empty
  std::string output;                        // file
  bool is_looped = false;                    // file: ",loop"
  double speed = 0;                          // file: ",speed=X"; 0: as fast as it is read
  friend bool operator==(const PortSpec&, const PortSpec&) = default;
};

}  // namespace splitnic::lan
