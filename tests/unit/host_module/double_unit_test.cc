// A host with two ways to one I/O unit: it uses the first, and ends the second.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "fabric_emul/underlay/underlay_decorator.h"
#include "host_module/host.h"
#include "tests/sim/fake_port.h"

namespace splitnic::host {
namespace double_unit_test {

using namespace std::chrono_literals;

// Notes each peer whose session ends.
class Way final : public fabric::UnderlayDecorator {
 public:
  using UnderlayDecorator::UnderlayDecorator;

  SendStatus send(const fabric::PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    return below_.send(to, bytes, stride);
  }
  std::optional<Received> receive() override { return below_.receive(); }
  base::Time deadline() const override { return below_.deadline(); }
  void on_peer_stopped(const fabric::PeerAddress& peer) override { ended.push_back(peer); }

  std::vector<fabric::PeerAddress> ended;
};

// An I/O unit that has links and refuses connections.
class LinksOnly final : private fabric::ConnectionHandler {
 public:
  LinksOnly(fabric::Underlay& underlay, base::Random& random) : adapter(limits(), random) {
    fabric::PortConfig port;
    port.eui64 = fabric::Eui64(0x10);
    port.instance = 7;
    port.listens = true;
    CHECK(adapter.add_port(underlay, port).has_value());
    adapter.connections().set_handler(*this);
  }
  static fabric::AdapterLimits limits() { return {.profile = fabric::MrwtProfile::kStrictWindows}; }

  fabric::Adapter adapter;

 private:
  void on_link_up(fabric::Link&) override {}
  void on_link_down(fabric::Link&, std::string_view) override {}
  bool on_connected(fabric::ConnectionId, fabric::Link&, const fabric::Mgmt&) override {
    return false;
  }
  void on_rejected(fabric::ConnectionId, fabric::MgmtReject, base::Bytes) override {}
  void on_disconnected(fabric::ConnectionId, std::string_view) override {}
};

class DoubleUnitTest : public ::testing::Test {
 protected:
  DoubleUnitTest() : host(config(), adapter, tap, random) {
    for (std::uint64_t i = 0; i < 2; ++i) {
      fabric::PortConfig port;
      port.eui64 = fabric::Eui64(0x1001 + i);
      port.instance = 5;
      fabric::Port* const added = adapter.add_port(i == 0 ? first : second, port).value();
      host.add_unit(i, *added, unit_at.address(), clock.now());
    }
  }
  ~DoubleUnitTest() override { host.stop(clock.now()); }
  static HostConfig config() {
    HostConfig settings;
    settings.pair.node_name = "host";
    settings.units = 2;
    return settings;
  }
  void run(base::Duration span) {
    for (const base::Time end = clock.now() + span; clock.now() < end; clock.advance(1ms)) {
      host.step(clock.now(), false);
      unit.adapter.poll(clock.now());
      unit.adapter.transmit(clock.now());
    }
  }

  base::ManualClock clock;
  base::SeededRandom random{3};
  fabric::InProcessHub hub;
  fabric::InProcessUnderlay& unit_at = hub.add_endpoint();
  Way first{hub.add_endpoint()};
  Way second{hub.add_endpoint()};
  LinksOnly unit{unit_at, random};
  fabric::Adapter adapter{LinksOnly::limits(), random};
  sim::FakePort tap{lan::MacAddress{0x02, 0, 0, 0, 0, 0x01}};
  Host host;
};

// The sessions over both ways have one key, and the I/O unit keeps the newest.
TEST_F(DoubleUnitTest, the_session_over_the_way_that_is_not_used_ends) {
  run(3s);
  EXPECT_NE(host.link_to(0), nullptr);
  EXPECT_EQ(host.link_to(1), nullptr);
  EXPECT_EQ(second.ended, std::vector{unit_at.address()});
  EXPECT_TRUE(first.ended.empty());
}

}  // namespace double_unit_test
}  // namespace splitnic::host
