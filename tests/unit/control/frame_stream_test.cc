// Frames of a capture: their bytes, and what the clients of a control socket get.
#include "control/socket/frame_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <thread>

#include "control/socket/server.h"
#include "control/socket/stream_client.h"
#include "tests/support/temp_folder.h"

namespace splitnic::control {
namespace frame_stream_test {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr auto kPatience = 60s;

// A frame with its virtio-net header.
std::vector<std::byte> frame(std::size_t bytes, int value) {
  std::vector<std::byte> out(lan::kVnetHeaderBytes + bytes, static_cast<std::byte>(value));
  return out;
}
base::Time at(std::int64_t nanoseconds) { return base::Time(base::Duration(nanoseconds)); }

SentFrames decoded(const std::string& message, std::size_t interfaces) {
  EXPECT_EQ(decode_length(message), message.size() - kLengthBytes);
  return decode_frames(std::string_view(message).substr(kLengthBytes), interfaces).value();
}

TEST(FrameStreamTest, B_16_frames_of_several_queues_come_in_the_order_of_their_times) {
  lan::FrameCapture capture(1ns, 100);
  const auto first = capture.add("eth1");
  const auto second = capture.add("eth2");
  first->add(frame(60, 1), true, at(10));
  first->add(frame(300, 2), false, at(30));
  second->add(frame(60, 3), false, at(20));
  const SentFrames sent = decoded(take_frames(capture.copies(), 2, false), 2);
  ASSERT_EQ(sent.frames.size(), 3U);
  EXPECT_EQ(sent.frames[0].nanoseconds, 11);
  EXPECT_TRUE(sent.frames[0].is_sent);
  EXPECT_EQ(sent.frames[1].interface, 1U);
  EXPECT_EQ(sent.frames[1].bytes, std::string(60, '\3'));
  EXPECT_EQ(sent.frames[2].length, 300U);
  EXPECT_EQ(sent.frames[2].bytes, std::string(100, '\2'));
  EXPECT_EQ(sent.lost, (std::vector<std::uint64_t>{0, 0}));
  EXPECT_FALSE(sent.is_last);
  EXPECT_TRUE(first->empty() && second->empty());
}

TEST(FrameStreamTest, B_16_a_message_is_bounded_whatever_waits) {
  lan::FrameCapture capture(0ns, lan::FrameCopies::kSnapMax);
  const auto copies = capture.add("nic0");
  while (copies->add(frame(65536, 1), true, at(1))) {
  }
  std::size_t frames = 0;
  std::uint64_t lost = 0;
  while (!copies->empty()) {
    const std::string message = take_frames(capture.copies(), 1, false);
    EXPECT_LT(message.size(), kReplyBytesMax);
    const SentFrames sent = decoded(message, 1);
    EXPECT_FALSE(sent.frames.empty());
    frames += sent.frames.size();
    lost = sent.lost.at(0);
  }
  EXPECT_GT(frames, 200U);
  EXPECT_EQ(lost, 1U);
}

TEST(FrameStreamTest, bytes_that_are_no_message) {
  lan::FrameCapture capture(0ns, 100);
  capture.add("eth1");
  capture.add("eth2")->add(frame(60, 1), true, at(1));
  const std::string message = take_frames(capture.copies(), 2, true);
  EXPECT_TRUE(decoded(message, 2).is_last);
  EXPECT_FALSE(decode_frames(std::string_view(message).substr(kLengthBytes), 1));
  EXPECT_FALSE(decode_frames("\xff\xff", 1));
}

TEST(FrameStreamTest, the_list_of_interfaces) {
  EXPECT_EQ(parse_interface_list(interface_list({"eth1", "file:a,b"})),
            (std::vector<std::string>{"eth1", "file:a,b"}));
  EXPECT_TRUE(parse_interface_list("").empty());
}

// A program with one interface, and those who capture, in one thread.
class CaptureSocketTest : public ::testing::Test {
 protected:
  CaptureSocketTest()
      : server_(Server::open(io_, folder_.path("a.sock"),
                             [this](const Request& request, const ReplyFunction& reply) {
                               reply(begin(request));
                             })
                    .value()) {}
  ~CaptureSocketTest() override { server_->stop(); }

