#include "control/client.h"

#include <dirent.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <vector>

#include "control/unix_socket.h"

namespace splitnic::control {
namespace {

base::Error unreachable(const std::string& path, int why) {
  const std::string what = "cannot reach a program on the control socket " + path;
  if (why == ENOENT || why == ECONNREFUSED) {
    return base::Error(what + ": nobody answers there; is it running, and is this its --control?",
                       why);
  }
  if (why == EACCES) return base::Error(what + ": not permitted; run this as its user", why);
  return base::Error::from_errno(what, why);
}

}  // namespace

base::Result<Client> Client::connect(const std::string& path) {
  const auto address = unix_address(path);
  if (!address) return address.error();
  base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return base::Error::from_errno("making a socket", errno);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0) {
    return unreachable(path, errno);
  }
  return Client(std::move(fd), path);
}

base::Result<Reply> Client::ask(const Request& request, base::Duration timeout) {
  const base::Time until = std::chrono::steady_clock::now() + timeout;
  if (auto sent = send_all(encode(request), until); !sent) return sent.error();
  const auto length = receive(kLengthBytes, until);
  if (!length) return length.error();
  const std::size_t bytes = decode_length(*length);
  if (bytes > kReplyBytesMax) return base::Error("the answer on " + path_ + " is too long");
  const auto body = receive(bytes, until);
  if (!body) return body.error();
  auto reply = decode_reply(*body);
  if (!reply) return base::Error("the answer on " + path_ + " is malformed: another version?");
  return *std::move(reply);
}

base::Status Client::wait(short events, base::Time until) {
  using std::chrono::milliseconds;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    pollfd entry{fd_.get(), events, 0};
    const int ready =
        ::poll(&entry, 1, static_cast<int>(std::max<milliseconds::rep>(left.count(), 0)));
    if (ready > 0) return {};
    if (ready == 0) return base::Error("no answer on the control socket " + path_ + " in time");
    if (errno != EINTR) return base::Error::from_errno("waiting on " + path_, errno);
  }
}

base::Status Client::send_all(const std::string& bytes, base::Time until) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::send(fd_.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN) {
      if (auto ready = wait(POLLOUT, until); !ready) return ready;
    } else if (errno != EINTR) {
      return base::Error::from_errno("asking on the control socket " + path_, errno);
    }
  }
  return {};
}

base::Result<std::string> Client::receive(std::size_t bytes, base::Time until) {
  std::string in(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::recv(fd_.get(), in.data() + done, bytes - done, 0);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (n == 0) {
      return base::Error("the program closed the control socket " + path_ + " without an answer");
    } else if (errno == EAGAIN) {
      if (auto ready = wait(POLLIN, until); !ready) return ready.error();
    } else if (errno != EINTR) {
      return base::Error::from_errno("reading the answer on " + path_, errno);
    }
  }
  return {boost::system::in_place_value, std::move(in)};
}

base::Result<std::string> only_socket_in(const std::string& folder) {
  constexpr std::string_view kSuffix = ".sock";
  std::vector<std::string> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder.c_str()), ::closedir);
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name.size() > kSuffix.size() && name.ends_with(kSuffix)) {
      found.push_back(folder + "/" + std::string(name));
    }
  }
  if (found.empty()) {
    return base::Error("no control socket in " + folder +
                       ": start splitnic-iou or splitnic-host, or name it with --control");
  }
  if (found.size() == 1) return {boost::system::in_place_value, found.front()};
  std::sort(found.begin(), found.end());
  std::string text = "several control sockets, choose one with --control:";
  for (const std::string& path : found) text += " " + path;
  return base::Error(text);
}

}  // namespace splitnic::control
