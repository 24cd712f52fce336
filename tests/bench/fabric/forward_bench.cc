// Measures how many frames or cells of 64 bytes per second a forwarder carries from one end to the
// other, each end a process. Prints lines "name value"; asserts nothing. tests/bench/switches.sh
// compares splitnic-switch, the kernel's bridge and Open vSwitch with it.
//   --frames FROM,TO  Ethernet frames of 64 bytes (without an FCS, which a wire would add) that
//                     leave by the interface FROM, counted by the kernel where they come in at TO
//   --cells FROM,TO   cells of 64 bytes, MAC header and CRC included, in flits of 80 bytes to the
//                     port of a switch at the address FROM, for the node at its port at TO, which
//                     checks the CRC of each and counts it
//   --full            the links to the switch are of the full profile
//   --batch N         frames in each system call, cells in each flush; default 64 and 512
//   --window N        at most N are in flight; default 0: the sender is as fast as it can be
//   --senders N       threads that send frames, default 1
//   --seconds S       default 1, after 0.3 s that are not measured
//   --netns A,B       the sender and the receiver are in these network namespaces
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/idle_strategy.h"
#include "base/unique_fd.h"
#include "fabric_emul/underlay/idle_wait.h"
#include "tests/bench/fabric/bench_options.h"
#include "tests/bench/fabric/switch_node.h"
#include "tests/bench/fabric/two_ends.h"

namespace splitnic::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kFrameBytes = 64;
constexpr std::size_t kFramesOfBatch = 64, kCellsOfBatch = 512;
constexpr base::Duration kWarmUp = 300ms;
constexpr base::Duration kPatience = 5s;

struct Options : CommonOptions {
  bool sends_cells = false;
  std::string from, to;
  bool is_full_profile = false;
  std::size_t batch = 0, window = 0, senders = 1;
};

// Counters of both processes, in memory that they share.
struct Counts {
  alignas(64) std::atomic<std::uint64_t> sent{0};
  alignas(64) std::atomic<std::uint64_t> received{0};
};

Counts& make_counts() {
  void* memory =
      ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail(std::string("shared memory: ") + std::strerror(errno));
  return *new (memory) Counts;
}

// How much may be sent now. Whatever is in flight when nothing has arrived for kLostAfter is lost.
class Window {
 public:
  Window(const Counts& counts, std::size_t size, base::Time now)
      : counts_(counts), size_(size), progress_at_(now) {}

  std::size_t room(base::Time now) {
    const std::uint64_t received = counts_.received.load(std::memory_order_relaxed);
    const std::uint64_t sent = counts_.sent.load(std::memory_order_relaxed);
    if (received != received_) progress_at_ = now;
    received_ = received;
    const std::uint64_t known = received + lost_;
    const std::uint64_t in_flight = sent > known ? sent - known : 0;
    if (in_flight < size_) return size_ - in_flight;
    if (now - progress_at_ > kLostAfter) {
      lost_ += in_flight;
      progress_at_ = now;
    }
    return 0;
  }

 private:
  static constexpr base::Duration kLostAfter = 10ms;
  const Counts& counts_;
  const std::size_t size_;
  base::Time progress_at_;
  std::uint64_t received_ = 0, lost_ = 0;
};

// Calls send(count) -> number that were sent, until `ends`. Sleeps when nothing may leave.
template <class Send>
void drive(const Options& options, Counts& counts, const std::atomic<bool>& ends, Send&& send) {
  base::SystemClock clock;
  ::prctl(PR_SET_TIMERSLACK, 1000UL);
  Window window(counts, options.window, clock.now());
  while (!ends.load(std::memory_order_relaxed)) {
    const std::size_t room = options.window == 0 ? options.batch : window.room(clock.now());
    const std::size_t sent = send(std::min(room, options.batch));
    counts.sent.fetch_add(sent, std::memory_order_relaxed);
    if (sent == 0) std::this_thread::sleep_for(20us);
  }
}

