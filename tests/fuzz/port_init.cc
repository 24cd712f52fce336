// Strangers, liars and a host at one port: INIT steps with any content from a few addresses, other
// flits, time. The echo of a step may be a number that the port has sent to this address, to
// another one, or none. Whatever comes, a link is up only towards an address that has echoed what
// was sent to it, nobody ends the link of another one (who proves the same identity at a new
// address takes it, unless it is bound to a key), strangers get no more bytes than they sent, and
// the observer sees each link go up and down in alternation.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "fabric_emul/link/port.h"
#include "fabric_emul/wire/flit.h"
#include "tests/fuzz/port_init_carrier.h"
#include "tests/fuzz/targets.h"
#include "tests/support/input.h"

namespace splitnic::fuzz {
namespace {

using namespace fabric;
using namespace port_init_carrier;
using support::Input;

constexpr int kPortInitStepsMax = 128;
constexpr std::size_t kAddresses = 5;
constexpr std::size_t kLinksMax = 3;
constexpr std::uint64_t kOwnInstance = 77;
constexpr Eui64 kOwn(9);

class PortRun final : private LinkObserver {
 public:
  explicit PortRun(base::Bytes bytes)
      : in_(bytes),
        config_(in_.u8()),
        carrier_((config_ & 2U) != 0),
        port_(carrier_, config(), random_, observer()) {
    if (!listens()) port_.connect(address_of(0), now_);
    take_sent();
  }
  void all() {
    for (int steps = 0; !in_.empty() && steps < kPortInitStepsMax; ++steps) {
      step();
      run();
      check();
    }
    from_.reset();
    port_.send_bye(now_);
    for (const auto& [link, is_up] : links_) CHECK(!is_up && !link->up());
  }

 private:
  // A peer that has proved where it is: the address, the identity, the process.
  struct Proof {
    std::size_t peer = 0;
    std::uint64_t eui64 = 0;
    std::uint64_t instance = 0;
    friend auto operator<=>(const Proof&, const Proof&) = default;
  };

  bool listens() const { return (config_ & 1U) == 0; }
  LinkObserver& observer() { return *this; }
  PortConfig config() const {
    constexpr std::array kModes{PayloadCrcMode::kOn, PayloadCrcMode::kOff, PayloadCrcMode::kAuto,
                                PayloadCrcMode::kOn};
    PortConfig out;
    out.eui64 = kOwn;
    out.instance = kOwnInstance;
    out.listens = listens();
    out.links_max = kLinksMax;
    out.profile = (config_ & 4U) != 0 ? LinkProfile::kFull : LinkProfile::kSpeed;
    out.crc_head_only = (config_ & 8U) != 0 && out.profile == LinkProfile::kSpeed;
    out.payload_crc = kModes[config_ >> 4 & 3U];
    out.machine_key = SipKey{7, 8};
    out.full.receive_blocks = 256;
    out.full.window = 64;
    return out;
  }

