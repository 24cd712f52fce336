// Both kinds of carrier, what their ends know of each other, and the capture above them.
#include "control/daemon/carriers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "fabric_emul/underlay/udp_underlay.h"
#include "tests/support/shm_folder.h"

namespace splitnic::control {
namespace carriers_test {

using fabric::PeerAddress;
using fabric::ShmUnderlay;
using fabric::Underlay;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kPatienceMs = 60'000;  // however busy the machine is

Endpoint endpoint(const std::string& text) { return parse_endpoint(text).value(); }

// Of any port that is free.
Endpoint loopback() {
  Endpoint any = endpoint("udp://127.0.0.1:1");
  any.port = 0;
  return any;
}

std::string error_of(const base::Result<Carrier>& opened) {
  return opened ? "none" : opened.error().text();
}

std::size_t occurrences(const std::string& text, std::string_view of) {
  std::size_t count = 0;
  for (std::size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++count;
  return count;
}

class CarriersTest : public ::testing::Test {
 protected:
  static std::string text_from(Underlay& underlay, PeerAddress& from) {
    pollfd input{underlay.fd(), POLLIN, 0};
    if (underlay.may_sleep()) {
      EXPECT_EQ(::poll(&input, 1, kPatienceMs), 1);
    }
    const auto batch = underlay.receive();
    if (!batch) return "(nothing)";
    from = batch->from;
    return std::string(base::as_text(batch->bytes));
  }
  // As an owner that has slept: notices connections.
  static void look(Underlay& underlay) {
    underlay.may_sleep();
    EXPECT_FALSE(underlay.receive());
  }
  static void send(Underlay& underlay, const PeerAddress& to, std::string_view text) {
    EXPECT_EQ(underlay.send(to, base::as_bytes(text), text.size()), Underlay::SendStatus::kSent);
  }
  static std::map<std::string, std::uint64_t> counters_of(const Carriers& carriers) {
    std::map<std::string, std::uint64_t> found;
    carriers.visit_counters(
        [&](std::string_view name, std::uint64_t value) { found[std::string(name)] += value; });
    return found;
  }

  const support::ShmFolder folder_;
  base::SystemClock clock_;
};

TEST_F(CarriersTest, udp_ends_reach_each_other_and_know_their_addresses) {
  const Carrier listener = listen_carrier(loopback(), {}).value();
  EXPECT_EQ(listener.peer, PeerAddress{});
  EXPECT_EQ(listener.shm, nullptr);
  const Carrier client = connect_carrier(endpoint("udp://" + listener.local), {}).value();
  EXPECT_EQ(client.underlay->name_of(client.peer), listener.local);
  EXPECT_EQ(client.shm, nullptr);
  EXPECT_THAT(client.local, StartsWith("127.0.0.1:"));
  EXPECT_NE(client.local, listener.local);

  PeerAddress from;
  send(*client.underlay, client.peer, "request");
  EXPECT_EQ(text_from(*listener.underlay, from), "request");
  EXPECT_EQ(listener.underlay->name_of(from), client.local);
  send(*listener.underlay, from, "reply");
  EXPECT_EQ(text_from(*client.underlay, from), "reply");
}

TEST_F(CarriersTest, shm_ends_reach_each_other_and_have_no_address) {
  const Carrier listener = listen_carrier(endpoint("shm://lab"), {}).value();
  const Carrier client = connect_carrier(endpoint("shm://lab"), {}).value();
  for (const Carrier* end : {&listener, &client}) {
    EXPECT_EQ(end->local, "");
    EXPECT_EQ(end->shm, end->underlay.get());
  }
  EXPECT_EQ(listener.peer, PeerAddress{});
  EXPECT_EQ(client.peer, ShmUnderlay::listener_address());
  look(*listener.underlay);  // accepts
  look(*client.underlay);    // takes its segment
  PeerAddress from;
  send(*client.underlay, client.peer, "request");
  EXPECT_EQ(text_from(*listener.underlay, from), "request");
  EXPECT_EQ(listener.underlay->name_of(from), "shm://lab#1");
}

TEST_F(CarriersTest, a_connector_opens_without_a_listener) {
  std::string nobody;
  { nobody = "udp://" + listen_carrier(loopback(), {}).value().local; }
  EXPECT_EQ(error_of(connect_carrier(endpoint(nobody), {})), "none");
  EXPECT_EQ(error_of(connect_carrier(endpoint("shm://nobody"), {})), "none");
}

TEST_F(CarriersTest, what_cannot_be_opened_is_named) {
  const Carrier listener = listen_carrier(loopback(), {}).value();
  EXPECT_THAT(error_of(listen_carrier(endpoint("udp://" + listener.local), {})),
              HasSubstr(listener.local + ": the address is in use"));
  EXPECT_THAT(error_of(listen_carrier(endpoint("udp://192.0.2.1:7471"), {})),
              HasSubstr("192.0.2.1:7471"));
  EXPECT_THAT(error_of(connect_carrier(endpoint("udp://127.0.0.1:7"), {.bind_device = "none0"})),
              HasSubstr("none0"));
  const Carrier first = listen_carrier(endpoint("shm://lab"), {}).value();
  EXPECT_THAT(error_of(listen_carrier(endpoint("shm://lab"), {})), HasSubstr("lab"));
}

TEST_F(CarriersTest, options_reach_the_underlay) {
  const auto segments = [](const base::Result<Carrier>& opened) {
    return dynamic_cast<const fabric::UdpUnderlay&>(*opened->underlay).segments();
  };
  EXPECT_TRUE(segments(listen_carrier(loopback(), {})));
  EXPECT_FALSE(segments(listen_carrier(loopback(), {.uses_gso = false})));
  EXPECT_FALSE(segments(connect_carrier(endpoint("udp://127.0.0.1:7"), {.uses_gso = false})));

  const Carrier listener = listen_carrier(endpoint("shm://lab"), {.clients_max = 1}).value();
  const Carrier one = connect_carrier(endpoint("shm://lab"), {}).value();
  const Carrier two = connect_carrier(endpoint("shm://lab"), {}).value();
  look(*listener.underlay);
  EXPECT_EQ(listener.shm->clients(), 1U);
  EXPECT_EQ(listener.shm->count(fabric::ShmCounter::kRefusedFull), 1U);
}

TEST_F(CarriersTest, without_a_capture_the_adapter_gets_the_carrier_itself) {
  Carriers carriers("test", "", clock_);
  Carrier udp = listen_carrier(loopback(), {}).value();
  Carrier shm = listen_carrier(endpoint("shm://lab"), {}).value();
  Underlay* const of_udp = udp.underlay.get();
  Underlay* const of_shm = shm.underlay.get();
  EXPECT_EQ(carriers.add(std::move(udp), "udp").value(), of_udp);
  EXPECT_EQ(counters_of(carriers).at("udp.rx.drop.lan"), 0U);
  EXPECT_EQ(carriers.add(std::move(shm), "shm").value(), of_shm);
  ASSERT_EQ(carriers.all().size(), 2U);
  EXPECT_EQ(carriers.all()[0].underlay.get(), of_udp);
  EXPECT_EQ(carriers.all()[1].underlay.get(), of_shm);
  EXPECT_FALSE(counters_of(carriers).contains("capture.datagrams"));

  const Carrier client = connect_carrier(endpoint("shm://lab"), {}).value();
  look(*of_shm);
  EXPECT_EQ(counters_of(carriers).at("shm.clients"), 1U);
}

TEST_F(CarriersTest, all_captures_are_in_one_file_which_the_first_makes) {
  const std::string path = folder_.path("all.pcapng");
  {
    Carriers carriers("the-program", path, clock_);
    EXPECT_FALSE(std::filesystem::exists(path));
    Carrier listener = listen_carrier(loopback(), {}).value();
    Carrier client = connect_carrier(endpoint("udp://" + listener.local), {}).value();
    const PeerAddress to = client.peer;
    const Underlay* const below = client.underlay.get();
    Underlay& receiver = *carriers.add(std::move(listener), "the-listener").value();
    EXPECT_TRUE(std::filesystem::exists(path));
    Underlay& sender = *carriers.add(std::move(client), "the-client").value();
    EXPECT_NE(&sender, below);
    EXPECT_EQ(sender.fd(), below->fd());

    PeerAddress from;
    send(sender, to, "a datagram");
    EXPECT_EQ(text_from(receiver, from), "a datagram");
    EXPECT_EQ(counters_of(carriers).at("capture.datagrams"), 2U);
    EXPECT_EQ(counters_of(carriers).at("capture.bytes"), 20U);
  }
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const char* once : {"\n\r\r\n", "the-program", "the-listener", "the-client"}) {
    EXPECT_EQ(occurrences(text, once), 1U) << once;
  }
  EXPECT_EQ(occurrences(text, "a datagram"), 2U);
}

TEST_F(CarriersTest, a_capture_that_cannot_be_made_refuses_the_carrier) {
  const std::string path = folder_.path("none/all.pcapng");
  Carriers carriers("test", path, clock_);
  const auto added = carriers.add(listen_carrier(loopback(), {}).value(), "udp");
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().text(), HasSubstr(path));
}

}  // namespace carriers_test
}  // namespace splitnic::control
