#include "iou_module/nic/nic_opener.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <thread>

#include "messaging/connection.h"

namespace splitnic::iou {

static_assert(messaging::kQueuesMax <= control::SideProcess::kDescriptorsMax);

namespace {

using control::SideProcess;

constexpr auto kPause = std::chrono::milliseconds(100);
constexpr std::string_view kOpened = "opened";  // with the sockets; else the error

// The next number of a packet "NIC QUEUES".
std::size_t take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  return number;
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

// Whoever has taken over the unit gets no other sockets than the unit had, nor many at a time.
void serve(const SideProcess::Channel& channel, const std::vector<lan::PortSpec>& nics,
           const lan::PortOptions& options, std::size_t queues_max) {
  while (const auto packet = channel.receive()) {
    std::string_view text = *packet;
    const std::size_t nic = take_number(text);
    const std::size_t queues = take_number(text);
    const bool may_open = nic < nics.size() && nics[nic].kind == lan::PortSpec::Kind::kPacket &&
                          queues > 0 && queues <= queues_max;
    const std::string error = may_open ? open_one(channel, nics[nic], options, queues)
                                       : "no NIC that it opens, or too many queues";
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
