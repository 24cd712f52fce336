// Two nodes of a fabric in one process, over UDP on the loopback address. The writer connects to
// the reader, writes a line into memory of the reader by RDMA, and the immediate data of the write
// announce it. In a real program each node is another process, on its own machine.
//
// These datagrams have no keys. Across a network put a KeyedUnderlay between adapter and socket
// (fabric_emul/session/keyed_underlay.h).
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/endian.h"
#include "base/random.h"
#include "base/status.h"
#include "fabric_emul/underlay/idle_wait.h"
#include "fabric_emul/underlay/udp_underlay.h"
#include "fabric_emul/verbs/adapter.h"

namespace base = splitnic::base;
namespace fabric = splitnic::fabric;

namespace {

[[noreturn]] void fail(std::string_view why) {
  std::cerr << "rdma_write: " << why << "\n";
  std::exit(1);
}

void check(const base::Status& status) {
  if (!status) fail(status.error().text());
}

template <class T>
T value_of(base::Result<T> result) {
  if (!result) fail(result.error().text());
  return std::move(*result);
}

// The private data of the connection: where the peer may write.
struct Offer {
  base::Be64 start;
  base::Be32 key;
};

// An adapter on a socket, with memory that its peer may write to and one completion queue.
class Node : private fabric::ConnectionHandler {
 public:
  Node(const fabric::UdpConfig& socket, bool listens)
      : socket_(value_of(fabric::UdpUnderlay::open(socket))),
        adapter_(fabric::AdapterLimits{}, random_),
        pd_(adapter_.alloc_pd()),
        cq_(value_of(adapter_.create_cq(64))),
        key_(value_of(
            adapter_.memory().regions().register_region(pd_, memory_, fabric::kAccessRights))),
        start_(adapter_.memory().start_of(key_)) {
    adapter_.connections().set_handler(*this);
    fabric::PortConfig port;
    port.eui64 = fabric::local_eui64(random_.next());
    port.instance = random_.next() | 1;
    port.listens = listens;
    port_ = value_of(adapter_.add_port(*socket_, port));
  }

  fabric::UdpUnderlay& socket() { return *socket_; }
  bool is_done() const { return is_done_; }
  bool wants_write() const { return adapter_.wants_write(); }
  base::Time deadline() const { return adapter_.deadline(); }

  // One iteration of the data thread: takes what has arrived, sends what was posted.
  bool iterate() {
    const base::Time now = clock_.now();
    if (adapter_.wants_write()) adapter_.on_writable(now);
    bool made_progress = adapter_.poll(now);
    fabric::WcBatch completions;
    while (const std::size_t count = adapter_.poll_cq(cq_, completions)) {
      made_progress = true;
      for (const fabric::Wc& wc : std::span(completions).first(count)) {
        if (wc.status != fabric::WcStatus::kSuccess) fail(fabric::name(wc.status));
        on_completion(wc);
        is_done_ = true;
      }
    }
    return made_progress;
  }

 protected:
  // A queue pair of the reliable connected service (RC), in INIT.
  fabric::Qpn create_queue_pair() {
    fabric::QpInit init;
    init.common.pd = pd_;
    init.common.send_cq = cq_;
    init.common.recv_cq = cq_;
    const fabric::Qpn qpn = value_of(adapter_.create_qp(init, clock_.now()));
    check(adapter_.prepare_qp(qpn));
    return qpn;
  }

  base::SystemClock clock_;
  base::OsRandom random_;
  std::array<std::byte, 4096> memory_{};
  std::unique_ptr<fabric::UdpUnderlay> socket_;
  fabric::Adapter adapter_;
  fabric::PdId pd_;
  fabric::CqId cq_;
  fabric::MemoryHandle key_;
  fabric::VirtualAddress start_;  // of memory_, as the peer and work requests name it
  fabric::Port* port_ = nullptr;

 private:
  virtual void on_completion(const fabric::Wc& wc) = 0;
  void on_link_up(fabric::Link&) override {}
  // The writer closes the link when both are done.
  void on_link_down(fabric::Link&, std::string_view why) override {
    if (!is_done_) fail(why);
  }
  bool on_connected(fabric::ConnectionId, fabric::Link&, const fabric::Mgmt&) override {
    return false;
  }
  void on_rejected(fabric::ConnectionId, fabric::MgmtReject code, base::Bytes) override {
    fail(fabric::name(code));
  }
  void on_disconnected(fabric::ConnectionId, std::string_view why) override { fail(why); }

