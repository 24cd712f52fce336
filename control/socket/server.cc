#include "control/socket/server.h"

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "base/own_user.h"
#include "control/socket/accept_retry.h"
#include "control/socket/mailbox.h"
#include "control/socket/served_client.h"
#include "control/socket/unix_socket.h"
#include "lan_bridge/frame/frame_capture.h"

namespace splitnic::control {
namespace {

namespace asio = boost::asio;
using Stream = asio::local::stream_protocol;
using ErrorCode = boost::system::error_code;

// The kernel has the user who connected, whatever the process has become since.
std::optional<std::uint32_t> user_of(Stream::socket& socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) {
    return std::nullopt;
  }
  return peer.uid;
}

bool is_root_or_own_user(std::uint32_t user) { return user == 0 || user == base::own_user(); }

// Clients that have a place, and how many of them are not trusted.
struct Places {
  std::size_t all = 0;
  std::size_t of_group = 0;

  void add(const ServedClient& client) {
    ++all;
    if (!client.is_trusted()) ++of_group;
  }
  bool has_room(bool is_trusted, const Places& most) const {
    return all < most.all && (is_trusted || of_group < most.of_group);
  }
};

// One reply to one request, from any thread. If it is destroyed without one, the client gets
// kFailed. A capture that has begun continues from there.
class PendingReply {
 public:
  PendingReply(std::shared_ptr<Mailbox> mailbox, std::weak_ptr<ServedClient> client,
               std::shared_ptr<lan::FrameCapture> capture)
      : mailbox_(std::move(mailbox)), client_(std::move(client)), capture_(std::move(capture)) {}
  ~PendingReply() { send(Reply{ReplyStatus::kFailed, "the program dropped the request"}); }
  PendingReply(const PendingReply&) = delete;
  PendingReply& operator=(const PendingReply&) = delete;
  void send(Reply reply);

 private:
  std::shared_ptr<Mailbox> mailbox_;
  std::weak_ptr<ServedClient> client_;  // locked on the control thread only
  std::shared_ptr<lan::FrameCapture> capture_;
  std::atomic<bool> is_sent_{false};
};

void PendingReply::send(Reply reply) {
  if (is_sent_.exchange(true)) return;
  mailbox_->post([client = client_, capture = std::move(capture_), reply = std::move(reply)] {
    const auto to = client.lock();
    if (!to) return;
    if (capture != nullptr && reply.status == ReplyStatus::kOk) return to->capture(capture);
    to->send(reply, false);
  });
}

}  // namespace

class Server::Impl : public ClientOwner, public std::enable_shared_from_this<Server::Impl> {
 public:
  Impl(asio::io_context& io, std::string path, RequestHandler handler, base::EventLog& events,
       UserCheck is_trusted)
      : path_(std::move(path)),
        handler_(std::move(handler)),
        events_(events),
        is_trusted_(is_trusted ? std::move(is_trusted) : UserCheck(is_root_or_own_user)),
        mailbox_(std::make_shared<Mailbox>(io)),
        acceptor_(io),
        retry_(io, "control socket") {}

  base::Status open() {
    if (auto listening = file_.listen(path_, acceptor_); !listening) return listening;
    accept();
    return {};
  }

  void stop() {
    mailbox_->close();
    file_.remove();
    ErrorCode ignored;
    acceptor_.close(ignored);
    retry_.cancel();
    const auto clients = std::exchange(clients_, {});
    for (const auto& client : clients) client->close();
  }

  void on_request(const std::shared_ptr<ServedClient>& client, Request request) override {
    if (request.command == Command::kMonitor) return on_monitor(client, request.count);
    if (request.command == Command::kEndCapture) return on_end_capture(client);
    if (request.command == Command::kCapture) {
      if (!capture_.expired()) {
        return client->send(
            {ReplyStatus::kRefused, "a capture runs already: splitnic capture stop ends it"},
            false);
      }
      request.frames = begin_capture(request.count);
    }
    auto pending = std::make_shared<PendingReply>(mailbox_, client, request.frames);
    handler_(std::move(request), [pending](Reply reply) { pending->send(std::move(reply)); });
  }
  void on_closed(const std::shared_ptr<ServedClient>& client) override { clients_.erase(client); }
  const std::string& path() const { return path_; }

 private:
  void on_monitor(const std::shared_ptr<ServedClient>& client, std::uint64_t past) {
    Places taken;
    for (const auto& one : clients_) {
      if (one->is_watching()) taken.add(*one);
    }
    if (taken.has_room(client->is_trusted(), {kWatchersMax, kGroupWatchersMax})) {
      return client->watch(events_, mailbox_, past);
    }
    client->send({ReplyStatus::kRefused,
                  std::to_string(taken.all) + " clients watch this program already: end one"},
                 false);
  }
  // It exists as long as its client, or the request.
  std::shared_ptr<lan::FrameCapture> begin_capture(std::uint32_t snap) {
    const base::Duration to_wall_clock = std::chrono::system_clock::now().time_since_epoch() -
                                         std::chrono::steady_clock::now().time_since_epoch();
    auto capture = std::make_shared<lan::FrameCapture>(to_wall_clock, snap);
    capture_ = capture;
    return capture;
  }
  void on_end_capture(const std::shared_ptr<ServedClient>& client) {
    const auto found = std::ranges::find_if(clients_, &ServedClient::is_capturing);
    if (found == clients_.end()) {
      return client->send({ReplyStatus::kRefused, "no capture runs here"}, false);
    }
    (*found)->end_capture();
    client->send({ReplyStatus::kOk, ""}, false);
  }
  void accept() {
    acceptor_.async_accept([self = shared_from_this()](ErrorCode error, Stream::socket socket) {
      if (error == asio::error::operation_aborted || !self->acceptor_.is_open()) return;
      if (error) return self->accept_later(error);
      self->retry_.accepted();
      self->admit(std::move(socket));
      self->accept();
    });
  }
  // A client without a place is closed.
  void admit(Stream::socket socket) {
    const auto user = user_of(socket);
    const bool is_trusted = user && is_trusted_(*user);
    Places taken;
    for (const auto& one : clients_) taken.add(*one);
    if (!taken.has_room(is_trusted, {kClientsMax, kGroupClientsMax})) return;
    auto client = std::make_shared<ServedClient>(std::move(socket), is_trusted, shared_from_this());
    clients_.insert(client);
    client->start();
  }
  void accept_later(ErrorCode error) {
    retry_.accept_later(error, [self = shared_from_this()] {
      if (self->acceptor_.is_open()) self->accept();
    });
  }

  std::string path_;
  RequestHandler handler_;
  base::EventLog& events_;
  const UserCheck is_trusted_;
  std::shared_ptr<Mailbox> mailbox_;
  Stream::acceptor acceptor_;
  AcceptRetry retry_;
  SocketFile file_{"--name (of a service: another instance name) or --control"};
  std::set<std::shared_ptr<ServedClient>> clients_;
  std::weak_ptr<lan::FrameCapture> capture_;  // the one that runs
};

base::Result<std::unique_ptr<Server>> Server::open(asio::io_context& io, const std::string& path,
                                                   RequestHandler handler, base::EventLog& events,
                                                   UserCheck is_trusted) {
  auto impl = std::make_shared<Impl>(io, path, std::move(handler), events, std::move(is_trusted));
  if (auto opened = impl->open(); !opened) return opened.error();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() { stop(); }
void Server::stop() { impl_->stop(); }
const std::string& Server::path() const { return impl_->path(); }

}  // namespace splitnic::control
