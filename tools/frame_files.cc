#include "tools/frame_files.h"

#include <chrono>
#include <utility>

#include "base/bytes.h"
#include "tools/private_output.h"

namespace splitnic::tools {
namespace {

constexpr std::size_t kNameMax = 255;      // of an interface in the file
constexpr std::uint64_t kBlockBytes = 48;  // of a frame, besides its own bytes and 3 of padding

}  // namespace

base::Result<FrameFiles> FrameFiles::open(const FrameFileOptions& options,
                                          const std::vector<std::string>& interfaces) {
  FrameFiles files(options, interfaces);
  if (auto begun = files.begin_file(); !begun) return begun.error();
  return {boost::system::in_place_value, std::move(files)};
}

std::string FrameFiles::path() const {
  if (options_.files == 0) return options_.path;
  return options_.path + "." + std::to_string(number_);
}

base::Status FrameFiles::begin_file() {
  auto output = open_private_output(path());
  if (!output) return output.error().within("-w");
  file_ = fabric::PcapngWriter::to(*std::move(output), "splitnic");
  for (const std::string& name : interfaces_) {
    file_->add_interface(name.substr(0, kNameMax), fabric::PcapngWriter::kEthernet);
  }
  return {};
}

base::Status FrameFiles::add(const control::SentFrame& frame) {
  const bool is_full =
      options_.files > 0 && file_->bytes() + kBlockBytes + frame.bytes.size() > options_.bytes_max;
  if (is_full) {
    if (auto done = flush(); !done) return done;
    number_ = number_ % options_.files + 1;
    if (auto begun = begin_file(); !begun) return begun;
  }
  newest_ = frame.nanoseconds;
  file_->add(frame.interface,
             frame.is_sent ? fabric::PcapngWriter::Direction::kSent
                           : fabric::PcapngWriter::Direction::kReceived,
             std::chrono::nanoseconds(frame.nanoseconds), base::as_bytes(frame.bytes),
             frame.length);
  return {};
}

base::Status FrameFiles::flush() {
  file_->flush();
  if (file_->is_complete()) return {};
  return base::Error("cannot write to " + (options_.path == "-" ? "the standard output" : path()) +
                     ": is there room?");
}

base::Status FrameFiles::finish(const std::vector<std::uint64_t>& lost) {
  for (std::size_t i = 0; i < lost.size(); ++i) {
    if (lost[i] == 0) continue;
    file_->add_lost(static_cast<std::uint32_t>(i), std::chrono::nanoseconds(newest_), lost[i]);
  }
  return flush();
}

}  // namespace splitnic::tools
