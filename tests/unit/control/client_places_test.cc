// The places of a control socket: members of its group do not take all of them.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/event_log.h"
#include "base/unique_fd.h"
#include "control/socket/server.h"
#include "control/socket/unix_socket.h"
#include "tests/support/temp_folder.h"

namespace splitnic::control {
namespace client_places_test {

using namespace std::chrono_literals;

constexpr auto kPatience = 60s;

// A program and its clients, in one thread.
class ClientPlacesTest : public ::testing::Test {
 protected:
  ClientPlacesTest()
      : server_(Server::open(
                    io_, folder_.path("a.sock"),
                    [](const Request&, const ReplyFunction& reply) {
                      reply({ReplyStatus::kOk, "ok"});
                    },
                    log_,
                    [this](std::uint32_t) {
                      ++checks_;
                      return is_trusted_;
                    })
                    .value()) {}
  ~ClientPlacesTest() override { server_->stop(); }

  template <class Done>
  void run_until(const Done& is_done) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    bool has_ended = is_done();
    while (!has_ended && std::chrono::steady_clock::now() < until) {
      io_.run_one_for(1ms);
      has_ended = is_done();
    }
    EXPECT_TRUE(has_ended);
  }
  // Returns once the server has admitted or closed the client.
  base::UniqueFd connect(bool is_trusted) {
    is_trusted_ = is_trusted;
    const auto address = unix_endpoint(folder_.path("a.sock")).value();
    base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), address.data(), static_cast<socklen_t>(address.size())), 0);
    run_until([this, before = checks_] { return checks_ > before; });
    return fd;
  }
  static bool is_closed(const base::UniqueFd& fd) {
    char byte = 0;
    return ::recv(fd.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }
  // Returns the status of the reply; nothing if the client is closed.
  std::optional<ReplyStatus> ask(const base::UniqueFd& fd, Command command) {
    Request request;
    request.command = command;
    const std::string bytes = encode(request);
    if (::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return std::nullopt;
    std::string got;
    bool is_over = false;
    run_until([&] {
      char part[512];
      const ssize_t n = ::recv(fd.get(), part, sizeof part, MSG_DONTWAIT);
      if (n > 0) got.append(part, static_cast<std::size_t>(n));
      is_over = n == 0 || (n < 0 && errno != EAGAIN);
      return is_over ||
             (got.size() >= kLengthBytes && got.size() >= kLengthBytes + decode_length(got));
    });
    if (is_over || got.size() < kLengthBytes) return std::nullopt;
    const auto reply = decode_reply(std::string_view(got).substr(kLengthBytes, decode_length(got)));
    return reply ? std::optional(reply->status) : std::nullopt;
  }

  const support::TempFolder folder_;
  base::EventLog log_{100};
  boost::asio::io_context io_{1};
  bool is_trusted_ = false;  // the user of the next client
  int checks_ = 0;
  std::unique_ptr<Server> server_;
};

TEST_F(ClientPlacesTest, L_16_clients_of_the_group_that_request_nothing_leave_places_to_root) {
  std::vector<base::UniqueFd> idle;
  for (std::size_t i = 0; i < kClientsMax; ++i) idle.push_back(connect(false));
  for (std::size_t i = 0; i < kClientsMax; ++i) {
    EXPECT_EQ(is_closed(idle[i]), i >= kGroupClientsMax) << i;
  }
  const base::UniqueFd root = connect(true);
  EXPECT_EQ(ask(root, Command::kShow), ReplyStatus::kOk);
  EXPECT_EQ(ask(idle.front(), Command::kShow), ReplyStatus::kOk);
}

TEST_F(ClientPlacesTest, L_16_watchers_of_the_group_leave_places_to_root) {
  std::vector<base::UniqueFd> members;
  for (std::size_t i = 0; i <= kGroupWatchersMax; ++i) {
    members.push_back(connect(false));
    EXPECT_EQ(ask(members.back(), Command::kMonitor),
              i < kGroupWatchersMax ? ReplyStatus::kOk : ReplyStatus::kRefused)
        << i;
  }
  const base::UniqueFd root = connect(true);
  EXPECT_EQ(ask(root, Command::kMonitor), ReplyStatus::kOk);
}

TEST_F(ClientPlacesTest, those_who_are_trusted_may_take_all) {
  std::vector<base::UniqueFd> all;
  for (std::size_t i = 0; i <= kClientsMax; ++i) all.push_back(connect(true));
  for (std::size_t i = 0; i <= kClientsMax; ++i) {
    EXPECT_EQ(is_closed(all[i]), i == kClientsMax) << i;
  }
}

}  // namespace client_places_test
}  // namespace splitnic::control
