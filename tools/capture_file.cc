#include "tools/capture_file.h"

#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "base/endian.h"
#include "lan_bridge/frame/checksum.h"
#include "tools/private_output.h"

namespace splitnic::tools {
namespace {

constexpr std::size_t kSnapLength = 262144;
constexpr std::size_t kUdpHeaderBytes = 8;

// The header before the network layer of each link type, and where it has the ethertype.
struct LinkType {
  int type;
  std::size_t header_bytes;
  std::size_t ethertype_at;
};
constexpr std::size_t kNoEthertype = SIZE_MAX;  // the version of IP decides
constexpr auto kLinkTypes =
    std::to_array<LinkType>({{DLT_EN10MB, lan::kEthernetBytes, lan::kEthertypeOffset},
                             {DLT_LINUX_SLL, 16, 14},
                             {DLT_LINUX_SLL2, 20, 0},
                             {DLT_RAW, 0, kNoEthertype}});

const LinkType* find_type(int type) {
  const auto at = std::ranges::find(kLinkTypes, type, &LinkType::type);
  return at == kLinkTypes.end() ? nullptr : &*at;
}

// An Ethernet frame of a packet of another link type: addresses are zero.
std::vector<std::byte> as_ethernet(base::Bytes packet, const LinkType& type) {
  if (type.type == DLT_EN10MB || packet.size() < type.header_bytes + 1) {
    return {packet.begin(), packet.end()};
  }
  const base::Bytes network = packet.subspan(type.header_bytes);
  std::uint16_t ethertype =
      (std::to_integer<unsigned>(network[0]) >> 4) == 6 ? lan::kEthertypeIp6 : lan::kEthertypeIp4;
  if (type.ethertype_at != kNoEthertype) {
    ethertype = base::load_be<std::uint16_t>(packet.data() + type.ethertype_at);
  }
  std::vector<std::byte> frame(lan::kEthernetBytes);
  base::store_be(&frame[lan::kEthertypeOffset], ethertype);
  frame.insert(frame.end(), network.begin(), network.end());
  return frame;
}

// Of a packet that the capture has cut, the missing bytes count as zeros.
void find_datagram(CapturedPacket& packet) {
  const std::size_t captured = packet.bytes.size();
  packet.bytes.resize(std::max(captured, std::min(packet.length, kSnapLength)));
  const auto layout = lan::parse_frame(packet.bytes);
  packet.bytes.resize(captured);
  if (!layout || layout->l4 != lan::L4::kUdp || layout->payload_offset > captured) return;
  packet.udp = layout;
  packet.begin = layout->payload_offset;
  packet.end = std::min(layout->end, captured);
}

}  // namespace

void CaptureReader::Closer::operator()(pcap* file) const { pcap_close(file); }
void CaptureWriter::Closer::operator()(pcap* format) const { pcap_close(format); }
void CaptureWriter::Closer::operator()(pcap_dumper* out) const { pcap_dump_close(out); }

base::Result<CaptureReader> CaptureReader::open(const std::string& path) {
  std::array<char, PCAP_ERRBUF_SIZE> why{};
  pcap* const file =
      pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, why.data());
  if (file == nullptr) return base::Error("reading the capture: " + std::string(why.data()));
  CaptureReader reader(file);
  const int type = pcap_datalink(file);
  if (type != DLT_USER0 && find_type(type) == nullptr) {
    return base::Error("the capture " + path + " has link type " + std::to_string(type) +
                       ": capture on an Ethernet interface, with tcpdump -i any, or by --capture");
  }
  return reader;
}

int CaptureReader::link_type() const {
  return pcap_datalink(file_.get()) == DLT_USER0 ? DLT_USER0 : DLT_EN10MB;
}

