// Wires between two ends in one process, and what a peer that lies can do to them.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "base/attach_descriptors.h"
#include "fabric_emul/underlay/shm_handshake.h"
#include "shm_world.h"

namespace splitnic::fabric::shm_underlay_test {

using namespace shm_world;

class ShmUnderlayTest : public ShmTest {};

TEST_F(ShmUnderlayTest, both_ways_with_strides) {
  auto listener = open(true);
  auto connector = open(false);
  join(*listener, *connector);
  const PeerAddress client = learn(*listener, *connector);
  EXPECT_EQ(listener->name_of(client), "shm://t#1");
  EXPECT_EQ(connector->name_of(ShmUnderlay::listener_address()), "shm://t");
  const auto long_batch = batch_of(65000, 3);
  ASSERT_EQ(listener->send(client, long_batch, 1400), Status::kSent);
  EXPECT_TRUE(is_batch(connector->receive(), long_batch, 1400));
  EXPECT_FALSE(connector->receive());
  EXPECT_GE(listener->datagram_bytes_max(client), 32U << 10);
  EXPECT_EQ(listener->receive_buffer_bytes(), kRingBytes);
}

TEST_F(ShmUnderlayTest, S_56_only_the_users_that_are_named_may_connect) {
  using std::filesystem::perms;
  const auto mode = [this] { return std::filesystem::status(path()).permissions(); };
  constexpr perms kOwner = perms::owner_read | perms::owner_write;
  {
    const auto of_own_user = open(true);
    EXPECT_EQ(mode(), kOwner);
  }
  const std::uint32_t own = ::geteuid();
  auto listener = open(true, 4, std::vector{own});
  EXPECT_EQ(mode(), kOwner | perms::group_read | perms::group_write | perms::others_read |
                        perms::others_write)
      << "others may be named later";
  auto connector = open(false);
  join(*listener, *connector);
  const PeerAddress client = learn(*listener, *connector);
  EXPECT_EQ(listener->user_of(client), own);
  EXPECT_FALSE(listener->user_of(PeerAddress{}));
  const auto last = batch_of(40, 2);
  ASSERT_EQ(listener->send(client, last, 40), Status::kSent);
  listener->set_users({own + 4711});
  EXPECT_FALSE(look(*listener));
  EXPECT_EQ(listener->clients(), 0U);
  EXPECT_FALSE(listener->user_of(client));
  EXPECT_TRUE(is_batch(look(*connector), last, 40)) << "it was sent before";
  const auto refused = open(false);
  EXPECT_FALSE(look(*listener));
  EXPECT_EQ(listener->clients(), 0U);
  EXPECT_EQ(listener->count(ShmCounter::kRefusedUser), 1U);
  listener->set_users({own});
  auto again = open(false);
  join(*listener, *again);
  EXPECT_EQ(listener->user_of(learn(*listener, *again)), own);
}

TEST_F(ShmUnderlayTest, wraps_around_with_every_length) {
  auto listener = open(true);
  auto connector = open(false);
  join(*listener, *connector);
  learn(*listener, *connector);
  std::size_t total = 0;
  for (unsigned i = 0; total < 20 * kRingBytes; ++i) {
    const auto batch = batch_of(1 + (i * 7919) % 65000, i);
    ASSERT_EQ(connector->send(ShmUnderlay::listener_address(), batch, 100), Status::kSent) << i;
    ASSERT_TRUE(is_batch(listener->receive(), batch, std::min<std::size_t>(100, batch.size())))
        << i;
    total += batch.size();
  }
}

TEST_F(ShmUnderlayTest, full_blocks_and_room_is_reported_until_tried) {
  auto listener = open(true);
  auto connector = open(false);
  join(*listener, *connector);
  learn(*listener, *connector);
  const auto batch = batch_of(9000, 5);
  const PeerAddress to = ShmUnderlay::listener_address();
  std::size_t sent = 0;
  while (connector->send(to, batch, 9000) == Status::kSent) ++sent;
  EXPECT_EQ(sent, kRingBytes / 9024);
  EXPECT_EQ(connector->send(to, batch, 9000), Status::kBlocked);
  EXPECT_FALSE(connector->receive());
  EXPECT_FALSE(is_readable(*connector));
  std::size_t taken = 0;
  while (listener->receive()) ++taken;
  EXPECT_EQ(taken, sent);
  EXPECT_TRUE(is_readable(*connector, 60'000));
  EXPECT_TRUE(connector->may_sleep());
  EXPECT_FALSE(connector->receive());  // reads the wake-up
  EXPECT_TRUE(is_readable(*connector));
  EXPECT_EQ(connector->send(to, batch, 9000), Status::kSent);
  EXPECT_FALSE(is_readable(*connector));
}

TEST_F(ShmUnderlayTest, a_sleeper_is_woken_once_and_one_that_is_awake_is_not) {
  auto listener = open(true);
  auto connector = open(false);
  join(*listener, *connector);
  const PeerAddress client = learn(*listener, *connector);
  const auto batch = batch_of(100, 9);
  EXPECT_FALSE(connector->receive());
  ASSERT_EQ(listener->send(client, batch, 100), Status::kSent);
  EXPECT_FALSE(is_readable(*connector));  // it is awake
  EXPECT_FALSE(connector->may_sleep());
  EXPECT_TRUE(connector->receive());
  EXPECT_FALSE(connector->receive());
  EXPECT_TRUE(connector->may_sleep());  // sleeps from here on
  EXPECT_FALSE(is_readable(*connector));
  ASSERT_EQ(listener->send(client, batch, 100), Status::kSent);
  EXPECT_TRUE(is_readable(*connector));
  EXPECT_TRUE(connector->receive());
  EXPECT_FALSE(connector->receive());  // reads the wake-up
  EXPECT_FALSE(is_readable(*connector));
}

TEST_F(ShmUnderlayTest, two_clients_do_not_mix_and_one_that_is_full_stops_only_itself) {
  auto listener = open(true);
  auto first = open(false);
  auto second = open(false);
  join(*listener, *first);
  EXPECT_FALSE(second->receive());
  const PeerAddress a = learn(*listener, *first);
  const PeerAddress b = learn(*listener, *second);
  EXPECT_NE(a, b);
  const auto to_a = batch_of(9000, 1);
  const auto to_b = batch_of(700, 2);
  while (listener->send(a, to_a, 9000) == Status::kSent) {
  }
  ASSERT_EQ(listener->send(b, to_b, 70), Status::kSent);
  EXPECT_TRUE(is_batch(second->receive(), to_b, 70));
  EXPECT_TRUE(is_batch(first->receive(), to_a, 9000));
}

TEST_F(ShmUnderlayTest, a_client_too_many_is_refused) {
  auto listener = open(true, 1);
  auto first = open(false);
  auto second = open(false);
  join(*listener, *first);
  EXPECT_FALSE(look(*second));
  EXPECT_EQ(listener->clients(), 1U);
  EXPECT_EQ(listener->count(ShmCounter::kRefusedFull), 1U);
  first.reset();
  EXPECT_FALSE(look(*listener));
  EXPECT_EQ(listener->clients(), 0U);
  EXPECT_EQ(second->send(ShmUnderlay::listener_address(), batch_of(9, 1), 9), Status::kRefused);
  join(*listener, *second);
  learn(*listener, *second);
}

TEST_F(ShmUnderlayTest, M_8_a_user_that_is_named_leaves_the_others_their_places) {
  const std::uint32_t own = ::geteuid();
  auto listener = open(true, 4, std::vector{own, own + 4711});
  std::array<std::unique_ptr<ShmUnderlay>, 3> connectors;
  for (auto& connector : connectors) connector = open(false);
  EXPECT_FALSE(look(*listener));
  EXPECT_EQ(listener->clients(), 2U);
  EXPECT_EQ(listener->count(ShmCounter::kRefusedShare), 1U);
  EXPECT_EQ(listener->count(ShmCounter::kRefusedFull), 0U) << "two places are left";
  connectors[0].reset();  // its place is of this user again
  EXPECT_FALSE(look(*listener));
  EXPECT_FALSE(look(*connectors[2]));
  EXPECT_EQ(connectors[2]->send(ShmUnderlay::listener_address(), batch_of(9, 1), 9),
            Status::kRefused);
  join(*listener, *connectors[2]);
  learn(*listener, *connectors[2]);
  EXPECT_EQ(listener->clients(), 2U);
}

TEST_F(ShmUnderlayTest, M_8_a_user_who_is_named_alone_has_four_places) {
  auto listener = open(true, 64, std::vector<std::uint32_t>{::geteuid()});
  std::array<std::unique_ptr<ShmUnderlay>, 6> connectors;
  for (auto& connector : connectors) connector = open(false);
  EXPECT_FALSE(look(*listener));
  EXPECT_EQ(listener->clients(), 4U);
  EXPECT_EQ(listener->count(ShmCounter::kRefusedShare), 2U);
}

TEST_F(ShmUnderlayTest, what_a_dead_peer_sent_arrives_and_its_rings_are_freed) {
  auto listener = open(true);
  auto connector = open(false);
  join(*listener, *connector);
  const PeerAddress client = learn(*listener, *connector);
  const auto last = batch_of(300, 4);
  ASSERT_EQ(connector->send(ShmUnderlay::listener_address(), last, 300), Status::kSent);
  connector.reset();
  EXPECT_TRUE(is_batch(listener->receive(), last, 300));
  EXPECT_FALSE(look(*listener));
  EXPECT_FALSE(look(*listener));
  EXPECT_EQ(listener->clients(), 0U);
  EXPECT_EQ(listener->send(client, last, 300), Status::kRefused);
  EXPECT_FALSE(is_readable(*listener));
}

TEST_F(ShmUnderlayTest, a_connector_finds_a_listener_that_comes_later_or_again) {
  auto connector = open(false);
  const auto hello = batch_of(20, 1);
  const PeerAddress to = ShmUnderlay::listener_address();
  EXPECT_EQ(connector->send(to, hello, 20), Status::kRefused);
  for (int life = 0; life < 3; ++life) {
    auto listener = open(true);
    EXPECT_EQ(connector->send(to, hello, 20), Status::kRefused);  // begins to connect
    join(*listener, *connector);
    learn(*listener, *connector);
    listener.reset();
    EXPECT_FALSE(look(*connector));
    EXPECT_FALSE(look(*connector));
    EXPECT_EQ(connector->clients(), 0U);
  }
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(ShmUnderlayTest, a_name_is_taken_once_and_a_leftover_is_replaced) {
  auto listener = open(true);
  ShmConfig config;
  config.name = "t";
  config.directory = folder_.path();
  config.listens = true;
  const auto second = ShmUnderlay::open(config);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text().find("in use"), std::string::npos) << second.error().text();
  listener.reset();
  {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path().c_str(), sizeof(address.sun_path) - 1);
    base::UniqueFd killed(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
    ASSERT_EQ(::bind(killed.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  EXPECT_TRUE(std::filesystem::exists(path()));
  EXPECT_NE(open(true), nullptr);
}

TEST_F(ShmUnderlayTest, P_44_lying_indices_and_lengths_end_the_wire_only) {
  auto listener = open(true);
  auto honest = open(false);
  join(*listener, *honest);
  struct Lie {
    std::uint32_t length, stride, head;
  };
  std::uint64_t broken = 0;
  for (const Lie& lie : {Lie{10, 10, kRingBytes + 64},   // more than the ring holds
                         Lie{10, 10, 0xFFFFFFC0},        // before our own index
                         Lie{10, 10, 65},                // between two records
                         Lie{0, 1, 64},                  // no bytes
                         Lie{10, 0, 64},                 // no stride
                         Lie{10, 11, 64},                // stride beyond the bytes
                         Lie{57, 57, 64},                // longer than what was put
                         Lie{65001, 1, kRingBytes},      // longer than any batch
                         Lie{65536, 65536, kRingBytes},  // a datagram longer than any
                         Lie{0xFFFFFFFF, 1, kRingBytes}, Lie{0xFFFFFFF8, 1, 64}}) {
    Liar liar = Liar::connect(path(), *listener);
    EXPECT_EQ(listener->clients(), 2U);
    liar.declare(lie.length, lie.stride, lie.head);
    EXPECT_FALSE(listener->receive()) << lie.length << " " << lie.stride << " " << lie.head;
    EXPECT_EQ(listener->count(ShmCounter::kDropBroken), ++broken);
    EXPECT_EQ(listener->clients(), 1U);
    learn(*listener, *honest);
  }
}

TEST_F(ShmUnderlayTest, P_44_what_was_taken_no_longer_changes) {
  auto listener = open(true);
  Liar liar = Liar::connect(path(), *listener);
  const auto batch = batch_of(56, 3);
  std::memcpy(liar.segment->bytes(1).data() + 8, batch.data(), batch.size());
  liar.declare(56, 56, 64);
  const auto got = listener->receive();
  ASSERT_TRUE(got);
  std::ranges::fill(liar.segment->bytes(1), std::byte{0xEE});
  EXPECT_TRUE(is_batch(got, batch, 56));
}

TEST_F(ShmUnderlayTest, P_44_a_lying_taker_ends_the_wire_only) {
  auto listener = open(true);
  Liar liar = Liar::connect(path(), *listener);
  const PeerAddress from = liar.introduce(*listener);
  liar.segment->control(0).tail.store(64);  // taken before it was put
  EXPECT_EQ(listener->send(from, batch_of(10, 1), 10), Status::kRefused);
  EXPECT_EQ(listener->count(ShmCounter::kDropBroken), 1U);
  EXPECT_FALSE(listener->receive());
  EXPECT_EQ(listener->clients(), 0U);
}

TEST_F(ShmUnderlayTest, P_44_the_segment_cannot_be_cut_and_an_unsealed_one_is_not_mapped) {
  auto listener = open(true);
  Liar liar = Liar::connect(path(), *listener);
  EXPECT_NE(::ftruncate(liar.memory.get(), 0), 0);
  EXPECT_NE(::ftruncate(liar.memory.get(), 1 << 30), 0);
  base::UniqueFd open_memory(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(open_memory.get(), static_cast<off_t>(ShmSegment::bytes_for(kRingBytes))),
            0);
  EXPECT_FALSE(ShmSegment::map(open_memory.get(), kRingBytes));
  EXPECT_FALSE(ShmSegment::map(liar.memory.get(), 2 * kRingBytes));
}

TEST_F(ShmUnderlayTest, a_flood_of_wake_ups_and_an_idle_client_cost_nothing) {
  auto listener = open(true);
  auto honest = open(false);
  join(*listener, *honest);
  Liar liar = Liar::connect(path(), *listener);
  const std::array<char, 200> bytes{};
  while (::send(liar.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
  }
  for (int i = 0; i < 20; ++i) learn(*listener, *honest);
  EXPECT_EQ(listener->clients(), 2U);
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_F(ShmUnderlayTest, L_1_a_handshake_with_two_descriptors_leaks_none) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()), 0);
  const base::UniqueFd ours(ends[0]);
  const base::UniqueFd theirs(ends[1]);
  auto segment = ShmSegment::make(kRingBytes);
  ASSERT_TRUE(segment);
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 10; ++i) {
    std::array<char, 16> handshake{};
    iovec part{handshake.data(), handshake.size()};
    const std::array<int, 2> two{segment->get(), segment->get()};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(two))> room{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    base::attach_descriptors(message, two, room);
    ASSERT_EQ(::sendmsg(theirs.get(), &message, 0), 16);
    EXPECT_EQ(receive_shm_handshake(ours.get()).status, ShmHandshake::Status::kInvalid);
  }
  EXPECT_EQ(open_descriptors(), before);
}

// A packaged unit runs as a user who is neither root nor that of its hosts.
TEST_F(ShmUnderlayTest, S_56_L_9_a_service_is_trusted_in_a_folder_that_it_alone_writes) {
  ASSERT_EQ(::geteuid(), 0U) << "this test needs root";
  constexpr uid_t kService = 65534;
  using std::filesystem::perms;
  ASSERT_EQ(::chown(folder_.path().c_str(), kService, kService), 0);
  ASSERT_EQ(::seteuid(kService), 0);
  auto listener = open(true, 4, std::vector<std::uint32_t>{0});
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_NE(listener, nullptr);
  for (const mode_t mode : {0777U, 0775U, 0757U, 0755U, 0711U}) {
    ASSERT_EQ(::chmod(folder_.path().c_str(), mode), 0);
    const auto connector = open(false);
    const bool is_trusted = mode == 0755U || mode == 0711U;
    EXPECT_EQ(connector->clients(), is_trusted ? 1U : 0U) << mode;
    EXPECT_EQ(connector->count(ShmCounter::kRefusedUser), is_trusted ? 0U : 1U) << mode;
    EXPECT_FALSE(look(*listener));
  }
}

TEST_F(ShmUnderlayTest, a_connector_searches_the_folder_of_services_first) {
  const auto of_service = open(true);
  const support::TempFolder own;
  ShmConfig config;
  config.name = "t";
  config.directory = own.path();
  config.service_directory = folder_.path();
  const auto found = ShmUnderlay::open(config);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->clients(), 1U);
  config.directory = folder_.path();
  config.service_directory = own.path();
  const auto without_service = ShmUnderlay::open(config);
  ASSERT_TRUE(without_service);
  EXPECT_EQ((*without_service)->clients(), 1U);
}

TEST_F(ShmUnderlayTest, L_9_no_other_user_can_take_the_name_of_a_unit_of_root) {
  ::unsetenv("SPLITNIC_SHM_DIR");
  ASSERT_EQ(::geteuid(), 0U) << "this test needs root";
  EXPECT_EQ(shm_directory(), "/run/splitnic");
  EXPECT_EQ(shm_service_directory(), "/run/splitnic");
  ::setenv("SPLITNIC_SHM_DIR", "/elsewhere", 1);
  EXPECT_EQ(shm_directory(), "/elsewhere");
  EXPECT_EQ(shm_service_directory(), "");
  ::unsetenv("SPLITNIC_SHM_DIR");
}

}  // namespace splitnic::fabric::shm_underlay_test