// Sends one frame many times, from and to a locally administered address of these numbers.
class FrameSender {
 public:
  FrameSender(const std::string& interface, std::uint8_t from, std::uint8_t to, std::size_t batch)
      : socket_(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)), heads_(batch) {
    frame_[0] = frame_[ETH_ALEN] = std::byte{2};
    frame_[ETH_ALEN - 1] = std::byte{to};
    frame_[2 * ETH_ALEN - 1] = std::byte{from};
    frame_[2 * ETH_ALEN] = std::byte{0x88};  // the EtherType for local experiments
    frame_[2 * ETH_ALEN + 1] = std::byte{0xB5};
    for (mmsghdr& head : heads_) {
      head.msg_hdr.msg_iov = &piece_;
      head.msg_hdr.msg_iovlen = 1;
    }
    const int on = 1;
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = static_cast<int>(::if_nametoindex(interface.c_str()));
    if (!socket_.valid() || address.sll_ifindex == 0 ||
        ::setsockopt(socket_.get(), SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on) != 0 ||
        ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      fail("a packet socket at " + interface + ": " + std::strerror(errno));
    }
  }

  std::size_t send(std::size_t count) {
    const auto frames = static_cast<unsigned>(std::min(count, heads_.size()));
    if (frames == 0) return 0;
    const int sent = ::sendmmsg(socket_.get(), heads_.data(), frames, 0);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno != ENOBUFS && errno != EAGAIN) fail(std::string("sendmmsg: ") + std::strerror(errno));
    return 0;
  }

 private:
  const base::UniqueFd socket_;
  std::array<std::byte, kFrameBytes> frame_{};
  iovec piece_{frame_.data(), frame_.size()};
  std::vector<mmsghdr> heads_;
};

// The frames that came in at this interface, by /proc/net/dev.
std::uint64_t frames_in(int counters, const std::string& interface) {
  std::array<char, 8192> text{};
  if (::pread(counters, text.data(), text.size() - 1, 0) <= 0) fail("/proc/net/dev is not read");
  const char* line = std::strstr(text.data(), (interface + ":").c_str());
  unsigned long long frames = 0;
  if (line == nullptr || std::sscanf(line + interface.size() + 1, "%*u %llu", &frames) != 1) {
    fail("no counters of " + interface);
  }
  return frames;
}

// Its first frame shows a bridge where its address is.
void receive_frames(const Options& options, Counts& counts, Control& control) {
  FrameSender(options.to, 2, 1, 1).send(1);
  const base::UniqueFd counters(::open("/proc/self/net/dev", O_RDONLY | O_CLOEXEC));
  const std::uint64_t before = frames_in(counters.get(), options.to);
  control.send_value(std::uint16_t{0});
  while (!control.is_readable()) {
    counts.received.store(frames_in(counters.get(), options.to) - before,
                          std::memory_order_relaxed);
    std::this_thread::sleep_for(options.window == 0 ? 1ms : 200us);
  }
}

void send_frames(const Options& options, Counts& counts, const std::atomic<bool>& ends) {
  FrameSender sender(options.from, 1, 2, options.batch);
  drive(options, counts, ends, [&](std::size_t count) { return sender.send(count); });
}

void send_cells(const Options& options, fabric::Lid to, Counts& counts,
                const std::atomic<bool>& ends) {
  SwitchNode node(options.from, 1, options.is_full_profile);
  node.wait_until_up(options.from);
  const auto cell = small_cell(node.link(), to);
  drive(options, counts, ends, [&](std::size_t count) { return node.send(cell, count); });
}