  Reply begin(const Request& request) {
    if (request.command != Command::kCapture || !is_permitted_) {
      return {ReplyStatus::kRefused, "not here"};
    }
    snap_ = request.count;
    copies_ = request.frames->add("nic0");
    return {ReplyStatus::kOk, ""};
  }
  struct Client {
    std::string interfaces, end;
    std::vector<std::string> frames;
    bool has_last = false;
    std::unique_ptr<StreamClient> stream;
  };
  std::unique_ptr<Client> ask(const Request& request) {
    auto client = std::make_unique<Client>();
    Client& self = *client;
    self.stream = StreamClient::open(
                      io_, folder_.path("a.sock"), request,
                      {.on_begin = [&self](const std::string& text) { self.interfaces = text; },
                       .on_message =
                           [&self](const std::string& bytes) {
                             const auto sent = decode_frames(bytes, 1);
                             if (!sent) return false;
                             for (const auto& one : sent->frames) self.frames.push_back(one.bytes);
                             self.has_last = sent->is_last;
                             return true;
                           },
                       .on_end = [&self](const base::Error& why) { self.end = why.text(); }})
                      .value();
    return client;
  }
  std::unique_ptr<Client> capture() {
    Request request;
    request.command = Command::kCapture;
    request.count = 96;
    auto client = ask(request);
    run_until([&] { return !client->interfaces.empty() || !client->end.empty(); });
    return client;
  }
  std::unique_ptr<Client> end_capture() {
    Request request;
    request.command = Command::kEndCapture;
    auto client = ask(request);
    return client;
  }
  template <class Done>
  void run_until(const Done& is_done) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!is_done() && std::chrono::steady_clock::now() < until) io_.run_one_for(1ms);
    EXPECT_TRUE(is_done());
  }

  const support::TempFolder folder_;
  boost::asio::io_context io_{1};
  bool is_permitted_ = true;
  std::uint32_t snap_ = 0;
  std::shared_ptr<lan::FrameCopies> copies_;
  std::unique_ptr<Server> server_;
};

TEST_F(CaptureSocketTest, B_16_frames_come_as_they_cross_and_the_rest_before_the_end) {
  const auto client = capture();
  EXPECT_EQ(client->interfaces, "nic0\n");
  EXPECT_EQ(snap_, 96U);
  copies_->add(frame(60, 'a'), true, at(1));
  run_until([&] { return client->frames.size() == 1; });
  EXPECT_EQ(client->frames[0], std::string(60, 'a'));
  copies_->add(frame(60, 'b'), true, at(2));
  const auto stopper = end_capture();
  run_until([&] { return !client->end.empty(); });
  EXPECT_EQ(client->frames.size(), 2U);
  EXPECT_TRUE(client->has_last);
  EXPECT_TRUE(copies_->has_ended());
}

TEST_F(CaptureSocketTest, B_16_a_capture_ends_with_its_client_and_there_is_one_at_a_time) {
  auto client = capture();
  const auto second = capture();
  EXPECT_THAT(second->end, HasSubstr("a capture runs already"));
  EXPECT_FALSE(copies_->has_ended());
  client->stream.reset();
  run_until([&] { return copies_->has_ended(); });
  const auto third = capture();
  EXPECT_EQ(third->interfaces, "nic0\n");
}

TEST_F(CaptureSocketTest, B_16_a_client_that_does_not_read_loses_only_copies) {
  Request request;
  request.command = Command::kCapture;
  request.count = lan::FrameCopies::kSnapMax;
  auto client = ask(request);
  run_until([&] { return !client->interfaces.empty(); });
  // Nobody runs the io_context: neither the feed nor the client takes anything.
  while (copies_->add(frame(60000, 'x'), true, at(1))) {
  }
  EXPECT_EQ(copies_->lost(), 1U);
  run_until([&] { return client->frames.size() > 200; });
  client->stream.reset();
  run_until([&] { return copies_->has_ended(); });
}

TEST_F(CaptureSocketTest, B_16_what_is_refused_and_what_does_not_run) {
  const auto stopper = end_capture();
  run_until([&] { return !stopper->end.empty(); });
  EXPECT_EQ(stopper->end, "no capture runs here");
  is_permitted_ = false;
  EXPECT_EQ(capture()->end, "not here");
  is_permitted_ = true;
  EXPECT_EQ(capture()->interfaces, "nic0\n") << "one that is refused holds nothing";
}

}  // namespace frame_stream_test
}  // namespace splitnic::control
