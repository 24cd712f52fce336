#include "control/socket/client.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>
#include <utility>
#include <vector>

#include "control/socket/unix_socket.h"

namespace splitnic::control {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

}  // namespace

base::Error unreachable(const std::string& path, const boost::system::error_code& why) {
  const std::string what = "cannot reach a program on the control socket " + path;
  if (why == asio::error::connection_refused || why.value() == ENOENT) {
    return base::Error(
        what + ": no program listens there; is it running, and is this its --control?",
        why.value());
  }
  if (why == asio::error::access_denied) {
    return base::Error(what + ": not permitted; run this as its user", why.value());
  }
  return base::Error::from_errno(what, why.value());
}

class Client::Impl {
 public:
  explicit Impl(std::string path) : path_(std::move(path)) {}

  base::Status connect() {
    const auto endpoint = unix_endpoint(path_);
    if (!endpoint) return endpoint.error();
    if (const ErrorCode error = connect_to_listener(socket_, *endpoint); error) {
      return unreachable(path_, error);
    }
    return {};
  }

  base::Result<Reply> ask(const Request& request, base::Duration timeout) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    const std::string out = encode(request);
    const auto sent = finish_by(until, "sending the request", [&](auto done) {
      asio::async_write(socket_, asio::buffer(out), std::move(done));
    });
    if (!sent) return sent.error();
    const auto length = receive(kLengthBytes, until);
    if (!length) return length.error();
    const std::size_t bytes = decode_length(*length);
    if (bytes > kReplyBytesMax) return base::Error("the reply on " + path_ + " is too long");
    const auto body = receive(bytes, until);
    if (!body) return body.error();
    auto reply = decode_reply(*body);
    if (!reply) return base::Error("the reply on " + path_ + " is malformed: another version?");
    return *std::move(reply);
  }

 private:
  base::Result<std::string> receive(std::size_t bytes, base::Time until) {
    std::string in(bytes, '\0');
    const auto received = finish_by(until, "reading the reply", [&](auto done) {
      asio::async_read(socket_, asio::buffer(in), std::move(done));
    });
    if (!received) return received.error();
    return {boost::system::in_place_value, std::move(in)};
  }

  // Runs one operation to its end, or closes the socket when its time is over.
  template <typename Start>
  base::Status finish_by(base::Time until, const std::string& what, Start start) {
    ErrorCode result = asio::error::would_block;
    start([&result](ErrorCode error, std::size_t) { result = error; });
    io_.restart();
    io_.run_until(until);
    if (result == asio::error::would_block) {
      ErrorCode ignored;
      socket_.close(ignored);
      io_.run();  // the handler refers to this call
      return base::Error("no reply on the control socket " + path_ + " in time");
    }
    if (result == asio::error::eof) {
      return base::Error("the program closed the control socket " + path_ + " without a reply");
    }
    if (result) return base::Error::from_errno(what + " on " + path_, result.value());
    return {};
  }

  const std::string path_;
  asio::io_context io_{1};
  asio::local::stream_protocol::socket socket_{io_};
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

base::Result<Client> Client::connect(const std::string& path) {
  auto impl = std::make_unique<Impl>(path);
  if (auto connected = impl->connect(); !connected) return connected.error();
  return Client(std::move(impl));
}

base::Result<Reply> Client::ask(const Request& request, base::Duration timeout) {
  return impl_->ask(request, timeout);
}

std::vector<std::string> sockets_in(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code none;  // no such folder: no socket
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (entry.path().extension() == ".sock") found.push_back(entry.path().string());
  }
  std::ranges::sort(found);
  return found;
}

base::Result<std::string> socket_of_interface(const std::string& folder, const std::string& name) {
  std::vector<std::string> of_name = sockets_in(folder);
  std::erase_if(of_name, [&](const std::string& path) {
    const std::string stem = std::filesystem::path(path).stem();
    return stem != name && !stem.ends_with("-" + name);
  });
  if (of_name.size() == 1) return {boost::system::in_place_value, of_name.front()};
  return only_socket_in(folder);
}

std::string socket_path(const std::string& folder, const std::string& path_or_name) {
  if (path_or_name.find('/') != std::string::npos) return path_or_name;
  return folder + "/" + path_or_name + ".sock";
}

base::Result<std::string> only_socket_in(const std::string& folder) {
  const std::vector<std::string> found = sockets_in(folder);
  if (found.empty()) {
    return base::Error("no control socket in " + folder +
                       ": start splitnic-iou or splitnic-host, or name it with --control");
  }
  if (found.size() == 1) return {boost::system::in_place_value, found.front()};
  std::vector<std::string> live = found;
  std::erase_if(live, [](const std::string& path) { return !Client::connect(path); });
  if (live.size() == 1) return {boost::system::in_place_value, live.front()};
  std::string text = "several control sockets, choose one with --control:";
  for (const std::string& path : found) text += " " + path;
  return base::Error(text);
}

}  // namespace splitnic::control
