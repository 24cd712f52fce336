// The processor on which the last datagram of a socket came in, also of a socket that any peer may
// send to: the kernel reports it of connected sockets only (SO_INCOMING_CPU). A program at the
// socket writes it into a page that this process reads. Thread: one owner, the data thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace splitnic::fabric {

class IncomingCpu {
 public:
  // Returns nothing if the kernel refuses the program, as it does without CAP_BPF. REQUIRES a
  // socket without a filter; it has one from then on, as long as it is open.
  static std::optional<IncomingCpu> of(int socket_fd);

  // Returns nothing before the first datagram.
  std::optional<unsigned> last() const;

 private:
  struct Unmap {
    void operator()(const std::uint32_t* page) const;
  };
  explicit IncomingCpu(const std::uint32_t* page) : page_(page) {}

  std::unique_ptr<const std::uint32_t, Unmap> page_;  // 1 + processor; 0: none yet
};

}  // namespace splitnic::fabric
