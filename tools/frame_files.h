// The output of `splitnic capture`: the standard output, a file, or a ring of files in which the
// oldest is replaced when the last is full. pcapng, readable by its owner only. One owner.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "control/socket/frame_stream.h"
#include "fabric_emul/underlay/pcapng_writer.h"

namespace splitnic::tools {

struct FrameFileOptions {
  std::string path;             // "-": the standard output
  std::uint32_t files = 0;      // of a ring: path.1, path.2, ...; 0: one file
  std::uint64_t bytes_max = 0;  // of each file of a ring
};

class FrameFiles {
 public:
  static base::Result<FrameFiles> open(const FrameFileOptions& options,
                                       const std::vector<std::string>& interfaces);
  // An error: a frame could not be written, or the next file not be made.
  base::Status add(const control::SentFrame& frame);
  // Everything is in the file when this returns.
  base::Status flush();
  // Adds the number of missing frames of each interface, and flushes.
  base::Status finish(const std::vector<std::uint64_t>& lost);

 private:
  FrameFiles(FrameFileOptions options, std::vector<std::string> interfaces)
      : options_(std::move(options)), interfaces_(std::move(interfaces)) {}
  std::string path() const;
  base::Status begin_file();

  FrameFileOptions options_;
  std::vector<std::string> interfaces_;
  std::uint32_t number_ = 1;  // of the file in the ring
  std::unique_ptr<fabric::PcapngWriter> file_;
  std::int64_t newest_ = 0;  // time of the last frame
};

}  // namespace splitnic::tools
