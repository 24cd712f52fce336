// fabric_bench's figures of a write, measured on libfabric: fi_writedata with a completion at the
// target, between two processes that ask and never sleep. Debian's libfabric-bin has nothing like
// it. Prints rows of fabric_bench's table; the carrier is the provider.
//   libfabric_write --provider tcp|udp;ofi_rxd|shm [--size N|all] [--seconds S] [--pin]
//                   [--netns A,B] [--addresses ACTIVE,PASSIVE] [--no-head]
#include <getopt.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/fabric/two_ends.h"

namespace splitnic::bench {
namespace {

struct Options {
  Ends ends;
  std::string provider = "tcp";
  std::string active_address = "127.0.0.1";
  std::vector<std::size_t> sizes{kSizes.begin(), kSizes.end()};
  std::size_t bytes = 0;
  double seconds = 1;
  bool has_head = true;
};

// What the immediate data asks of the passive end.
enum class Word : std::uint32_t { kCount, kAnswer };

void check(long result, const char* what) {
  if (result < 0) fail(std::string(what) + ": " + ::fi_strerror(static_cast<int>(-result)));
}

struct Close {
  template <class T>
  void operator()(T* object) const {
    ::fi_close(&object->fid);
  }
};
template <class T>
using Object = std::unique_ptr<T, Close>;
struct FreeInfo {
  void operator()(fi_info* info) const { ::fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

struct Greeting {
  std::uint64_t key = 0;
  std::uint64_t start = 0;
  std::size_t name_bytes = 0;
  std::array<std::byte, 256> name{};
};

class LibfabricEnd {
 public:
  LibfabricEnd(const Options& options, Control& control, bool is_active);

  // One write of the next slot, unless the provider wants a turn first.
  bool post(Word word);
  bool turn();
  template <class Done>
  void turn_until(const Done& is_done) {
    base::Time limit = clock.now() + kSilenceMax;
    for (unsigned turns = 1; !is_done(); ++turns) {
      if (turn()) limit = clock.now() + kSilenceMax;
      if (turns % 1024 == 0 && clock.now() > limit) fail(provider_ + ": nothing moves");
    }
  }
  std::size_t open() const { return posted_ - sent_; }
  std::size_t sent() const { return sent_; }
  std::size_t received() const { return received_; }
  base::SystemClock clock;

 private:
  void open(const Options& options);
  void register_memory();
  void meet(Control& control);
  void fail_completion();

  const bool is_active_;
  const std::string provider_;
  const std::size_t bytes_;
  std::vector<std::byte> memory_;
  Info info_;
  Object<fid_fabric> fabric_;
  Object<fid_domain> domain_;
  Object<fid_av> av_;
  Object<fid_cq> cq_;
  Object<fid_mr> mr_;
  Object<fid_ep> ep_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  Greeting theirs_;
  std::vector<fi_context2> contexts_;
  std::size_t next_ = 0, posted_ = 0, sent_ = 0, received_ = 0, answers_due_ = 0;
};

LibfabricEnd::LibfabricEnd(const Options& options, Control& control, bool is_active)
    : is_active_(is_active),
      provider_(options.provider),
      bytes_(options.bytes),
      memory_(slots_for(options.bytes) * slot_stride(options.bytes), std::byte{1}),
      contexts_(slots_for(options.bytes)) {
  open(options);
  register_memory();
  meet(control);
}

void LibfabricEnd::open(const Options& options) {
  const Info hints(::fi_allocinfo());
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->fabric_attr->prov_name = ::strdup(provider_.c_str());
  const std::string& address = is_active_ ? options.active_address : options.ends.address;
  const bool has_address = provider_ != "shm";
  fi_info* found = nullptr;
  check(::fi_getinfo(FI_VERSION(1, 17), has_address ? address.c_str() : nullptr, nullptr,
                     has_address ? FI_SOURCE : 0, hints.get(), &found),
        provider_.c_str());
  info_.reset(found);
  fid_fabric* fabric = nullptr;
  check(::fi_fabric(info_->fabric_attr, &fabric, nullptr), "fi_fabric");
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  check(::fi_domain(fabric, info_.get(), &domain, nullptr), "fi_domain");
  domain_.reset(domain);
  fi_av_attr table{};
  table.type = FI_AV_TABLE;
  fid_av* av = nullptr;
  check(::fi_av_open(domain, &table, &av, nullptr), "fi_av_open");
  av_.reset(av);
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_DATA;
  queue.size = 4096;
  queue.wait_obj = FI_WAIT_NONE;
  fid_cq* cq = nullptr;
  check(::fi_cq_open(domain, &queue, &cq, nullptr), "fi_cq_open");
  cq_.reset(cq);
  fid_ep* ep = nullptr;
  check(::fi_endpoint(domain, info_.get(), &ep, nullptr), "fi_endpoint");
  ep_.reset(ep);
  check(::fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
  check(::fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
  check(::fi_enable(ep), "fi_enable");
}

void LibfabricEnd::register_memory() {
  fid_mr* mr = nullptr;
  check(::fi_mr_reg(domain_.get(), memory_.data(), memory_.size(),
                    FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0, &mr, nullptr),
        "fi_mr_reg");
  mr_.reset(mr);
  if ((info_->domain_attr->mr_mode & FI_MR_ENDPOINT) == 0) return;
  check(::fi_mr_bind(mr, &ep_->fid, 0), "fi_mr_bind");
  check(::fi_mr_enable(mr), "fi_mr_enable");
}

void LibfabricEnd::meet(Control& control) {
  Greeting mine;
  mine.key = ::fi_mr_key(mr_.get());
  if ((info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0) {
    std::byte* const start = memory_.data();
    std::memcpy(&mine.start, &start, sizeof mine.start);
  }
  mine.name_bytes = mine.name.size();
  check(::fi_getname(&ep_->fid, mine.name.data(), &mine.name_bytes), "fi_getname");
  control.tell_value(mine);
  theirs_ = control.hear_value<Greeting>();
  if (::fi_av_insert(av_.get(), theirs_.name.data(), 1, &peer_, 0, nullptr) != 1) {
    fail("fi_av_insert");
  }
}

bool LibfabricEnd::post(Word word) {
  const std::size_t offset = next_ * slot_stride(bytes_);
  const ssize_t done =
      ::fi_writedata(ep_.get(), memory_.data() + offset, bytes_, ::fi_mr_desc(mr_.get()),
                     static_cast<std::uint64_t>(word), peer_, theirs_.start + offset, theirs_.key,
                     &contexts_[next_]);
  if (done == -FI_EAGAIN) return false;
  check(done, "fi_writedata");
  next_ = (next_ + 1) % slots_for(bytes_);
  ++posted_;
  return true;
}

void LibfabricEnd::fail_completion() {
  fi_cq_err_entry error{};
  check(::fi_cq_readerr(cq_.get(), &error, 0), "fi_cq_readerr");
  fail(provider_ + ": a write ended as " + ::fi_strerror(error.err));
}

bool LibfabricEnd::turn() {
  std::array<fi_cq_data_entry, 64> entries;
  const ssize_t got = ::fi_cq_read(cq_.get(), entries.data(), entries.size());
  if (got == -FI_EAVAIL) fail_completion();
  if (got < 0 && got != -FI_EAGAIN) check(got, "fi_cq_read");
  for (ssize_t i = 0; i < got; ++i) {
    const fi_cq_data_entry& entry = entries[static_cast<std::size_t>(i)];
    if ((entry.flags & FI_REMOTE_CQ_DATA) == 0) {
      ++sent_;
      continue;
    }
    ++received_;
    if (!is_active_ && entry.data == static_cast<std::uint64_t>(Word::kAnswer)) ++answers_due_;
  }
  while (answers_due_ > 0 && post(Word::kCount)) --answers_due_;
  return got > 0;
}

void serve(const Options& options, Control& control) {
  LibfabricEnd end(options, control, false);
  for (unsigned turns = 1; turns % 1024 != 0 || !control.is_readable(); ++turns) end.turn();
}

void measure_latency(LibfabricEnd& end, const Options& options, Row& row) {
  std::vector<float> took;
  took.reserve(kRoundTripsMax);
  // The first makes the connection.
  base::Time begin = end.clock.now();
  base::Time until = base::kNever;
  while (begin < until && took.size() < kRoundTripsMax) {
    const std::size_t answered = end.received();
    end.turn_until([&] { return end.post(Word::kAnswer); });
    end.turn_until([&] { return end.received() > answered; });
    const base::Time now = end.clock.now();
    if (until == base::kNever) {
      until = now + seconds_of(options.seconds);
    } else {
      took.push_back(static_cast<float>((now - begin).count()));
    }
    begin = now;
  }
  take_round_trips(took, row);
}

void stream(LibfabricEnd& end, const Options& options, double seconds, Row& row) {
  const std::size_t slots = slots_for(options.bytes);
  const std::size_t before = end.sent();
  const base::Time begin = end.clock.now();
  const base::Time until = begin + seconds_of(seconds);
  while (end.clock.now() < until) {
    const std::size_t known = end.sent();
    bool has_room = true;
    while (end.open() < slots && has_room) has_room = end.post(Word::kCount);
    end.turn_until([&] { return end.sent() > known || (!has_room && end.open() == 0); });
  }
  // A completion here may come before the write is there: the answer to the last one does not.
  const std::size_t answered = end.received();
  end.turn_until([&] { return end.post(Word::kAnswer); });
  end.turn_until([&] { return end.received() > answered && end.open() == 0; });
  row.messages = end.sent() - before;
  row.seconds = seconds_in(end.clock.now() - begin);
}

void measure(const Options& options, Control& control) {
  LibfabricEnd end(options, control, true);
  Row row;
  row.carrier = options.provider;
  row.op = "write";
  row.spins = true;
  row.bytes = options.bytes;
  measure_latency(end, options, row);
  end.turn_until([&] { return end.open() == 0; });
  stream(end, options, options.seconds / 10, row);
  stream(end, options, options.seconds, row);
  control.tell_value(true);
  print(row);
}

void take(Options& options, int option, std::string_view value) {
  switch (option) {
    case 'r':
      options.provider = value;
      break;
    case 'n':
      options.sizes = sizes_of(value);
      break;
    case 't':
      options.seconds = number_of("--seconds", value, 0.001, 3600);
      break;
    case 'p':
      options.ends.is_pinned = true;
      break;
    case 'w':
      take_netns(value, options.ends);
      break;
    case 'a':
      options.active_address = value.substr(0, value.find(','));
      options.ends.address = value.substr(value.find(',') + 1);
      break;
    case 'h':
      options.has_head = false;
      break;
    default:
      fail("unknown option; the head of tests/bench/fabric/libfabric_write.cc lists them");
  }
}

Options options_of(int argc, char** argv) {
  static constexpr std::array<option, 8> kOptions = {{{"provider", 1, nullptr, 'r'},
                                                      {"size", 1, nullptr, 'n'},
                                                      {"seconds", 1, nullptr, 't'},
                                                      {"pin", 0, nullptr, 'p'},
                                                      {"netns", 1, nullptr, 'w'},
                                                      {"addresses", 1, nullptr, 'a'},
                                                      {"no-head", 0, nullptr, 'h'},
                                                      {nullptr, 0, nullptr, 0}}};
  Options options;
  for (int c = 0; (c = ::getopt_long(argc, argv, "", kOptions.data(), nullptr)) != -1;) {
    take(options, c, optarg == nullptr ? "" : optarg);
  }
  if (::optind != argc) fail("there are options only");
  return options;
}

}  // namespace
}  // namespace splitnic::bench

int main(int argc, char** argv) {
  using namespace splitnic::bench;
  Options options = options_of(argc, argv);
  if (options.has_head) print_head();
  bool succeeded = true;
  for (const std::size_t bytes : options.sizes) {
    options.bytes = bytes;
    succeeded &= run_two(
        options.ends, [&](Control& control) { serve(options, control); },
        [&](Control& control) { measure(options, control); });
  }
  return succeeded ? 0 : 1;
}
