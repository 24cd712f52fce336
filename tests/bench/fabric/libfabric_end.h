// One end of a benchmark on libfabric: a reliable endpoint of a provider, memory that the other end
// may write and read, and one queue of completions that is asked and never slept on.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tests/bench/fabric/two_ends.h"
#include "tools/bench/run.h"

namespace splitnic::bench {

class LibfabricEnd {
 public:
  struct Config {
    std::string provider;
    std::string address;  // of this end; the ends of shm have none
    Op op = Op::kWrite;
    std::size_t bytes = 64;
    bool is_active = false;
  };
  // Meets the other end; whatever goes wrong ends this process.
  LibfabricEnd(Config config, Control& control);

  // One message of the run, in the next slot. False: the provider must make progress first.
  bool post(Word word);
  // Takes completions, replies to requests. Returns false if there was none.
  bool iterate();
  template <class Done>
  void iterate_until(const Done& is_done) {
    base::Time limit = clock.now() + kSilenceMax;
    for (unsigned iterations = 1; !is_done(); ++iterations) {
      if (iterate()) limit = clock.now() + kSilenceMax;
      if (iterations % 1024 == 0 && clock.now() > limit) fail(title() + ": nothing moves");
    }
  }
  // Messages of this end: in flight, and complete here.
  std::size_t open() const { return posted_ - sent_; }
  std::size_t sent() const { return sent_; }
  // Messages of the other end that are complete here; its reads are not noticed.
  std::size_t received() const { return received_; }
  base::SystemClock clock;

 private:
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
  struct Handshake {
    std::uint64_t key = 0;
    std::uint64_t start = 0;
    std::size_t name_bytes = 0;
    std::array<std::byte, 256> name{};
  };

  std::string title() const;
  void check(long result, const char* what) const;
  Info find() const;
  void open_endpoint();
  void register_memory();
  void meet(Control& control);
  ssize_t try_post(std::size_t offset, Word word);
  void post_receives();
  [[noreturn]] void fail_completion();

  const Config config_;
  std::vector<std::byte> memory_;
  std::vector<fi_context2> contexts_;  // of what is posted, then of the receives
  const Info info_;
  Object<fid_fabric> fabric_;
  Object<fid_domain> domain_;
  Object<fid_av> av_;
  Object<fid_cq> cq_;
  Object<fid_mr> mr_;
  Object<fid_ep> ep_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  Handshake theirs_;
  std::size_t next_ = 0, posted_ = 0, sent_ = 0, received_ = 0, replies_due_ = 0;
  std::size_t next_receive_ = 0, receives_due_ = 0;
};

}  // namespace splitnic::bench
