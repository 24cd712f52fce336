#include "lan_bridge/ports/capture_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "lan_bridge/ports/packet_socket.h"

namespace splitnic::lan {

void CapturePort::warn_of_cut(std::string_view what, std::size_t got, std::string_view limit,
                              std::size_t wanted) const {
  if (observes()) return;
  base::log_warn(fmt::format(
      "{}: the {} buffer is {} bytes only: raise net.core.{} to {}, or grant CAP_NET_ADMIN", name_,
      what, got, limit, wanted / 2));
}

base::Result<std::vector<std::unique_ptr<FramePort>>> CapturePort::open_all(std::uint32_t queues,
                                                                            const Open& open) {
  auto first = open(QueueRole::kOwner);
  if (!first) return first.error();
  CapturePort& owner = **first;
  std::vector<std::unique_ptr<FramePort>> out;
  out.push_back(std::move(*first));
  if (queues == 1) return out;
  FanoutGroup group;
  base::Status status = owner.join(group);
  while (status && out.size() < queues) {
    auto next = open(QueueRole::kObserver);
    status = next ? (*next)->join(group) : base::Status(next.error());
    if (status) out.push_back(std::move(*next));
  }
  if (!status) {
    base::log_warn(fmt::format("{}: {} of {} queues are in use: {}: request fewer queues",
                               owner.name(), out.size(), queues, status.error().text()));
  }
  return out;
}

base::Status CapturePort::join(FanoutGroup& group) {
  if (auto status = group.join(capture_fd()); !status) return status;
  is_in_group_ = true;
  if (observes()) discard_captured();
  return filter_fabric();
}

base::Status CapturePort::filter_fabric() {
  if (!has_filter()) return {};
  filtered_mac_ = link_->state().mac;
  auto program = exclude_fabric(options_.exclude, filtered_mac_);
  if (!program) return program.error();
  return attach_filter(std::move(*program));
}

base::Status CapturePort::filter_returned(int socket, const MacAddress& mac) const {
  if (!has_filter()) return {};
  auto program = exclude_fabric(options_.exclude, mac);
  if (!program) return program.error();
  return attach(socket, std::move(*program));
}

base::Status CapturePort::begin_socket(base::UniqueFd socket, bool may_have_long_header) {
  const auto form = VnetForm::request(socket.get(), may_have_long_header);
  if (!form) return form.error();
  use_socket(std::move(socket), *form);
  return {};
}

void CapturePort::use_socket(base::UniqueFd socket, const VnetForm& form) {
  receiver_.emplace(socket.get(), form, counters_, splitter_);
  sender_.emplace(socket.get(), form, counters_);
  socket_ = std::move(socket);
}

// The process that has opened the socket has set everything that takes privileges. The kernel may
// refuse the rest: until the link has returned, only the new socket has changed.
base::Result<FramePort::Descriptors> CapturePort::return_by(base::UniqueFd socket) {
  sockaddr_ll bound{};
  socklen_t bytes = sizeof bound;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &bytes) < 0 ||
      bound.sll_family != AF_PACKET) {
    return base::Error(name_ + ": what came is no packet socket");
  }
  MacAddress mac{};
  std::copy_n(bound.sll_addr, std::min<std::size_t>(bound.sll_halen, mac.size()), mac.begin());
  const auto form = VnetForm::request(socket.get());
  if (!form) return form.error().within(name_);
  if (auto filtered = filter_returned(socket.get(), mac); !filtered) {
    return filtered.error().within(name_);
  }
  if (auto back = link_->return_as(static_cast<unsigned>(bound.sll_ifindex)); !back) {
    return back.error();
  }
  kernel_drops();
  Descriptors former;
  give_up(former);
  use_socket(std::move(socket), *form);
  filtered_mac_ = mac;
  share_output(is_output_shared_);
  if (observes()) return former;
  const auto received =
      memberships_.move_to(socket_.get(), link_->index(), {.promiscuous = options_.promiscuous});
  if (!received) return received.error();
  return former;
}

base::Status CapturePort::attach(int socket, std::vector<sock_filter> program) const {
  if (is_in_group_) exclude_outgoing(program);
  const sock_fprog code{static_cast<unsigned short>(program.size()), program.data()};
  if (!set_option(socket, SOL_SOCKET, SO_ATTACH_FILTER, code)) {
    return base::Error::from_errno("attaching the capture filter", errno);
  }
  return {};
}

PortState CapturePort::state() {
  const PortState now = link_->state();
  if (observes() && now.mac != filtered_mac_) {
    if (const auto status = filter_fabric(); !status) {
      base::log_warn(name_ + ": " + status.error().text() +
                     ": a queue captures the fabric of the unit: start again");
    }
  }
  return now;
}

// Not by pcap_stats(), which opens files of the interface that the program has no use for.
std::uint64_t CapturePort::kernel_drops() const {
  tpacket_stats stats{};
  socklen_t bytes = sizeof stats;
  // Reading the statistics resets them.
  if (::getsockopt(capture_fd(), SOL_PACKET, PACKET_STATISTICS, &stats, &bytes) == 0) {
    kernel_drops_ += stats.tp_drops;
  }
  return kernel_drops_;
}

void CapturePort::set_send_buffer(std::size_t bytes) {
  if (link_->is_gone()) return;  // return_by() sets that of the next socket
  const std::size_t got = set_buffer(write_fd(), SO_SNDBUFFORCE, SO_SNDBUF, bytes);
  if (got >= bytes || is_send_cut_logged_) return;
  is_send_cut_logged_ = true;
  warn_of_cut("send", got, "wmem_max", bytes);
}

std::size_t CapturePort::send_batch(std::span<const base::Bytes> frames) {
  if (!sender_) return 0;
  std::size_t count = 0;
  const std::size_t most = std::min(frames.size(), VnetSender::kBatch);
  while (count < most && !is_short(frames[count]) && can_send_whole(frames[count])) ++count;
  return sender_->send_batch(frames.first(count));
}

bool CapturePort::send_one(base::Bytes frame) {
  const VnetSender::Outcome outcome = sender_->send(frame);
  if (outcome == VnetSender::Outcome::kRefused) segment_refused(frame);
  return outcome != VnetSender::Outcome::kBlocked;
}

}  // namespace splitnic::lan
