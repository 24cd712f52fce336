// Set-up of a shared-memory underlay: the socket, connecting and accepting, the segment of a wire.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/own_user.h"
#include "fabric_emul/underlay/shm_handshake.h"
#include "fabric_emul/underlay/shm_underlay.h"

namespace splitnic::fabric {
namespace {

constexpr int kAcceptedMax = 16;  // in one call

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

std::optional<std::uint32_t> user_at(int fd) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return std::nullopt;
  return peer.uid;
}

bool is_own_or_root(std::uint32_t user) { return user == base::own_user() || user == 0; }

bool alone_writes(std::uint32_t user, const std::string& directory) {
  struct stat found {};
  return ::stat(directory.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == user &&
         (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

constexpr const char* kServiceDirectory = "/run/splitnic";

// Returns $SPLITNIC_SHM_DIR, or null if that is not set.
const char* chosen_directory() {
  const char* chosen = std::getenv("SPLITNIC_SHM_DIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : nullptr;
}

std::string path_in(const std::string& directory, const std::string& name) {
  return directory + "/splitnic-" + name;
}

}  // namespace

std::string shm_directory() {
  if (const char* chosen = chosen_directory()) return chosen;
  const bool is_ours = base::own_user() == 0 || ::access(kServiceDirectory, W_OK) == 0;
  return is_ours ? kServiceDirectory : "/dev/shm";
}

std::string shm_service_directory() {
  return chosen_directory() != nullptr ? "" : kServiceDirectory;
}

base::Result<std::unique_ptr<ShmUnderlay>> ShmUnderlay::open(const ShmConfig& config) {
  std::unique_ptr<ShmUnderlay> made(new ShmUnderlay(config));
  for (const std::string& path : {made->path_, path_in(config.service_directory, config.name)}) {
    if (path.size() < sizeof(sockaddr_un::sun_path)) continue;
    return base::Error("the socket path " + path + " is too long: choose a shorter name");
  }
  if (!is_ring_length(config.ring_bytes)) {
    return base::Error("a shm ring is a power of two of 128 KiB to 64 MiB");
  }
  made->poll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  made->retry_.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!made->poll_.valid() || !made->retry_.valid() ||
      !made->watch(made->retry_.get(), kRetryKey)) {
    return base::Error::from_errno("creating the shm epoll set", errno);
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
      accept_limit_(config.clock, config.clients_max),
      path_(path_in(config.directory, config.name)),
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
  ::mkdir(config_.directory.c_str(), 0755);  // bind reports a folder that is not there
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
  // Of named users the kernel reports who they are only once they have connected.
  if (config_.users && ::chmod(path_.c_str(), 0666) != 0) {
    return base::Error::from_errno("opening " + path_ + " to other users", errno);
  }
  if (::listen(listener_.get(), SOMAXCONN) != 0 || !watch(listener_.get(), kListenerKey)) {
    return base::Error::from_errno("listening at " + path_, errno);
  }
  keep_spare();
  return {};
}

bool ShmUnderlay::admits(std::uint32_t user) const {
  if (!config_.users) return is_own_or_root(user);
  return std::ranges::find(*config_.users, user) != config_.users->end();
}

// Each connection takes a place and a segment, before its peer has sent anything.
bool ShmUnderlay::has_share_left(std::uint32_t user) const {
  if (!config_.users) return true;
  const std::size_t share = config_.clients_max / std::max<std::size_t>(config_.users->size(), 1);
  const auto taken = std::ranges::count_if(
      wires_, [&](const auto& wire) { return wire->user == user && !wire->has_ended; });
  return static_cast<std::size_t>(taken) <
         std::clamp<std::size_t>(share, 1, config_.clients_of_user_max);
}

void ShmUnderlay::set_users(std::vector<std::uint32_t> users) {
  config_.users = std::move(users);
  for (const auto& wire : wires_) {
    if (!admits(wire->user)) wire->is_broken = true;
  }
}

// Does nothing if there is no listener: the next send retries.
void ShmUnderlay::connect() {
  if (!config_.service_directory.empty() && connect_in(config_.service_directory)) return;
  if (config_.directory != config_.service_directory) connect_in(config_.directory);
}

bool ShmUnderlay::connect_in(const std::string& directory) {
  auto wire = std::make_unique<Wire>();
  wire->number = kListenerNumber;
  wire->socket = new_socket();
  if (!wire->socket.valid() ||
      connect_to(wire->socket.get(), path_in(directory, config_.name)) != 0) {
    return false;
  }
  const auto user = user_at(wire->socket.get());
  if (!user || (!is_own_or_root(*user) && !alone_writes(*user, directory))) {
    counters_.add(ShmCounter::kRefusedUser);
    return true;
  }
  wire->user = *user;
  if (watch(wire->socket.get(), wire->number)) wires_.push_back(std::move(wire));
  return true;
}

void ShmUnderlay::accept_all() {
  for (int i = 0; i < kAcceptedMax; ++i) {
    base::UniqueFd socket(::accept(listener_.get(), nullptr, nullptr));
    if (!socket.valid() && (errno == EMFILE || errno == ENFILE)) {
      refuse_for_want_of_descriptors();
      continue;
    }
    if (!socket.valid() || ::fcntl(socket.get(), F_SETFD, FD_CLOEXEC) != 0 ||
        ::fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0) {
      return;
    }
    accept_one(std::move(socket));
  }
}

// A client that waits in the backlog would keep the listener readable, and the data thread awake.
void ShmUnderlay::refuse_for_want_of_descriptors() {
  spare_.reset();
  if (const base::UniqueFd refused(::accept(listener_.get(), nullptr, nullptr)); refused.valid()) {
    counters_.add(ShmCounter::kRefusedFull);
  }
  keep_spare();
}

void ShmUnderlay::keep_spare() {
  spare_ = base::UniqueFd(::fcntl(listener_.get(), F_DUPFD_CLOEXEC, 0));
}

// For a client that comes: drops what clients that have ended left in their rings.
void ShmUnderlay::free_places() {
  for (const auto& wire : wires_) {
    if (wire->has_ended) wire->is_broken = true;
  }
  remove_ended();
}

// Refused by closing the socket.
void ShmUnderlay::accept_one(base::UniqueFd socket) {
  const auto user = user_at(socket.get());
  if (!user || !admits(*user)) return counters_.add(ShmCounter::kRefusedUser);
  if (!accept_limit_.take(*user)) return counters_.add(ShmCounter::kRefusedRate);
  if (wires_.size() >= config_.clients_max && has_share_left(*user)) free_places();
  if (wires_.size() >= config_.clients_max) return counters_.add(ShmCounter::kRefusedFull);
  if (!has_share_left(*user)) return counters_.add(ShmCounter::kRefusedShare);
  auto memory = ShmSegment::make(config_.ring_bytes);
  if (!memory) return counters_.add(ShmCounter::kDropHandshake);
  auto segment = ShmSegment::map(memory->get(), config_.ring_bytes);
  if (!segment || !send_shm_handshake(socket.get(), memory->get(), config_.ring_bytes)) {
    return counters_.add(ShmCounter::kDropHandshake);
  }
  auto wire = std::make_unique<Wire>();
  do {  // numbers are not used twice, but for a wrap
    wire->number = last_number_ = last_number_ % 0x7FFFFFFF + 1;
  } while (find(wire->number) != nullptr);
  wire->user = *user;
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
  ShmHandshake got = receive_shm_handshake(wire.socket.get());
  if (got.status == ShmHandshake::Status::kPending) return;
  if (got.status == ShmHandshake::Status::kValid) {
    if (auto segment = ShmSegment::map(got.segment.get(), got.ring_bytes)) {
      return attach(wire, std::move(*segment));
    }
  }
  counters_.add(ShmCounter::kDropHandshake);
  wire.is_broken = true;
}

}  // namespace splitnic::fabric
