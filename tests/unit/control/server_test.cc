#include "control/socket/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "base/endian.h"
#include "control/control_thread.h"
#include "control/socket/client.h"
#include "control/socket/unix_socket.h"
#include "tests/support/temp_folder.h"

namespace splitnic::control {
namespace server_test {

using namespace std::chrono_literals;
using support::TempFolder;
using ::testing::HasSubstr;

// For what must come, however busy the machine is.
constexpr auto kPatience = 60s;

const Request kShow{Command::kShow, false, {}, {}, 0};

Request set_request(const std::string& value) { return {Command::kSet, false, "mac", value, 0}; }

// A program: a control thread, and a data thread that runs the queue until it is stopped.
class Program {
 public:
  Program(const std::string& path, RequestHandler handler) {
    auto started = ControlThread::open(path, queue_, std::move(handler));
    EXPECT_TRUE(started.has_value()) << (started ? "" : started.error().text());
    if (!started) return;
    control_ = *std::move(started);
    EXPECT_TRUE(control_->start().has_value());
    data_ = std::thread([this] {
      while (!control_->stop_requested()) {
        pollfd entries[] = {{queue_.fd(), POLLIN, 0}, {control_->stop_fd(), POLLIN, 0}};
        ::poll(entries, 2, -1);
        queue_.run();
      }
    });
  }
  ~Program() { stop(); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  void stop() {
    if (control_) control_->request_stop();
    join();
    control_.reset();
  }
  void join() {
    if (data_.joinable()) data_.join();
  }
  ControlThread& control() { return *control_; }
  std::thread::id data_thread() const { return data_.get_id(); }

 private:
  CommandQueue queue_;
  std::unique_ptr<ControlThread> control_;
  std::thread data_;
};

void echo(Request request, const ReplyFunction& reply) {
  reply({ReplyStatus::kOk, request.what + "=" + request.value});
}

base::UniqueFd raw_client(const std::string& path) {
  const auto address = unix_endpoint(path).value();
  base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval timeout{kPatience.count(), 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  EXPECT_EQ(::connect(fd.get(), address.data(), static_cast<socklen_t>(address.size())), 0);
  return fd;
}

void send_raw(const base::UniqueFd& fd, const std::string& bytes) {
  EXPECT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

// Everything until the other side closes.
std::string receive_to_end(const base::UniqueFd& fd) {
  std::string all;
  char part[512];
  ssize_t n = 0;
  while ((n = ::recv(fd.get(), part, sizeof(part), 0)) > 0) {
    all.append(part, static_cast<std::size_t>(n));
  }
  EXPECT_EQ(n, 0) << "closed in time";
  return all;
}

TEST(ServerTest, round_trips_on_the_data_thread) {
  const TempFolder folder;
  std::promise<std::thread::id> ran_on;
  Program program(folder.path("a.sock"), [&](Request request, const ReplyFunction& reply) {
    if (request.value == "1") ran_on.set_value(std::this_thread::get_id());
    echo(std::move(request), reply);
  });
  auto client = Client::connect(folder.path("a.sock")).value();
  for (const char* value : {"1", "2", "3"}) {
    EXPECT_EQ(client.ask(set_request(value), kPatience).value(),
              (Reply{ReplyStatus::kOk, std::string("mac=") + value}));
  }
  EXPECT_EQ(ran_on.get_future().get(), program.data_thread());
}

TEST(ServerTest, a_long_reply_arrives_whole) {
  const TempFolder folder;
  const std::string text(3 << 20, 'a');
  Program program(folder.path("a.sock"), [&](Request, const ReplyFunction& reply) {
    reply({ReplyStatus::kOk, text});
  });
  auto client = Client::connect(folder.path("a.sock")).value();
  EXPECT_TRUE(client.ask(kShow, kPatience).value().text == text);
}

TEST(ServerTest, the_file_is_private_and_its_folder_is_made_and_it_goes_away) {
  const TempFolder folder;
  const std::string path = folder.path("run/a.sock");
  {
    Program program(path, echo);
    struct stat found {};
    ASSERT_EQ(::lstat(path.c_str(), &found), 0);
    EXPECT_TRUE(S_ISSOCK(found.st_mode));
    EXPECT_EQ(found.st_mode & 0777U, 0600U);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ServerTest, clients_are_served_side_by_side) {
  const TempFolder folder;
  std::promise<ReplyFunction> slow;
  Program program(folder.path("a.sock"), [&](Request request, const ReplyFunction& reply) {
    if (request.value == "slow")
      slow.set_value(reply);
    else
      echo(std::move(request), reply);
  });
  auto first = std::async(std::launch::async, [&] {
    return Client::connect(folder.path("a.sock"))
        .value()
        .ask(set_request("slow"), kPatience)
        .value();
  });
  const ReplyFunction reply_slowly = slow.get_future().get();
  // The first still waits for its reply; the second has its own at once.
  auto second = Client::connect(folder.path("a.sock")).value();
  EXPECT_EQ(second.ask(set_request("quick"), kPatience).value().text, "mac=quick");
  EXPECT_EQ(first.wait_for(0s), std::future_status::timeout);
  reply_slowly({ReplyStatus::kOk, "late"});  // from this thread: any may
  reply_slowly({ReplyStatus::kOk, "twice"});
  EXPECT_EQ(first.get().text, "late");
}

TEST(ServerTest, many_threads_ask_at_once) {
  const TempFolder folder;
  Program program(folder.path("a.sock"), echo);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      auto client = Client::connect(folder.path("a.sock")).value();
      for (int i = 0; i < 50; ++i) {
        const std::string value = std::to_string(t * 1000 + i);
        right += client.ask(set_request(value), kPatience).value().text == "mac=" + value ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 400);
}

TEST(ServerTest, clients_beyond_the_limit_are_closed_and_the_others_continue) {
  const TempFolder folder;
  Program program(folder.path("a.sock"), echo);
  std::vector<Client> clients;
  for (std::size_t i = 0; i < kClientsMax; ++i) {
    clients.push_back(Client::connect(folder.path("a.sock")).value());
    ASSERT_TRUE(clients.back().ask(kShow, kPatience).has_value());
  }
  EXPECT_EQ(receive_to_end(raw_client(folder.path("a.sock"))), "");
  EXPECT_TRUE(clients.front().ask(kShow, kPatience).has_value());
}

TEST(ServerTest, an_oversized_request_is_refused_and_the_client_closed) {
  const TempFolder folder;
  std::atomic<int> handled = 0;
  Program program(folder.path("a.sock"), [&](Request request, const ReplyFunction& reply) {
    ++handled;
    echo(std::move(request), reply);
  });
  for (const std::uint32_t length : {~std::uint32_t{0}, std::uint32_t{kRequestBytesMax} + 1}) {
    const auto fd = raw_client(folder.path("a.sock"));
    std::string prefix(sizeof(length), '\0');
    base::store_be(reinterpret_cast<std::byte*>(prefix.data()), length);
    send_raw(fd, prefix);
    ASSERT_EQ(::shutdown(fd.get(), SHUT_WR), 0);
    const std::string bytes = receive_to_end(fd);
    ASSERT_GT(bytes.size(), kLengthBytes) << length;
    const auto reply = decode_reply(bytes.substr(kLengthBytes));
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->status, ReplyStatus::kBadRequest);
  }
  EXPECT_EQ(handled, 0);
  EXPECT_TRUE(Client::connect(folder.path("a.sock")).value().ask(kShow, kPatience).has_value());
}

TEST(ServerTest, a_malformed_request_is_refused_and_the_client_closed) {
  const TempFolder folder;
  Program program(folder.path("a.sock"), echo);
  for (const std::string& bytes :
       {std::string("\0\0\0\0", 4), std::string("\0\0\0\3\xFF\xFF\xFF", 7)}) {
    const auto fd = raw_client(folder.path("a.sock"));
    send_raw(fd, bytes);
    const std::string reply = receive_to_end(fd);
    ASSERT_GT(reply.size(), kLengthBytes);
    EXPECT_EQ(decode_reply(reply.substr(kLengthBytes))->status, ReplyStatus::kBadRequest);
  }
}

TEST(ServerTest, a_request_in_pieces_is_one_request_and_a_vanished_client_is_none) {
  const TempFolder folder;
  Program program(folder.path("a.sock"), echo);
  const std::string bytes = encode(set_request("x"));
  {
    const auto gone = raw_client(folder.path("a.sock"));
    send_raw(gone, bytes.substr(0, bytes.size() - 1));
  }
  const auto fd = raw_client(folder.path("a.sock"));
  for (const char c : bytes) send_raw(fd, std::string(1, c));
  const std::string expected = encode(Reply{ReplyStatus::kOk, "mac=x"});
  std::string reply(expected.size(), '\0');
  ASSERT_EQ(::recv(fd.get(), reply.data(), reply.size(), MSG_WAITALL),
            static_cast<ssize_t>(reply.size()));
  EXPECT_EQ(reply, expected);
}

TEST(ServerTest, a_dropped_request_gets_a_reply) {
  const TempFolder folder;
  Program program(folder.path("a.sock"), [](Request, const ReplyFunction&) {});
  auto client = Client::connect(folder.path("a.sock")).value();
  const Reply reply = client.ask(kShow, kPatience).value();
  EXPECT_EQ(reply.status, ReplyStatus::kFailed);
  EXPECT_THAT(reply.text, HasSubstr("dropped"));
}

TEST(ServerTest, a_reply_after_the_end_is_harmless) {
  const TempFolder folder;
  std::promise<ReplyFunction> kept;
  auto program = std::make_unique<Program>(
      folder.path("a.sock"), [&](Request, const ReplyFunction& reply) { kept.set_value(reply); });
  auto waiting = std::async(std::launch::async, [&] {
    return Client::connect(folder.path("a.sock")).value().ask(kShow, kPatience);
  });
  const ReplyFunction reply = kept.get_future().get();
  program.reset();
  reply({ReplyStatus::kOk, "too late"});
  EXPECT_FALSE(waiting.get().has_value()) << "the client was closed, not left waiting";
}

TEST(ServerTest, a_full_queue_is_reported) {
  const TempFolder folder;
  CommandQueue queue(1);
  auto control = ControlThread::open(folder.path("a.sock"), queue, echo).value();
  ASSERT_TRUE(control->start().has_value());
  ASSERT_TRUE(queue.post([] {}));  // nobody runs it
  auto client = Client::connect(folder.path("a.sock")).value();
  const Reply reply = client.ask(kShow, kPatience).value();
  EXPECT_EQ(reply.status, ReplyStatus::kFailed);
  EXPECT_THAT(reply.text, HasSubstr("busy"));
}

TEST(ServerTest, a_stale_socket_file_is_replaced) {
  const TempFolder folder;
  const std::string path = folder.path("a.sock");
  {
    const auto address = unix_endpoint(path).value();
    const base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(::bind(fd.get(), address.data(), static_cast<socklen_t>(address.size())), 0);
  }  // closed, the file stays, as after a crash
  ASSERT_TRUE(std::filesystem::exists(path));
  Program program(path, echo);
  EXPECT_TRUE(Client::connect(path).value().ask(kShow, kPatience).has_value());
}

// A program that starts binds first and listens then.
TEST(ServerTest, a_client_waits_for_a_program_that_starts) {
  const TempFolder folder;
  const std::string path = folder.path("starting.sock");
  boost::asio::io_context io(1);
  boost::asio::local::stream_protocol::acceptor acceptor(io);
  acceptor.open();
  acceptor.bind(path);
  std::jthread later([&] {
    std::this_thread::sleep_for(1ms);
    acceptor.listen();
  });
  boost::asio::local::stream_protocol::socket socket(io);
  EXPECT_FALSE(connect_to_listener(socket, path));
}

TEST(ServerTest, B_12_a_live_socket_is_not_taken) {
  const TempFolder folder;
  const std::string path = folder.path("a.sock");
  Program program(path, echo);
  CommandQueue queue;
  const auto second = ControlThread::open(path, queue, echo);
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().text(), HasSubstr("another program listens on " + path));
  EXPECT_THAT(second.error().text(), HasSubstr("(of a service: another instance name)"));
  EXPECT_TRUE(Client::connect(path).value().ask(kShow, kPatience).has_value())
      << "the first continues";
}

TEST(ServerTest, what_is_no_socket_is_left_alone) {
  const TempFolder folder;
  CommandQueue queue;
  const auto started = ControlThread::open(folder.path(), queue, echo);
  ASSERT_FALSE(started.has_value());
  EXPECT_THAT(started.error().text(), HasSubstr("is not a socket"));
  EXPECT_TRUE(std::filesystem::is_directory(folder.path()));
  EXPECT_FALSE(ControlThread::open(folder.path(std::string(200, 'x')), queue, echo).has_value());
  const auto nowhere = ControlThread::open(folder.path("a/b/c.sock"), queue, echo);
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_THAT(nowhere.error().text(), HasSubstr("make it before, or choose another --name"));
}

TEST(ServerTest, stop_leaves_the_file_of_a_successor) {
  const TempFolder folder;
  const std::string path = folder.path("a.sock");
  auto first = std::make_unique<Program>(path, echo);
  ASSERT_TRUE(std::filesystem::remove(path));
  Program second(path, echo);
  first.reset();
  EXPECT_TRUE(Client::connect(path).value().ask(kShow, kPatience).has_value());
}

TEST(ControlThreadTest, sigterm_and_sigint_stop_the_program) {
  for (const int number : {SIGTERM, SIGINT}) {
    const TempFolder folder;
    Program program(folder.path("a.sock"), echo);
    EXPECT_FALSE(program.control().stop_requested());
    ASSERT_EQ(::kill(::getpid(), number), 0);
    // Both threads wait without a deadline: that they end shows that the signal has woken them.
    auto ended = std::async(std::launch::async, [&] {
      program.join();
      const bool is_requested = program.control().stop_requested();
      program.stop();
      return is_requested;
    });
    ASSERT_EQ(ended.wait_for(kPatience), std::future_status::ready);
    EXPECT_TRUE(ended.get());
    EXPECT_FALSE(std::filesystem::exists(folder.path("a.sock")));
  }
}

TEST(ClientTest, nobody_there_is_one_clear_line) {
  const TempFolder folder;
  const auto client = Client::connect(folder.path("a.sock"));
  ASSERT_FALSE(client.has_value());
  EXPECT_THAT(client.error().text(), HasSubstr(folder.path("a.sock")));
  EXPECT_THAT(client.error().text(), HasSubstr("no program listens"));
}

TEST(ClientTest, gives_up_in_time) {
  const TempFolder folder;
  CommandQueue queue;  // nobody runs it
  auto control = ControlThread::open(folder.path("a.sock"), queue, echo).value();
  ASSERT_TRUE(control->start().has_value());
  auto client = Client::connect(folder.path("a.sock")).value();
  const auto reply = client.ask(kShow, 50ms);
  ASSERT_FALSE(reply.has_value());
  EXPECT_THAT(reply.error().text(), HasSubstr("in time"));
}

TEST(ClientTest, the_only_socket_is_found_and_several_are_listed) {
  const TempFolder folder;
  EXPECT_THAT(only_socket_in(folder.path("missing")).error().text(),
              HasSubstr("no control socket"));
  EXPECT_FALSE(only_socket_in(folder.path()).has_value());
  Program b(folder.path("b.sock"), echo);
  EXPECT_EQ(only_socket_in(folder.path()).value(), folder.path("b.sock"));
  Program a(folder.path("a.sock"), echo);
  Program other(folder.path("other"), echo);
  EXPECT_THAT(only_socket_in(folder.path()).error().text(),
              HasSubstr(": " + folder.path("a.sock") + " " + folder.path("b.sock")));
}

}  // namespace server_test
}  // namespace splitnic::control
