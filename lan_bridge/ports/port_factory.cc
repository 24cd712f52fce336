#include "lan_bridge/ports/port_factory.h"

#include <fmt/format.h>

#include <iterator>

#include "base/log.h"
#include "lan_bridge/ports/file_port.h"
#include "lan_bridge/ports/packet_port.h"
#include "lan_bridge/ports/pcap_port.h"
#include "lan_bridge/ports/tap_port.h"

namespace splitnic::lan {
namespace {

using Queues = std::vector<std::unique_ptr<FramePort>>;

base::Result<Queues> open_file(const PortSpec& spec, const PortOptions& options, base::Clock& clock,
                               std::uint32_t queues) {
  FileOptions file{
      .in = spec.input, .out = spec.output, .loop = spec.is_looped, .speed = spec.speed};
  if (options.mtu != 0) file.mtu = options.mtu;
  if (options.mac) file.mac = *options.mac;
  auto port = FilePort::open(file, clock);
  if (!port) return port.error();
  if (queues > 1) {
    base::log_warn(fmt::format("{}: 1 of {} queues is in use: a capture file has one: request one",
                               (*port)->name(), queues));
  }
  Queues out;
  out.push_back(std::move(*port));
  return out;
}

base::Result<Queues> open_tap(const PortSpec& spec, const PortOptions& options,
                              std::uint32_t queues) {
  auto taps = TapPort::open_queues({.name = spec.interface,
                                    .keep = options.keep_tap,
                                    .alias = options.alias,
                                    .mtu = options.mtu,
                                    .mac = options.mac,
                                    .gso_max = options.gso_max,
                                    .has_carrier = options.has_carrier},
                                   queues);
  if (!taps) return taps.error();
  return Queues(std::make_move_iterator(taps->begin()), std::make_move_iterator(taps->end()));
}

PacketOptions packet_options(const PortSpec& spec, const PortOptions& options) {
  return {.interface = spec.interface,
          .promiscuous = options.promiscuous,
          .mtu = options.mtu,
          .exclude = options.exclude};
}

}  // namespace

base::Result<Queues> open_queues(const PortSpec& spec, const PortOptions& options,
                                 base::Clock& clock, std::uint32_t queues) {
  switch (spec.kind) {
    case PortSpec::Kind::kFile:
      return open_file(spec, options, clock, queues);
    case PortSpec::Kind::kTap:
      return open_tap(spec, options, queues);
    case PortSpec::Kind::kPacket:
      return PacketPort::open_queues(packet_options(spec, options), queues);
    case PortSpec::Kind::kPcap:
      break;
  }
  return PcapPort::open_queues({.interface = spec.interface,
                                .injection = spec.injection,
                                .promiscuous = options.promiscuous,
                                .mtu = options.mtu,
                                .exclude = options.exclude},
                               queues);
}

base::Result<Queues> expect_queues(const PortSpec& spec, const PortOptions& options,
                                   std::uint32_t queues) {
  PacketOptions packet = packet_options(spec, options);
  if (spec.kind == PortSpec::Kind::kPcap) packet.name = "pcap:" + spec.interface;
  return PacketPort::expect_queues(packet, queues);
}

}  // namespace splitnic::lan
