// Two VIs over a pair of adapters: each side has a kernel agent, one completion queue for both
// queues, a region of descriptors in slots of 128 bytes, and a region of data.
//
//   ViHarness harness(ViReliability::kDelivery);            // connected
//   const auto at = harness.b.write(send_of(harness.b.data(0, 100)));
//   harness.b.post_and_ring(ViQueue::kSend, at);
//   harness.run_until([&] { return harness.b.done.size() == 1; });
#pragma once

#include <cstring>

#include "fabric_emul/via/kernel_agent.h"
#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing {

inline constexpr std::size_t kViSlotBytes = 128;
inline constexpr std::uint32_t kViDiscriminator = 0x5649;

inline ViDescriptor send_of(std::vector<Sge> pieces, std::optional<std::uint32_t> idata = {}) {
  ViDescriptor d;
  CHECK(d.data.assign(pieces));
  d.length = static_cast<std::uint32_t>(d.data.bytes);
  d.idata = idata;
  return d;
}
inline ViDescriptor rdma_of(ViOp op, std::vector<Sge> pieces, const Memory& remote,
                            std::size_t offset = 0, std::optional<std::uint32_t> idata = {}) {
  ViDescriptor d = send_of(std::move(pieces), idata);
  d.op = op;
  d.remote_address = remote.at(offset);
  d.remote_handle = remote.handle;
  return d;
}

struct ViSide {
  ViSide(End& at, base::Clock& clock, const ViAttributes& wanted)
      : end(at), agent(*at.adapter, clock), attributes(wanted) {
    attributes.pd = end.pd;
    cq = agent.create_cq(4096).value();
    vi = agent.create_vi(attributes, *cq, *cq).value();
    slots.bytes.resize(256 * kViSlotBytes);
    region.bytes.resize(1 << 18);
    region.fill(7 + end.port->config().eui64.value);
    add(slots);
    add(region);
    agent.set_error_handler(
        [this](Vi&, std::string_view why) { errors.emplace_back(std::string(why)); });
  }
  void add(Memory& memory) {
    memory.handle = agent.register_memory(end.pd, memory.bytes, kAccessRights).value();
    memory.start = end.adapter->memory().start_of(memory.handle);
  }

  Sge data(std::size_t offset, std::size_t length) const { return region.sge(offset, length); }
  // Writes it into the next slot.
  ViDescriptorRef write(const ViDescriptor& d) {
    const std::size_t offset = next_slot++ * kViSlotBytes;
    emit_vi_descriptor(std::span(slots.bytes).subspan(offset, kViSlotBytes), d);
    return {slots.at(offset), slots.handle};
  }
  std::byte* bytes(ViDescriptorRef at) {
    return slots.bytes.data() + (at.address.value - slots.start.value);
  }
  std::uint32_t word(ViDescriptorRef at, std::size_t offset) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes(at) + offset, sizeof(value));
    return value;
  }
  std::uint32_t status(ViDescriptorRef at) { return word(at, kViStatusAt); }
  ViDescriptorRef post_and_ring(ViQueue queue, ViDescriptorRef at) {
    CHECK(vi->post(queue, at).has_value());
    vi->ring(queue);
    return at;
  }
  ViDescriptorRef send(const ViDescriptor& d) { return post_and_ring(ViQueue::kSend, write(d)); }
  ViDescriptorRef receive(std::vector<Sge> pieces) {
    return post_and_ring(ViQueue::kReceive, write(send_of(std::move(pieces))));
  }
  void take() {
    cq->poll();
    while (const auto one = cq->done()) done.push_back(*one);
  }

  End& end;
  KernelAgent agent;
  ViAttributes attributes;
  ViCq* cq = nullptr;
  Vi* vi = nullptr;
  Memory slots, region;
  std::size_t next_slot = 0;
  std::vector<ViCompletion> done;  // oldest first
  std::vector<std::string> errors;
};

class ViHarness {
 public:
  explicit ViHarness(const ViAttributes& attributes, bool connects = true)
      : a(pair.a(), clock_of_pair, attributes), b(pair.b(), clock_of_pair, attributes) {
    if (connects) connect();
  }
  explicit ViHarness(ViReliability reliability) : ViHarness(with(reliability)) {}
  static ViAttributes with(ViReliability reliability) {
    ViAttributes attributes;
    attributes.reliability = reliability;
    attributes.enable_rdma_read = true;
    return attributes;
  }

  void connect() {
    CHECK(a.agent.wait(*a.vi, kViDiscriminator).has_value());
    CHECK(b.agent.connect(*b.vi, b.end.link(), kViDiscriminator).has_value());
    CHECK(run_until([&] {
      return a.vi->state() == ViState::kConnected && b.vi->state() == ViState::kConnected;
    }));
    settle();
  }
  bool run_until(const std::function<bool()>& done) {
    return pair.run_until([&] {
      a.take();
      b.take();
      return done();
    });
  }
  // Until nothing is in flight.
  void settle() {
    const base::Time until = pair.now() + std::chrono::milliseconds(500);
    CHECK(run_until([&] { return pair.now() >= until; }));
  }

  AdapterPair pair;

 private:
  // The time of the pair.
  struct PairClock final : base::Clock {
    explicit PairClock(AdapterPair& of) : pair(of) {}
    base::Time now() override { return pair.now(); }
    AdapterPair& pair;
  };
  PairClock clock_of_pair{pair};

 public:
  ViSide a, b;
};

}  // namespace splitnic::fabric::testing
