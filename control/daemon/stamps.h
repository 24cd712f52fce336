// The stamps of our INITIATIONs: each is greater than all before it, also those of earlier
// processes: the wall clock in milliseconds, or one more than the last. With a file they grow
// although the clock was set back or the machine has none: the file holds a number that is not
// reached yet, up to a minute ahead. docs/protocol/session.md#datagrams  Thread: one owner.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace splitnic::control {

class Stamps {
 public:
  static constexpr std::uint64_t kReserved = 60'000;     // milliseconds
  static constexpr std::uint64_t kReservedAhead = 1000;  // while they are ahead of the clock

  // `path` "": no file. A file that is there and cannot be read, or cannot be written, is one line
  // of the log.
  Stamps(std::string path, std::function<std::uint64_t()> milliseconds_since_1970);
  std::uint64_t next();

 private:
  void reserve(std::uint64_t wall);

  std::string path_;
  std::function<std::uint64_t()> wall_clock_;
  std::uint64_t last_ = 0;
  std::uint64_t reserved_ = 0;  // stamps below are in the file
};

// Returns the file of a queue in the state folder; "" without one.
std::string stamp_path(std::uint32_t queue);
std::uint64_t milliseconds_since_1970();

}  // namespace splitnic::control
