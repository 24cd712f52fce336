#include "control/daemon/stamps.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/log.h"

namespace splitnic::control {

Stamps::Stamps(std::string path, std::function<std::uint64_t()> milliseconds_since_1970)
    : path_(std::move(path)), wall_clock_(std::move(milliseconds_since_1970)) {
  if (path_.empty()) return;
  std::uint64_t kept = 0;
  if (std::ifstream(path_) >> kept) last_ = reserved_ = kept;
}

std::uint64_t Stamps::next() {
  last_ = std::max(wall_clock_(), last_ + 1);
  if (last_ >= reserved_) reserve();
  return last_;
}

void Stamps::reserve() {
  reserved_ = last_ + kReserved;
  if (path_.empty()) return;
  const std::string fresh = path_ + ".new";
  std::ofstream out(fresh, std::ios::trunc);
  out << reserved_ << '\n';
  out.close();
  if (out && std::rename(fresh.c_str(), path_.c_str()) == 0) return;
  base::log_warn("cannot write " + path_ +
                 ": if the clock is set back, the I/O unit refuses this host for as long");
  path_.clear();
}

std::string state_folder() {
  const char* const folders = std::getenv("STATE_DIRECTORY");
  if (folders == nullptr) return "";
  const std::string all = folders;
  return all.substr(0, all.find(':'));
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