  void step() {
    const std::uint8_t choice = in_.u8();
    switch (choice % 8) {
      case 6:
        now_ += std::chrono::milliseconds(1) * (choice >> 3) * (choice >> 3);
        return from_.reset();
      case 7:
        from_.reset();
        if (choice >= 128) carrier_.is_blocked = !carrier_.is_blocked;
        return write_cell();
      default:
        from_ = (choice >> 3) % kAddresses;
        return put_batch(choice);
    }
  }
  // The first datagram is as `choice` has it. With bit 6 of the configuration up to three follow:
  // others, or the one before it with another byte behind its header. Zeros fill the shorter ones.
  void put_batch(unsigned choice) {
    std::vector<std::vector<std::byte>> all{datagram(choice)};
    for (std::size_t more = (config_ & 64U) != 0 ? in_.below(4) : 0; more > 0; --more) {
      const std::uint8_t next = in_.u8();
      all.push_back(next % 4 == 0 ? all.back() : datagram(next));
      if (next % 4 != 0 || all.back().size() <= kFlitHeaderBytes) continue;
      const std::size_t payload = all.back().size() - kFlitHeaderBytes;
      all.back()[kFlitHeaderBytes + in_.below(payload)] ^= std::byte{in_.u8()};
    }
    Carrier::Datagram batch{*from_, {}, 0};
    for (const auto& one : all) batch.stride = std::max(batch.stride, one.size());
    for (auto& one : all) {
      one.resize(batch.stride);
      if (guesses(one)) std::ranges::fill(one, std::byte{0});
      note(one);
      batch.bytes.insert(batch.bytes.end(), one.begin(), one.end());
    }
    bytes_in_[*from_] += batch.bytes.size();
    carrier_.waiting = std::move(batch);
  }
  std::vector<std::byte> datagram(unsigned choice) {
    return choice % 8 == 5 ? flit_datagram() : init_datagram(choice >> 3);
  }
  void write_cell() {
    for (const auto& [link, is_up] : links_) {
      const base::MutableBytes room = link->reserve(64);
      if (room.empty()) continue;
      std::ranges::fill(room, std::byte{0});
      link->commit(room.size() < 64 ? 0 : 64);
    }
  }

  // Terms that suit unless the input changes them.
  std::vector<std::byte> init_datagram(unsigned choice) {
    const std::uint8_t what = in_.u8();
    Init init;
    init.step = static_cast<InitStep>(1 + what % 8);
    init.profile = profile_of(config());
    init.cell_crc = config().crc_head_only ? CellCrcMode::kHeadOnly : CellCrcMode::kWholeCell;
    init.program_version = 0x00010000;
    init.lanes_mask = 0x800F;
    init.mcp_max =
        (what & 8U) != 0 ? std::uint16_t{1364} : static_cast<std::uint16_t>(in_.u8() * 4);
    init.flit_payload_max = 1420;
    init.initial_credit = 256;
    init.receive_buffer_bytes = 1 << 20;
    init.eui64 = Eui64((what & 16U) != 0 ? in_.below(12) : eui64_at(*from_));
    init.instance = 1 + (what >> 5) % 2;
    init.peer_instance = (what & 64U) != 0 ? in_.u8() : kOwnInstance;
    init.nonce = 1 + in_.u8();
    init.echo = echo();
    init.payload_crc = static_cast<PayloadCrc>(choice >> 3 & 3U);
    if (init.step == InitStep::kReady) {
      init.lid = Lid(1);
      init.offered_lid = Lid(in_.u8() % 4);
    }
    std::vector<std::byte> flit(kFlitHeaderBytes + kInitBytes);
    emit_init(flit.data() + kFlitHeaderBytes, init);
    FlitHeader header;
    header.type = FlitType::kInit;
    header.vl = kMgmtLane;
    header.size = kInitBytes;
    if ((what & 128U) != 0) flit[kFlitHeaderBytes + in_.below(kInitBytes)] ^= std::byte{in_.u8()};
    seal_flit(flit, header);
    if (choice >= 24) flit.resize(flit.size() + in_.u8());  // filler, as path probes have it
    return flit;
  }
  // None, the newest number that was sent to this address or to any other, an older one, or any.
  std::uint64_t echo() {
    const std::uint8_t choice = in_.u8();
    const std::size_t peer = choice % 3 == 1 ? *from_ : choice % kAddresses;
    const std::vector<std::uint64_t>& numbers = nonces_[peer];
    if (choice >= 250) return in_.u64();
    if (choice % 3 == 0 || numbers.empty()) return 0;
    return numbers[numbers.size() - 1 - (choice >> 4) % numbers.size()];
  }
  std::vector<std::byte> flit_datagram() {
    FlitHeader header;
    header.type = static_cast<FlitType>(in_.u8() % 8);
    header.ctl = in_.u8();
    header.vl = in_.u8() & 0xF;
    header.lsn = Lsn(in_.u8());
    header.ack = Lsn(in_.u8());
    header.credit_vl = in_.u8() & 0xF;
    header.credit_limit = in_.u16();
    const base::Bytes payload = in_.bytes(200);
    std::vector<std::byte> flit(kFlitHeaderBytes + payload.size());
    emit_flit(flit, header, payload);
    return flit;
  }

