#include "control/metrics/metrics_server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/event_log.h"
#include "base/log.h"
#include "control/metrics/metrics_client.h"
#include "control/metrics/metrics_text.h"
#include "control/metrics/state_json.h"
#include "control/socket/accept_retry.h"
#include "control/socket/mailbox.h"
#include "control/socket/unix_socket.h"

namespace splitnic::control {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Client = MetricsClient::Pointer;
using Text = MetricsClient::Text;

}  // namespace

class MetricsServer::Impl : public MetricsClient::Owner, public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::io_context& io, SnapshotSource source)
      : io_(io),
        source_(std::move(source)),
        mailbox_(std::make_shared<Mailbox>(io)),
        retry_(io, "metrics") {}

  base::Status open(const MetricsAddress& address) {
    if (!address.path.empty()) {
      auto& acceptor = local_.emplace(io_);
      if (auto listening = file_.listen(address.path, acceptor); !listening) return listening;
      accept(acceptor);
      return {};
    }
    is_loopback_ = address.ip.is_loopback();
    const asio::ip::tcp::endpoint endpoint(address.ip, address.port);
    auto& acceptor = tcp_.emplace(io_);
    ErrorCode error;
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) bind(acceptor, endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) return base::Error::from_errno("listening for metrics", error.value());
    accept(acceptor);
    return {};
  }

  void stop() {
    mailbox_->close();
    file_.remove();
    ErrorCode ignored;
    if (local_) local_->close(ignored);
    if (tcp_) tcp_->close(ignored);
    retry_.cancel();
    waiting_.clear();
    const auto clients = std::exchange(clients_, {});
    for (const auto& client : clients) client->close();
  }

  void want(MetricsResource::Kind what, const Client& client) override {
    const auto now = Clock::now();
    if (snapshot_ && now - snapshot_->at < kMetricsAge) return client->send(text_of(what));
    waiting_.emplace_back(client, what);
    // A snapshot that never came, because a data thread ended, does not hold up the next one.
    if (is_asked_ && now - asked_at_ < kMetricsClientTime) return;
    is_asked_ = true;
    asked_at_ = now;
    const bool is_posted =
        source_([mailbox = mailbox_, self = weak_from_this()](Snapshot snapshot) {
          mailbox->post([self, snapshot = std::move(snapshot), at = Clock::now()] {
            if (const auto server = self.lock()) server->on_snapshot(snapshot, at);
          });
        });
    if (is_posted) return;
    snapshot_.reset();
    respond_to_all();
  }
  void on_closed(const Client& client) override { std::erase(clients_, client); }

 private:
  // A snapshot, and the texts that were made of it: each when it is requested first.
  struct Made {
    Snapshot snapshot;
    Clock::time_point at;
    Text metrics, state;
  };

  // An interface may get the address after the program has begun, and given up the right to bind:
  // the socket takes the address before, and the kernel lets clients in once it is there. [B-06]
  static void bind(asio::ip::tcp::acceptor& acceptor, const asio::ip::tcp::endpoint& endpoint,
                   ErrorCode& error) {
    acceptor.bind(endpoint, error);
    if (error != boost::system::errc::address_not_available) return;
    const bool is_v6 = endpoint.address().is_v6();
    const int yes = 1;
    if (::setsockopt(acceptor.native_handle(), is_v6 ? IPPROTO_IPV6 : IPPROTO_IP,
                     is_v6 ? IPV6_FREEBIND : IP_FREEBIND, &yes, sizeof yes) != 0) {
      return;
    }
    acceptor.bind(endpoint, error);
    if (error) return;
    base::log_warn("--metrics: no interface of this machine has the address " +
                   endpoint.address().to_string() + "; waiting for that to change");
  }
  void on_snapshot(Snapshot snapshot, Clock::time_point at) {
    snapshot.counters.emplace_back("metrics.drop.busy", dropped_);
    snapshot_ = Made{std::move(snapshot), at, nullptr, nullptr};
    respond_to_all();
  }
  // Null without a snapshot.
  Text text_of(MetricsResource::Kind what) {
    if (!snapshot_) return nullptr;
    const bool is_state = what == MetricsResource::Kind::kState;
    Text& text = is_state ? snapshot_->state : snapshot_->metrics;
    if (text == nullptr) {
      text = std::make_shared<const std::string>(
          is_state
              ? state_json(snapshot_->snapshot, snapshot_->at.time_since_epoch(), base::events())
              : metrics_text(snapshot_->snapshot));
    }
    return text;
  }
  void respond_to_all() {
    is_asked_ = false;
    for (const auto& [waiting, what] : std::exchange(waiting_, {})) {
      if (const auto client = waiting.lock()) client->send(text_of(what));
    }
  }

  template <class Acceptor>
  void accept(Acceptor& acceptor) {
    acceptor.async_accept([self = shared_from_this(), &acceptor](
                              ErrorCode error, typename Acceptor::protocol_type::socket socket) {
      if (error == asio::error::operation_aborted || !acceptor.is_open()) return;
      if (error) return self->accept_later(acceptor, error);
      self->retry_.accepted();
      if (self->has_room()) {
        self->clients_.push_back(MetricsClient::start(MetricsClient::Socket(std::move(socket)),
                                                      self, self->is_loopback_));
      }
      self->accept(acceptor);
    });
  }
  // Clients that request nothing do not shut out others: the oldest of them makes room.
  bool has_room() {
    if (clients_.size() < kMetricsClientsMax) return true;
    ++dropped_;
    const auto idle = std::ranges::find_if(clients_, [](const auto& c) { return c->is_idle(); });
    if (idle == clients_.end()) return false;
    const Client oldest = *idle;
    oldest->close();
    return true;
  }
  template <class Acceptor>
  void accept_later(Acceptor& acceptor, ErrorCode error) {
    retry_.accept_later(error, [self = shared_from_this(), &acceptor] {
      if (acceptor.is_open()) self->accept(acceptor);
    });
  }

  asio::io_context& io_;
  const SnapshotSource source_;
  std::shared_ptr<Mailbox> mailbox_;
  std::optional<asio::local::stream_protocol::acceptor> local_;
  std::optional<asio::ip::tcp::acceptor> tcp_;
  AcceptRetry retry_;
  SocketFile file_{"--metrics"};
  bool is_loopback_ = false;     // a TCP port that only this machine reaches
  std::vector<Client> clients_;  // the oldest first
  std::uint64_t dropped_ = 0;    // clients, for want of room
  // For the snapshot that was requested, and what of it.
  std::vector<std::pair<std::weak_ptr<MetricsClient>, MetricsResource::Kind>> waiting_;
  bool is_asked_ = false;
  Clock::time_point asked_at_;
  std::optional<Made> snapshot_;
};

base::Result<std::unique_ptr<MetricsServer>> MetricsServer::open(asio::io_context& io,
                                                                 const MetricsAddress& address,
                                                                 SnapshotSource source) {
  auto impl = std::make_shared<Impl>(io, std::move(source));
  if (auto opened = impl->open(address); !opened) return opened.error();
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(impl)));
}

MetricsServer::MetricsServer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
MetricsServer::~MetricsServer() { stop(); }
void MetricsServer::stop() { impl_->stop(); }

}  // namespace splitnic::control