  bool is_done_ = false;
};

class Reader final : public Node {
 public:
  Reader() : Node({.bind = "127.0.0.1:0"}, true) {}
  std::string address() { return socket().name_of(socket().local_address()); }

 private:
  fabric::MgmtReject on_connect_request(fabric::ConnectionId, fabric::Link& link,
                                        const fabric::Mgmt& request, fabric::Mgmt& reply) override {
    if (request.pair_count != 1) return fabric::MgmtReject::kRefused;
    const fabric::Qpn qpn = create_queue_pair();
    check(adapter_.post_recv(qpn, fabric::RecvWr{}));  // takes the immediate data
    reply.pair_count = 1;
    reply.pairs[0] = adapter_.describe(qpn, 0, 0);
    reply.pairs[0].peer_qpn = request.pairs[0].qpn;
    if (!adapter_.connect_qp(reply.pairs[0], request.pairs[0], link)) {
      return fabric::MgmtReject::kBadParameter;
    }
    offer_ = {base::Be64(start_.value), base::Be32(key_.value)};
    reply.private_data = std::as_bytes(std::span(&offer_, 1));
    return fabric::MgmtReject::kNone;
  }

  void on_completion(const fabric::Wc& wc) override {
    const base::Bytes bytes = std::span(memory_).subspan(wc.address.value - start_.value, wc.bytes);
    std::cout << "reader: " << wc.bytes << " bytes arrived with immediate data " << wc.idata << ": "
              << base::as_text(bytes) << "\n";
  }

  Offer offer_;
};

class Writer final : public Node {
 public:
  explicit Writer(const std::string& reader) : Node({.connect = reader}, false) {
    port_->connect(socket().connected_to(), clock_.now());
  }

  // Without it the reader would notice after a while that nobody is there.
  void disconnect() {
    adapter_.connections().disconnect(connection_, clock_.now());
    adapter_.transmit(clock_.now());
    port_->send_bye(clock_.now());
    port_->flush(clock_.now());
  }

 private:
  void on_link_up(fabric::Link& link) override {
    qpn_ = create_queue_pair();
    const std::array<fabric::MgmtPair, 1> mine{adapter_.describe(qpn_, 0, 0)};
    connection_ = adapter_.connections().connect(link, mine, {}, clock_.now());
  }

  bool on_connected(fabric::ConnectionId, fabric::Link& link, const fabric::Mgmt& reply) override {
    Offer offer;
    if (reply.pair_count != 1 || reply.private_data.size() != sizeof offer) return false;
    std::memcpy(&offer, reply.private_data.data(), sizeof offer);
    if (!adapter_.connect_qp(adapter_.describe(qpn_, 0, 0), reply.pairs[0], link)) return false;

    static constexpr std::string_view kLine = "a line of the writer";
    std::ranges::copy(base::as_bytes(kLine), memory_.begin());
    const std::array<fabric::Sge, 1> gather{fabric::Sge{start_, kLine.size(), key_}};
    fabric::SendWr write;
    write.op = fabric::WrOp::kRdmaWrite;
    write.gather = gather;
    write.remote_address = fabric::VirtualAddress(offer.start.get());
    write.remote_handle = fabric::MemoryHandle(offer.key.get());
    write.idata = 7;
    check(adapter_.post_send(qpn_, write));
    return true;
  }

  void on_completion(const fabric::Wc&) override { std::cout << "writer: the write is complete\n"; }

  fabric::Qpn qpn_;
  fabric::ConnectionId connection_;
};

}  // namespace

int main() {
  Reader reader;
  Writer writer(reader.address());
  base::SystemClock clock;
  fabric::IdleWait waiting(false);  // sleeps while nothing is to do
  waiting.add(reader.socket());
  waiting.add(writer.socket());
  const base::Time limit = clock.now() + std::chrono::seconds(10);
  bool made_progress = true;
  while (!reader.is_done() || !writer.is_done()) {
    waiting.wait(clock.now(),
                 {.made_progress = made_progress,
                  .wants_write = reader.wants_write() || writer.wants_write(),
                  .deadline = std::min({reader.deadline(), writer.deadline(), limit})});
    made_progress = reader.iterate();
    made_progress |= writer.iterate();
    if (clock.now() > limit) fail("nothing arrived within 10 seconds");
  }
  writer.disconnect();
}