  // An ANSWER may echo a wrong number, but not a right one that was never sent: a fuzzer that sees
  // both sides of the comparison finds the 64 bits of a token that nobody else does.
  bool guesses(base::Bytes datagram) const {
    const auto init = init_of(datagram);
    return init && init->step == InitStep::kAnswer && init->echo >> 32 != 0 &&
           std::ranges::none_of(nonces_, [&](const std::vector<std::uint64_t>& numbers) {
             return std::ranges::find(numbers, init->echo) != numbers.end();
           });
  }
  // An ANSWER proves the address of its identity if it echoes the token for both.
  void note(base::Bytes datagram) {
    const auto init = init_of(datagram);
    if (!init) return;
    const Proof proof{*from_, init->eui64.value, init->instance};
    if (init->step == InitStep::kHello) hellos_.insert({init->nonce, proof});
    if (init->step == InitStep::kAnswer && tokens_.contains({proof, init->echo})) {
      proven_.insert(proof);
    }
    const std::vector<std::uint64_t>& numbers = nonces_[*from_];
    is_ready_ |= init->step == InitStep::kReady && *from_ == 0 &&
                 std::ranges::find(numbers, init->echo) != numbers.end();
  }
  static std::optional<Init> init_of(base::Bytes datagram) {
    FlitView flit;
    Init init;
    const bool is_init = parse_flit(datagram, flit) == FlitError::kNone &&
                         flit.header.type == FlitType::kInit &&
                         parse_init(flit.payload, init) == InitError::kNone;
    return is_init ? std::optional(init) : std::nullopt;
  }

  void run() {
    const auto of_sender = std::ranges::find_if(links_, [&](const auto& one) {
      return from_ && number_of(one.first->address()) == *from_;
    });
    const Link* const before = of_sender == links_.end() ? nullptr : of_sender->first;
    port_.receive(now_, 4, [&](Link& link, std::span<const ReceivedCell> cells) {
      CHECK(link.up() && !cells.empty());
      check_cells(cells, &link == before);
    });
    take_sent();
    from_.reset();  // what ends by time ends by no datagram
    port_.on_time(now_);
    port_.flush(now_);
    take_sent();
    hellos_.clear();
    is_ready_ = false;
  }
  // Each is in a flit of its batch whose CRC is right. If its link had another address, or none,
  // before the batch, it lies behind the first INIT.
  void check_cells(std::span<const ReceivedCell> cells, bool had_address) const {
    if (config().profile == LinkProfile::kFull) return;  // these are copies
    std::set<const std::byte*> places;
    bool is_of_link = had_address;
    const Carrier::Datagram& batch = carrier_.current();
    for (base::Bytes rest = batch.bytes; !rest.empty(); rest = rest.subspan(batch.stride)) {
      FlitWalker walker(rest.first(batch.stride));
      FlitView flit;
      for (auto step = walker.next(flit); step == FlitWalker::Step::kFlit;
           step = walker.next(flit)) {
        is_of_link |= flit.header.type == FlitType::kInit;
        if (is_of_link) places.insert(flit.payload.data());
      }
    }
    for (const ReceivedCell& cell : cells) CHECK(places.contains(cell.bytes.data()));
  }
  // Numbers that were sent: only who is at the address knows them.
  void take_sent() {
    for (const Carrier::Datagram& datagram : carrier_.sent) {
      bytes_out_[datagram.peer] += datagram.bytes.size();
      FlitView flit;
      Init init;
      if (parse_flit(datagram.bytes, flit) != FlitError::kNone ||
          flit.header.type != FlitType::kInit) {
        continue;
      }
      CHECK(parse_init(flit.payload, init) == InitError::kNone);
      if (init.nonce != 0) nonces_[datagram.peer].push_back(init.nonce);
      if (init.step != InitStep::kChallenge) continue;
      CHECK(!hellos_.empty() && hellos_.begin()->second.peer == datagram.peer);
      for (const auto& [nonce, hello] : hellos_) {
        if (nonce == init.echo && hello.instance == init.peer_instance) {
          tokens_.insert({hello, init.nonce});
        }
      }
    }
    carrier_.sent.clear();
  }

