// Captures of the fabric: files of --capture (link type USER0), and what tcpdump and Wireshark
// capture on Ethernet, "any" and tunnel interfaces, as pcap or pcapng. What is written is pcap,
// with nanoseconds, to the standard output or a file that is readable by its owner only. One owner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "lan_bridge/frame/ethernet.h"

struct pcap;
struct pcap_dumper;

namespace splitnic::tools {

// A packet of a capture. With `udp` it is an Ethernet frame, whatever the interface had.
struct CapturedPacket {
  std::vector<std::byte> bytes;
  std::int64_t seconds = 0;
  long nanoseconds = 0;
  std::size_t length = 0;  // on the wire: more than bytes.size() if the capture is cut
  // Where the datagram in it begins and ends; none: it has no UDP datagram.
  std::optional<std::size_t> begin, end;
  std::optional<lan::FrameLayout> udp;  // none: the datagram is the whole packet
};

class CaptureReader {
 public:
  // An error: it cannot be read, or its link type is not known.
  static base::Result<CaptureReader> open(const std::string& path);
  int link_type() const;  // of what next() returns
  // Returns the next packet, or nothing at the end of the file.
  base::Result<std::optional<CapturedPacket>> next();

 private:
  struct Closer {
    void operator()(pcap* file) const;
  };
  explicit CaptureReader(pcap* file) : file_(file) {}

  std::unique_ptr<pcap, Closer> file_;
};

class CaptureWriter {
 public:
  // "-" is the standard output.
  static base::Result<CaptureWriter> create(const std::string& path, int link_type);
  void add(const CapturedPacket& packet);
  // An error: not everything was written.
  base::Status finish();

 private:
  struct Closer {
    void operator()(pcap* format) const;
    void operator()(pcap_dumper* out) const;
  };
  CaptureWriter() = default;

  std::string path_;
  std::unique_ptr<pcap, Closer> format_;
  std::unique_ptr<pcap_dumper, Closer> out_;
};

// Returns the packet with another datagram in it: lengths and checksums are those of the new one.
// REQUIRES packet.begin.
CapturedPacket with_datagram(const CapturedPacket& packet, base::Bytes datagram);

}  // namespace splitnic::tools
