#include "iou_module/nic/nic_opener.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <thread>

#include "base/parse_number.h"
#include "messaging/connection.h"

namespace splitnic::iou {

static_assert(messaging::kQueuesMax <= control::SideProcess::kDescriptorsMax);

namespace {

using control::SideProcess;

constexpr auto kPause = std::chrono::milliseconds(100);
constexpr std::string_view kOpened = "opened";  // with the sockets; else the error

// A packet "NIC QUEUES".
struct Request {
  std::size_t nic;
  std::size_t queues;
};

std::optional<Request> read_request(std::string_view packet) {
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  const std::size_t blank = packet.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const auto nic = base::parse_number<std::size_t>(packet.substr(0, blank), 0, kMax);
  const auto queues = base::parse_number<std::size_t>(packet.substr(blank + 1), 0, kMax);
  if (!nic || !queues) return std::nullopt;
  return Request{*nic, *queues};
}

// The ports are closed on return; who receives their descriptors has the sockets then. Returns the
// error, "" for none.
std::string open_one(const SideProcess::Channel& channel, const lan::PortSpec& nic,
                     const lan::PortOptions& options, std::size_t queues) {
  base::SystemClock clock;
  const auto ports = lan::open_queues(nic, options, clock, static_cast<std::uint32_t>(queues));
  if (!ports) return ports.error().text();
  if (ports->size() != queues) return nic.text + ": it has fewer queues than before";
  std::vector<int> descriptors;
  for (const auto& port : *ports) descriptors.push_back(port->fd());
  if (channel.send(std::string(kOpened), descriptors)) return "";
  return nic.text + ": its sockets cannot be passed on";
}

// As open_one(). Whoever has taken over the unit gets no other sockets than the unit had.
std::string open_requested(const SideProcess::Channel& channel, std::string_view packet,
                           const std::vector<lan::PortSpec>& nics, const lan::PortOptions& options,
                           std::size_t queues_max) {
  const auto request = read_request(packet);
  if (!request) return "the request is not a NIC and a number of queues";
  const bool may_open = request->nic < nics.size() &&
                        nics[request->nic].kind == lan::PortSpec::Kind::kPacket &&
                        request->queues > 0 && request->queues <= queues_max;
  if (!may_open) return "no NIC that it opens, or too many queues";
  return open_one(channel, nics[request->nic], options, request->queues);
}

// The pause: nor does it get many at a time.
void serve(const SideProcess::Channel& channel, const std::vector<lan::PortSpec>& nics,
           const lan::PortOptions& options, std::size_t queues_max) {
  while (const auto packet = channel.receive()) {
    const std::string error = open_requested(channel, *packet, nics, options, queues_max);
    if (!error.empty()) channel.send(error);
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

base::Result<std::unique_ptr<NicOpener>> NicOpener::begin(std::vector<lan::PortSpec> nics,
                                                          lan::PortOptions options,
                                                          std::size_t queues_max,
                                                          bool is_restricted) {
  std::optional<control::sandbox::Needs> kept;
  if (is_restricted) kept = {.changes_interfaces = true, .opens_interfaces = true};
  // libpcap would need its right in the program.
  for (lan::PortSpec& nic : nics) {
    if (nic.kind == lan::PortSpec::Kind::kPcap) nic.kind = lan::PortSpec::Kind::kPacket;
  }
  const std::size_t count = nics.size();
  auto begun = SideProcess::begin(
      "splitnic-nics", kept,
      [nics = std::move(nics), options = std::move(options),
       queues_max](SideProcess::Channel channel) { serve(channel, nics, options, queues_max); });
  if (!begun) return begun.error();
  return std::unique_ptr<NicOpener>(new NicOpener(*std::move(begun), count));
}

void NicOpener::request(std::size_t nic, std::size_t queues) { nics_.at(nic).queues = queues; }

std::optional<NicOpener::Opened> NicOpener::step(base::Time now) {
  if (asked_) {
    look_at_ = now + kLooksEvery;
    auto packet = process_->receive_packet();
    if (!packet && process_->is_alive()) return std::nullopt;
    const std::size_t nic = *std::exchange(asked_, std::nullopt);
    nics_[nic].queues = 0;  // requested meanwhile, which this is the reply to
    if (packet) return Opened{nic, read(*std::move(packet))};
    return Opened{nic, base::Error("the process that opens NICs has ended: start again")};
  }
  for (std::size_t i = 0; i < nics_.size(); ++i) {
    if (nics_[i].queues == 0 || now < nics_[i].not_before) continue;
    const std::size_t queues = nics_[i].queues;
    nics_[i].not_before = now + kRetryAfter;
    look_at_ = now + kLooksEvery;
    asked_ = i;
    process_->send(std::to_string(i) + " " + std::to_string(queues));
    break;
  }
  return std::nullopt;
}

base::Time NicOpener::deadline() const {
  if (asked_) return look_at_;
  base::Time at = base::kNever;
  for (const Nic& nic : nics_) {
    if (nic.queues != 0) at = std::min(at, nic.not_before);
  }
  return at;
}

base::Result<std::vector<base::UniqueFd>> NicOpener::read(SideProcess::Packet packet) const {
  if (packet.text == kOpened && !packet.descriptors.empty()) return std::move(packet.descriptors);
  return base::Error(packet.text);
}

}  // namespace splitnic::iou