// Waits as the programs do that carry frames.
void receive_cells(const Options& options, Counts& counts, Control& control) {
  SwitchNode node(options.to, 2, options.is_full_profile);
  node.wait_until_up(options.to);
  fabric::IdleWait waiting(false);
  waiting.add(node.underlay());
  const std::size_t end = waiting.poller().add(control.fd());
  control.send_value(node.link().local_lid().value);
  std::uint64_t received = 0;
  bool made_progress = true;
  do {
    waiting.wait(
        node.now(),
        {.made_progress = made_progress,
         .bytes_processed = received * (kSmallCellBytes + base::IdleStrategy::kFrameOverheadBytes),
         .wants_write = node.port().wants_write(),
         .deadline = node.port().deadline()});
    made_progress = node.step([&](fabric::Link&, std::span<const fabric::ReceivedCell> cells) {
      for (const fabric::ReceivedCell& cell : cells) received += is_small_cell(cell) ? 1U : 0U;
    });
    counts.received.store(received, std::memory_order_relaxed);
  } while (!waiting.poller().readable(end));
}

// Both counters at one moment.
struct Mark {
  explicit Mark(const Counts& counts)
      : sent(counts.sent.load()), received(counts.received.load()) {}
  const base::Time at = base::SystemClock().now();
  const std::uint64_t sent, received;
};

void measure(const Options& options, Counts& counts, Control& control) {
  const fabric::Lid receiver(control.receive_value<std::uint16_t>());
  std::atomic<bool> ends{false};
  std::vector<std::thread> senders;
  for (std::size_t i = 0; i < options.senders; ++i) {
    senders.emplace_back([&] {
      if (options.sends_cells) return send_cells(options, receiver, counts, ends);
      send_frames(options, counts, ends);
    });
  }
  const base::Time limit = Mark(counts).at + 2 * kPatience;
  while (counts.received.load() == 0) {
    if (Mark(counts).at > limit) fail("nothing arrives");
    std::this_thread::sleep_for(1ms);
  }
  std::this_thread::sleep_for(kWarmUp);
  const Mark from(counts);
  std::this_thread::sleep_for(seconds_of(options.seconds));
  const Mark to(counts);
  ends = true;
  for (std::thread& sender : senders) sender.join();
  std::this_thread::sleep_for(kWarmUp);  // until all have arrived
  const Mark end(counts);
  const double seconds = seconds_in(to.at - from.at);
  const std::uint64_t lost = end.sent - std::min(end.sent, end.received);
  std::printf(
      "sent_per_s %.0f\narrived_per_s %.0f\nlost_percent %.2f\narrived %.0f\n",
      static_cast<double>(to.sent - from.sent) / seconds,
      static_cast<double>(to.received - from.received) / seconds,
      100 * static_cast<double>(lost) / static_cast<double>(std::max<std::uint64_t>(end.sent, 1)),
      static_cast<double>(end.received));
  control.send_value(true);
}

void take_ends(std::string_view text, bool are_cells, Options& options) {
  options.sends_cells = are_cells;
  std::tie(options.from, options.to) = two_of(text, "--frames and --cells take two ends: FROM,TO");
}

Options options_of(int argc, char** argv) {
  Options options;
  parse_options(
      argc, argv, options,
      {{"frames", true, [&](std::string_view value) { take_ends(value, false, options); }},
       {"cells", true, [&](std::string_view value) { take_ends(value, true, options); }},
       {"full", false, [&](std::string_view) { options.is_full_profile = true; }},
       number_option("batch", options.batch, 1, 4096),
       number_option("window", options.window, 0, 1e6),
       number_option("senders", options.senders, 1, 64)},
      "tests/bench/fabric/forward_bench.cc");
  if (options.from.empty() || options.to.empty()) fail("--frames or --cells is missing");
  if (options.sends_cells) options.senders = 1;
  if (options.batch == 0) options.batch = options.sends_cells ? kCellsOfBatch : kFramesOfBatch;
  return options;
}

bool run_with(const Options& options) {
  Counts& counts = make_counts();
  const auto receive = [&](Control& control) {
    if (options.sends_cells) return receive_cells(options, counts, control);
    receive_frames(options, counts, control);
  };
  return run_two(options.ends, receive,
                 [&](Control& control) { measure(options, counts, control); });
}

}  // namespace
}  // namespace splitnic::bench

int main(int argc, char** argv) {
  using namespace splitnic::bench;
  return run_with(options_of(argc, argv)) ? 0 : 1;
}