base::Result<std::optional<CapturedPacket>> CaptureReader::next() {
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  const int got = pcap_next_ex(file_.get(), &header, &data);
  if (got == PCAP_ERROR_BREAK) return std::optional<CapturedPacket>();
  if (got != 1) return base::Error("reading the capture: " + std::string(pcap_geterr(file_.get())));
  const base::Bytes bytes(reinterpret_cast<const std::byte*>(data), header->caplen);
  CapturedPacket packet;
  packet.seconds = header->ts.tv_sec;
  packet.nanoseconds = header->ts.tv_usec;  // of this precision
  if (const LinkType* const type = find_type(pcap_datalink(file_.get())); type != nullptr) {
    packet.bytes = as_ethernet(bytes, *type);
    packet.length = header->len - header->caplen + packet.bytes.size();
    find_datagram(packet);
  } else {
    packet.bytes.assign(bytes.begin(), bytes.end());
    packet.length = header->len;
    packet.begin = 0;
    packet.end = packet.bytes.size();
  }
  return std::optional(std::move(packet));
}

base::Result<CaptureWriter> CaptureWriter::create(const std::string& path, int link_type) {
  auto fd = open_private_output(path);
  if (!fd) return fd.error();
  CaptureWriter writer;
  writer.path_ = path == "-" ? "the standard output" : path;
  writer.format_.reset(pcap_open_dead_with_tstamp_precision(
      link_type, static_cast<int>(kSnapLength), PCAP_TSTAMP_PRECISION_NANO));
  std::FILE* const stream = ::fdopen(fd->get(), "wb");
  if (stream == nullptr) return base::Error::from_errno("writing " + path, errno);
  fd->release();
  writer.out_.reset(pcap_dump_fopen(writer.format_.get(), stream));
  if (writer.out_ == nullptr) return base::Error::from_errno("writing " + path, errno);
  return writer;
}

void CaptureWriter::add(const CapturedPacket& packet) {
  pcap_pkthdr header{};
  header.ts.tv_sec = packet.seconds;
  header.ts.tv_usec = packet.nanoseconds;
  header.caplen = static_cast<bpf_u_int32>(packet.bytes.size());
  header.len = static_cast<bpf_u_int32>(packet.length);
  pcap_dump(reinterpret_cast<u_char*>(out_.get()), &header,
            reinterpret_cast<const u_char*>(packet.bytes.data()));
}

base::Status CaptureWriter::finish() {
  const bool is_written =
      pcap_dump_flush(out_.get()) == 0 && std::ferror(pcap_dump_file(out_.get())) == 0;
  const int error = errno;
  out_.reset();
  if (is_written) return {};
  return base::Error::from_errno("writing " + path_, error);
}

CapturedPacket with_datagram(const CapturedPacket& packet, base::Bytes datagram) {
  CapturedPacket out = packet;
  out.bytes.resize(*packet.begin);
  out.bytes.insert(out.bytes.end(), datagram.begin(), datagram.end());
  out.length = out.bytes.size();
  out.end = out.bytes.size();
  if (!packet.udp) return out;
  lan::FrameLayout& layout = *out.udp;
  layout.end = out.bytes.size();
  const auto put = [&](std::size_t at, std::size_t value) {
    base::store_be(&out.bytes[at], static_cast<std::uint16_t>(value));
  };
  const std::size_t udp_bytes = datagram.size() + kUdpHeaderBytes;
  if (layout.l3 == lan::L3::kIp4) {
    put(layout.l3_offset + 2, out.bytes.size() - layout.l3_offset);
    lan::store_ip4_header_checksum(out.bytes, layout);
  } else {
    constexpr std::size_t kIp6HeaderBytes = 40;
    put(layout.l3_offset + 4, out.bytes.size() - layout.l3_offset - kIp6HeaderBytes);
  }
  put(layout.l4_offset + 4, udp_bytes);
  put(layout.l4_offset + lan::kUdpChecksumOffset, 0);
  const std::uint16_t seed = lan::pseudo_header_sum(out.bytes, layout, udp_bytes);
  const auto sum = static_cast<std::uint16_t>(
      ~lan::sum_bytes(base::Bytes(out.bytes).subspan(layout.l4_offset), seed));
  put(layout.l4_offset + lan::kUdpChecksumOffset, sum == 0 ? 0xFFFF : sum);
  return out;
}

}  // namespace splitnic::tools
