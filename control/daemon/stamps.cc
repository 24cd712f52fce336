#include "control/daemon/stamps.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <utility>

#include "base/log.h"
#include "control/identity.h"

namespace splitnic::control {

Stamps::Stamps(std::string path, std::function<std::uint64_t()> milliseconds_since_1970)
    : path_(std::move(path)), wall_clock_(std::move(milliseconds_since_1970)) {
  if (path_.empty()) return;
  std::uint64_t kept = 0;
  std::ifstream in(path_);
  if (in >> kept) {
    last_ = reserved_ = kept;
  } else if (in.is_open() || errno != ENOENT) {
    const bool is_there = !in.is_open();  // and may be read another time: it must not be replaced
    base::log_warn("cannot read " + path_ +
                   ": if the clock was set back by N seconds, the I/O unit refuses this host for N "
                   "seconds");
    if (is_there) path_.clear();
  }
}

std::uint64_t Stamps::next() {
  const std::uint64_t wall = wall_clock_();
  last_ = std::max(wall, last_ + 1);
  if (last_ >= reserved_) reserve(wall);
  return last_;
}

void Stamps::reserve(std::uint64_t wall) {
  // Ahead of the clock stamps grow by one. Few are reserved then, so that restarts one after the
  // other lead no further away from it.
  reserved_ = last_ + (last_ > wall ? kReservedAhead : kReserved);
  if (path_.empty()) return;
  const std::string fresh = path_ + ".new";
  std::ofstream out(fresh, std::ios::trunc);
  out << reserved_ << '\n';
  out.close();
  if (out && std::rename(fresh.c_str(), path_.c_str()) == 0) return;
  base::log_warn("cannot write " + path_ +
                 ": if the clock is set back by N seconds, the I/O unit refuses this host for N "
                 "seconds");
  path_.clear();
}

std::string stamp_path(std::uint32_t queue) {
  const std::string folder = state_folder();
  return folder.empty() ? "" : folder + "/stamp." + std::to_string(queue);
}

std::uint64_t milliseconds_since_1970() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

}  // namespace splitnic::control
