#include "fabric_emul/underlay/shm_underlay.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "fabric_emul/underlay/shm_greeting.h"

namespace splitnic::fabric {
namespace {

constexpr int kBacklog = 16;
// Checksums read a short cell back while the other processor holds its lines: copies are faster.
constexpr std::size_t kLentMin = 4096;
constexpr int kWakeUpsPerIteration = 16;
// Of an owner who does not sleep: so often it looks for connections and ends.
constexpr unsigned kEmptyTurns = 64;
constexpr std::uint32_t kListenerNumber = 0;  // what a connector calls its peer
constexpr std::uint32_t kListenerKey = 0xFFFFFFFF;
constexpr std::uint32_t kRetryKey = 0xFFFFFFFE;

PeerAddress address_of(std::uint32_t number) {
  PeerAddress address;
  std::memcpy(address.bytes.data(), "shm", 4);
  std::memcpy(address.bytes.data() + 4, &number, sizeof(number));
  return address;
}

std::uint32_t number_of(const PeerAddress& address) {
  std::uint32_t number = 0;
  std::memcpy(&number, address.bytes.data() + 4, sizeof(number));
  return number;
}

// Room in sun_path was checked by open().
sockaddr_un socket_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int connect_to(int fd, const std::string& path) {
  const sockaddr_un address = socket_address(path);
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ? 0
                                                                                          : errno;
}

base::UniqueFd new_socket() {
  return base::UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

bool is_trusted_user(int fd) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

// Lost if the peer has many of them unread already: it is awake then.
void wake(int socket) {
  const char byte = 'w';
  [[maybe_unused]] const ssize_t sent = ::send(socket, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace

std::string shm_directory() {
  const char* chosen = std::getenv("SPLITNIC_SHM_DIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/dev/shm";
}

PeerAddress ShmUnderlay::listener_address() { return address_of(kListenerNumber); }

base::Result<std::unique_ptr<ShmUnderlay>> ShmUnderlay::open(const ShmConfig& config) {
  std::unique_ptr<ShmUnderlay> made(new ShmUnderlay(config));
  if (made->path_.size() >= sizeof(sockaddr_un::sun_path)) {
    return base::Error("the socket path " + made->path_ + " is too long: choose a shorter name");
  }
  if (!is_ring_length(config.ring_bytes)) {
    return base::Error("a shm ring is a power of two of 128 KiB to 64 MiB");
  }
  made->poll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  made->retry_.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!made->poll_.valid() || !made->retry_.valid() ||
      !made->watch(made->retry_.get(), kRetryKey)) {
    return base::Error::from_errno("making what to poll for shm", errno);
  }
  if (!config.listens) {
    made->connect();
  } else if (const base::Status status = made->listen(); !status) {
    return status.error();
  }
  return made;
}

ShmUnderlay::ShmUnderlay(const ShmConfig& config)
    : config_(config),
      path_(config.directory + "/splitnic-" + config.name),
      buffer_(kShmBatchMax) {}

ShmUnderlay::~ShmUnderlay() {
  if (owns_path_) ::unlink(path_.c_str());
}

bool ShmUnderlay::watch(int fd, std::uint32_t key) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.u32 = key;
  return ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

base::Status ShmUnderlay::listen() {
  listener_ = new_socket();
  if (!listener_.valid()) return base::Error::from_errno("opening a socket", errno);
  ::fchmod(listener_.get(), 0600);  // the mode that bind gives the path
  const sockaddr_un address = socket_address(path_);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  int error = ::bind(listener_.get(), generic, sizeof(address)) == 0 ? 0 : errno;
  // A socket that nobody listens at was left by a process that was killed.
  if (error == EADDRINUSE && connect_to(new_socket().get(), path_) == ECONNREFUSED) {
    ::unlink(path_.c_str());
    error = ::bind(listener_.get(), generic, sizeof(address)) == 0 ? 0 : errno;
  }
  if (error == EADDRINUSE) {
    return base::Error(path_ + " is in use: another process listens there, choose another name",
                       error);
  }
  if (error != 0) return base::Error::from_errno("binding to " + path_, error);
  owns_path_ = true;
  if (::listen(listener_.get(), kBacklog) != 0 || !watch(listener_.get(), kListenerKey)) {
    return base::Error::from_errno("listening at " + path_, errno);
  }
  return {};
}

// Quietly nothing if there is no listener: the next send tries again.
void ShmUnderlay::connect() {
  auto wire = std::make_unique<Wire>();
  wire->number = kListenerNumber;
  wire->socket = new_socket();
  if (!wire->socket.valid() || connect_to(wire->socket.get(), path_) != 0) return;
  if (!is_trusted_user(wire->socket.get())) {
    counters_.add(ShmCounter::kRefusedUser);
    return;
  }
  if (watch(wire->socket.get(), wire->number)) wires_.push_back(std::move(wire));
}

void ShmUnderlay::accept_all() {
  for (int i = 0; i < kBacklog; ++i) {
    base::UniqueFd socket(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) return;
    accept_one(std::move(socket));
  }
}

// Refused by closing the socket.
void ShmUnderlay::accept_one(base::UniqueFd socket) {
  if (!is_trusted_user(socket.get())) return counters_.add(ShmCounter::kRefusedUser);
  if (wires_.size() >= config_.clients_max) return counters_.add(ShmCounter::kRefusedFull);
  auto memory = ShmSegment::make(config_.ring_bytes);
  if (!memory) return counters_.add(ShmCounter::kDropHandshake);
  auto segment = ShmSegment::map(memory->get(), config_.ring_bytes);
  if (!segment || !send_greeting(socket.get(), memory->get(), config_.ring_bytes)) {
    return counters_.add(ShmCounter::kDropHandshake);
  }
  auto wire = std::make_unique<Wire>();
  do {  // numbers are not used twice, but for a wrap
    wire->number = last_number_ = last_number_ % 0x7FFFFFFF + 1;
  } while (find(wire->number) != nullptr);
  wire->socket = std::move(socket);
  if (!watch(wire->socket.get(), wire->number)) return counters_.add(ShmCounter::kDropHandshake);
  attach(*wire, std::move(*segment));
  wires_.push_back(std::move(wire));
  counters_.add(ShmCounter::kClients);
}

void ShmUnderlay::attach(Wire& wire, std::unique_ptr<ShmSegment> segment) {
  const std::size_t ours = config_.listens ? 0 : 1;
  wire.segment = std::move(segment);
  wire.out.emplace(wire.segment->control(ours), wire.segment->bytes(ours));
  wire.in.emplace(wire.segment->control(1 - ours), wire.segment->bytes(1 - ours));
}

void ShmUnderlay::take_segment(Wire& wire) {
  Greeted got = receive_greeting(wire.socket.get());
  if (got.what == Greeted::What::kNothingYet) return;
  if (got.what == Greeted::What::kGood) {
    if (auto segment = ShmSegment::map(got.segment.get(), got.ring_bytes)) {
      return attach(wire, std::move(*segment));
    }
  }
  counters_.add(ShmCounter::kDropHandshake);
  wire.broken = true;
}

ShmUnderlay::Wire* ShmUnderlay::find(std::uint32_t number) {
  for (const auto& wire : wires_) {
    if (wire->number == number) return wire.get();
  }
  return nullptr;
}

// The owner's poll must tell of room until send() was tried, also if receive() read the wake-up
// first.
void ShmUnderlay::update_retry() {
  const bool on = std::ranges::any_of(wires_, [](const auto& wire) { return wire->has_room; });
  if (on == is_retry_set_) return;
  is_retry_set_ = on;
  eventfd_t count = 0;
  if (on)
    ::eventfd_write(retry_.get(), 1);
  else
    ::eventfd_read(retry_.get(), &count);
}

Underlay::SendStatus ShmUnderlay::send(const PeerAddress& to, base::Bytes bytes,
                                       std::size_t stride) {
  Wire* wire = find(number_of(to));
  if (wire == nullptr && !config_.listens) {
    connect();
    return SendStatus::kRefused;
  }
  if (wire == nullptr) return SendStatus::kRefused;
  if (wire->lent != nullptr && wire->lent != bytes.data()) {
    wire->is_loan_awaited = true;
    return SendStatus::kBlocked;
  }
  if (wire->ended || wire->broken || !wire->out) {
    end_loan(*wire);
    return SendStatus::kRefused;
  }
  if (bytes.size() > kShmBatchMax) return SendStatus::kTooLong;
  if (wire->has_room) {
    wire->has_room = false;
    update_retry();
  }
  const ShmRing::Result result = wire->lent != nullptr
                                     ? wire->out->put_in_place(bytes.size(), stride)
                                     : wire->out->put(bytes, stride);
  end_loan(*wire);
  switch (result) {
    case ShmRing::Result::kDone:
      wire->blocked = false;
      if (wire->out->should_wake_taker()) wake(wire->socket.get());
      return SendStatus::kSent;
    case ShmRing::Result::kWait:
      wire->blocked = true;
      return SendStatus::kBlocked;
    case ShmRing::Result::kBroken:
      break;
  }
  counters_.add(ShmCounter::kDropBroken);
  wire->broken = true;
  return SendStatus::kRefused;
}

base::MutableBytes ShmUnderlay::lend(const PeerAddress& to, std::size_t first_bytes) {
  if (first_bytes < kLentMin) return {};
  Wire* wire = find(number_of(to));
  if (wire == nullptr || wire->ended || wire->broken || !wire->out) return {};
  if (wire->lent != nullptr) return {};
  const base::MutableBytes room = wire->out->room();
  wire->lent = room.data();
  return room;
}

void ShmUnderlay::give_back(const PeerAddress& to) {
  if (Wire* wire = find(number_of(to)); wire != nullptr) end_loan(*wire);
}

// What had to wait for it may be tried again.
void ShmUnderlay::end_loan(Wire& wire) {
  if (wire.lent == nullptr) return;
  wire.lent = nullptr;
  if (!wire.is_loan_awaited) return;
  wire.is_loan_awaited = false;
  wire.has_room = true;
  update_retry();
}

// Wake-ups are read away; their number says nothing.
void ShmUnderlay::on_readable(Wire& wire) {
  if (!wire.segment) {
    take_segment(wire);
    if (!wire.segment) return;
  }
  std::array<char, 16> bytes;
  for (int i = 0; i < kWakeUpsPerIteration; ++i) {
    const ssize_t got = ::recv(wire.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) {
      wire.has_room = wire.blocked;
      update_retry();
      continue;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    wire.ended = true;
    wire.takes_left = wire.segment->bytes(0).size() / kShmStep;
    ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, wire.socket.get(), nullptr);
    return;
  }
}

bool ShmUnderlay::handle_events() {
  std::array<epoll_event, 16> events;
  const int count = ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), 0);
  bool any = false;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t key = events[static_cast<std::size_t>(i)].data.u32;
    if (key == kRetryKey) continue;
    any = true;
    if (key == kListenerKey) {
      accept_all();
    } else if (Wire* wire = find(key); wire != nullptr) {
      on_readable(*wire);
    }
  }
  return any;
}

std::optional<Underlay::Received> ShmUnderlay::take_from(Wire& wire) {
  if (!wire.in || wire.broken) return std::nullopt;
  if (wire.ended && wire.takes_left-- == 0) {
    wire.broken = true;
    return std::nullopt;
  }
  std::size_t bytes = 0;
  std::size_t stride = 0;
  switch (wire.in->take(buffer_, bytes, stride)) {
    case ShmRing::Result::kDone:
      if (wire.in->should_wake_putter()) wake(wire.socket.get());
      return Received{base::Bytes(buffer_).first(bytes), stride, address_of(wire.number)};
    case ShmRing::Result::kWait:
      if (wire.ended) wire.broken = true;
      return std::nullopt;
    case ShmRing::Result::kBroken:
      break;
  }
  counters_.add(ShmCounter::kDropBroken);
  wire.broken = true;
  return std::nullopt;
}

std::optional<Underlay::Received> ShmUnderlay::take_any() {
  for (std::size_t i = 0; i < wires_.size(); ++i) {
    next_wire_ = (next_wire_ + 1) % wires_.size();
    if (auto received = take_from(*wires_[next_wire_])) return received;
  }
  return std::nullopt;
}

void ShmUnderlay::remove_ended() {
  const std::size_t gone =
      std::erase_if(wires_, [](const auto& wire) { return wire->broken && wire->lent == nullptr; });
  if (gone == 0) return;
  counters_.add(ShmCounter::kClientsGone, gone);
  update_retry();
  next_wire_ = 0;
}

std::optional<Underlay::Received> ShmUnderlay::receive() {
  if (auto received = take_any()) return received;
  remove_ended();
  if (!is_woken_ && ++empty_turns_ < kEmptyTurns) return std::nullopt;
  is_woken_ = false;
  empty_turns_ = 0;
  if (!handle_events()) return std::nullopt;
  auto received = take_any();
  remove_ended();
  return received;
}

bool ShmUnderlay::may_sleep() {
  is_woken_ = true;
  return std::ranges::all_of(wires_, [](const auto& wire) {
    return !wire->in || wire->broken || wire->in->ask_for_wake();
  });
}

std::size_t ShmUnderlay::datagram_bytes_max(const PeerAddress&) const { return kShmBatchMax; }

std::string ShmUnderlay::name_of(const PeerAddress& peer) const {
  const std::uint32_t number = number_of(peer);
  if (number == kListenerNumber) return "shm://" + config_.name;
  return fmt::format("shm://{}#{}", config_.name, number);
}

}  // namespace splitnic::fabric