  void check() {
    std::set<Lid> lids;
    CHECK(links_.size() <= kLinksMax);
    for (const auto& [link, is_up] : links_) {
      CHECK(link->up() == is_up);
      if (!is_up) continue;
      CHECK(link->mcp() >= kMcpMin && link->mcp() % 4 == 0 && link->mcp() <= 1364);
      if (!listens()) continue;
      CHECK(is_proven(*link));
      CHECK(lids.insert(link->remote_lid()).second && port_.by_lid(link->remote_lid()) == link);
    }
    if (!listens()) return;
    for (std::size_t peer = 0; peer < kAddresses; ++peer) {
      if (!has_proof(peer)) CHECK(bytes_out_[peer] <= bytes_in_[peer]);
    }
  }
  bool is_proven(const Link& link) const {
    return proven_.contains(
        {number_of(link.address()), link.peer_eui64().value, link.peer_instance()});
  }
  bool has_proof(std::size_t peer) const {
    return std::ranges::any_of(proven_, [&](const Proof& p) { return p.peer == peer; });
  }
  // The datagram that ends this link or its peer is that of the peer, or of who has the identity.
  void check_end(const Link& link) const {
    if (!from_) return;
    const bool is_heir = std::ranges::any_of(proven_, [&](const Proof& p) {
      return p.peer == *from_ && p.eui64 == link.peer_eui64().value;
    });
    CHECK(number_of(link.address()) == *from_ || (is_heir && listens()));
    if (carrier_.is_keyed() && listens()) {
      CHECK(eui64_at(*from_) == link.peer_eui64().value);
    }
  }
  void on_link_up(Link& link) override {
    bool& is_up = links_[&link];
    CHECK(!is_up);
    is_up = true;
    CHECK(from_ && *from_ == number_of(link.address()));
    // Who was silent may be heard again; a new peer needs a READY for what was sent to it.
    if (!listens()) CHECK(is_ready_ || was_ready_);
    was_ready_ = true;
  }
  void on_link_down(Link& link, std::string_view) override {
    bool& is_up = links_[&link];
    CHECK(is_up);
    is_up = false;
    check_end(link);
  }
  void on_peer_restarted(Link& link) override {
    CHECK(!link.up());
    const bool was_up = std::exchange(links_[&link], false);
    if (was_up) check_end(link);
    was_ready_ = false;
  }

  Input in_;
  const std::uint8_t config_;
  base::SeededRandom random_{1};
  base::Time now_ = base::Time() + std::chrono::seconds(1000);
  Carrier carrier_;
  std::map<Link*, bool> links_;                       // that were ever up, and whether they are
  std::optional<std::size_t> from_;                   // who sent the datagram of this step
  std::set<std::pair<std::uint64_t, Proof>> hellos_;  // of this step, by their nonces
  bool is_ready_ = false, was_ready_ = false;
  std::set<std::pair<Proof, std::uint64_t>> tokens_;
  std::set<Proof> proven_;
  std::array<std::vector<std::uint64_t>, kAddresses> nonces_;
  std::array<std::size_t, kAddresses> bytes_in_{}, bytes_out_{};
  Port port_;
};

}  // namespace

// First byte: the port. Then steps of one byte and more.
void port_init(base::Bytes in) { PortRun(in).all(); }

}  // namespace splitnic::fuzz
