#include "lan_bridge/ports/port_factory.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>

#include "base/log.h"
#include "lan_bridge/ports/packet_port.h"
#include "lan_bridge/ports/pcap_port.h"
#include "lan_bridge/ports/tap_port.h"

namespace splitnic::lan {
namespace {

constexpr std::string_view kKinds = "use pcap:IF, packet:IF, tap:NAME or file:IN.pcap,OUT.pcap";

using Queues = std::vector<std::unique_ptr<FramePort>>;

// Removes and returns the part before the next comma.
std::string_view next_part(std::string_view& rest) {
  const std::size_t comma = rest.find(',');
  const std::string_view part = rest.substr(0, comma);
  rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  return part;
}

base::Result<Queues> open_file(std::string_view rest, const PortOptions& options,
                               base::Clock& clock, std::uint32_t queues) {
  auto file = parse_file_spec(rest);
  if (!file) return file.error();
  if (options.mtu != 0) file->mtu = options.mtu;
  if (options.mac) file->mac = *options.mac;
  auto port = FilePort::open(*file, clock);
  if (!port) return port.error();
  if (queues > 1) {
    base::log_warn(fmt::format("{}: 1 of {} queues is in use: a capture file has one: request one",
                               (*port)->name(), queues));
  }
  Queues out;
  out.push_back(std::move(*port));
  return out;
}

base::Result<Queues> open_tap(std::string_view rest, const PortOptions& options,
                              std::uint32_t queues) {
  auto taps = TapPort::open_queues({.name = std::string(rest),
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

// `rest` is IF[,inject=packet|pcap].
base::Result<Queues> open_pcap(std::string_view rest, const PortOptions& options,
                               std::uint32_t queues) {
  const std::size_t comma = rest.find(',');
  PcapOptions pcap{.interface = std::string(rest.substr(0, comma)),
                   .promiscuous = options.promiscuous,
                   .mtu = options.mtu,
                   .exclude = options.exclude};
  if (comma != std::string_view::npos) {
    const std::string_view option = rest.substr(comma + 1);
    if (option != "inject=packet" && option != "inject=pcap") {
      return base::Error("pcap:" + pcap.interface + ": \"" + std::string(option) +
                         "\" is neither inject=packet nor inject=pcap");
    }
    if (option == "inject=pcap") pcap.injection = Injection::kPcap;
  }
  return PcapPort::open_queues(pcap, queues);
}

}  // namespace

base::Result<FileOptions> parse_file_spec(std::string_view spec) {
  FileOptions out;
  if (spec.find(',') == std::string_view::npos) {
    return base::Error("file:" + std::string(spec) +
                       ": two names are needed, file:IN.pcap,OUT.pcap");
  }
  std::string_view rest = spec;
  out.in = next_part(rest);
  out.out = next_part(rest);
  while (!rest.empty()) {
    const std::string_view part = next_part(rest);
    constexpr std::string_view kSpeed = "speed=";
    if (part == "loop") {
      out.loop = true;
      continue;
    }
    double speed = 0;
    const char* const end = part.data() + part.size();
    const bool is_speed = part.starts_with(kSpeed);
    if (is_speed) {
      const auto [at, error] = std::from_chars(part.data() + kSpeed.size(), end, speed);
      if (error != std::errc() || at != end) speed = 0;
    }
    if (!(speed > 0 && speed < 1e9)) {
      return base::Error("file:" + std::string(spec) + ": \"" + std::string(part) +
                         "\" is neither loop nor speed=X with X above 0");
    }
    out.speed = speed;
  }
  return out;
}

base::Result<std::unique_ptr<FramePort>> open_port(const std::string& spec,
                                                   const PortOptions& options, base::Clock& clock) {
  auto queues = open_queues(spec, options, clock, 1);
  if (!queues) return queues.error();
  return std::move(queues->front());
}

base::Result<std::vector<std::unique_ptr<FramePort>>> open_queues(const std::string& spec,
                                                                  const PortOptions& options,
                                                                  base::Clock& clock,
                                                                  std::uint32_t queues) {
  const std::size_t colon = spec.find(':');
  const std::string kind = colon == std::string::npos ? "pcap" : spec.substr(0, colon);
  const std::string rest = colon == std::string::npos ? spec : spec.substr(colon + 1);
  if (kind == "file") return open_file(rest, options, clock, queues);
  if (kind != "pcap" && kind != "packet" && kind != "tap") {
    return base::Error("\"" + spec + "\" is not a kind of port: " + std::string(kKinds));
  }
  if (rest.empty())
    return base::Error("\"" + spec + "\" names no interface: " + std::string(kKinds));
  if (kind == "tap") return open_tap(rest, options, queues);
  if (kind == "packet") {
    return PacketPort::open_queues({.interface = rest,
                                    .promiscuous = options.promiscuous,
                                    .mtu = options.mtu,
                                    .exclude = options.exclude},
                                   queues);
  }
  return open_pcap(rest, options, queues);
}

}  // namespace splitnic::lan
