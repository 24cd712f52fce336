#include "tests/bench/fabric/datagrams.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "fabric_emul/underlay/udp_underlay.h"

namespace splitnic::bench {
namespace {

constexpr unsigned kBatch = 64;

// 64 datagrams, each with separate memory.
struct Batch {
  explicit Batch(std::size_t size) : bytes(kBatch * size) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      pieces[i] = {bytes.data() + i * size, size};
      heads[i].msg_hdr.msg_iov = &pieces[i];
      heads[i].msg_hdr.msg_iovlen = 1;
    }
  }
  std::vector<std::byte> bytes;
  std::array<iovec, kBatch> pieces{};
  std::array<mmsghdr, kBatch> heads{};
};

struct Report {
  std::size_t count;
  double seconds;
};

// A socket as the fabric has it, so that both have the same buffers.
std::unique_ptr<fabric::UdpUnderlay> open(const std::string& bind, const std::string& connect) {
  fabric::UdpConfig config;
  config.bind = bind;
  config.connect = connect;
  config.segment = false;
  config.gather = false;
  auto opened = fabric::UdpUnderlay::open(config);
  if (!opened) fail(opened.error().text());
  return std::move(*opened);
}

}  // namespace

void serve_datagrams(const Ends& ends, const Run& run, Control& control) {
  const auto socket = open(ends.address + ":0", "");
  std::array<char, 64> address{};
  socket->name_of(socket->local_address()).copy(address.data(), address.size() - 1);
  control.send_value(address);
  Batch batch(run.bytes);
  base::SystemClock clock;
  Report report{};
  base::Time first{};
  base::Time last{};
  std::array<pollfd, 2> ready{{{socket->fd(), POLLIN, 0}, {control.fd(), POLLIN, 0}}};
  while (true) {
    const int got = ::recvmmsg(socket->fd(), batch.heads.data(), kBatch, MSG_DONTWAIT, nullptr);
    if (got > 0) {
      last = clock.now();
      if (report.count == 0) first = last;
      report.count += static_cast<std::size_t>(got);
      continue;
    }
    if (errno != EAGAIN && errno != ECONNREFUSED) fail(std::strerror(errno));
    if ((ready[1].revents & (POLLIN | POLLHUP)) != 0) break;
    ::poll(ready.data(), ready.size(), run.spins ? 0 : 1000);
  }
  static_cast<void>(control.receive_value<bool>());
  report.seconds = seconds_in(last - first);
  control.send_value(report);
}

void measure_datagrams(const Run& run, Control& control) {
  const auto address = control.receive_value<std::array<char, 64>>();
  const auto socket = open("", address.data());
  Batch batch(run.bytes);
  base::SystemClock clock;
  const base::Time until = clock.now() + seconds_of(run.seconds);
  while (clock.now() < until) {
    if (::sendmmsg(socket->fd(), batch.heads.data(), kBatch, 0) >= 0) continue;
    if (errno == EMSGSIZE) fail("datagrams of this length do not pass");
    pollfd one{socket->fd(), POLLOUT, 0};
    ::poll(&one, 1, 10);
  }
  control.send_value(true);
  const auto report = control.receive_value<Report>();
  Row row;
  row.carrier = "udp";
  row.op = name(run.op);
  row.spins = run.spins;
  row.bytes = run.bytes;
  row.messages = report.count;
  row.seconds = report.seconds;
  print(row);
}

}  // namespace splitnic::bench
