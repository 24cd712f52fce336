#include "tools/capture_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "control/config/parse_outcome.h"
#include "control/config/values.h"
#include "control/socket/client.h"
#include "control/socket/frame_stream.h"
#include "control/socket/stream_client.h"
#include "control/socket/unix_socket.h"
#include "tools/commands.h"
#include "tools/frame_files.h"
#include "tools/private_output.h"

namespace splitnic::tools {
namespace {

constexpr std::uint64_t kRingBytesMin = 1 << 20;
constexpr std::uint64_t kRingBytesMax = std::uint64_t{1} << 40;
constexpr std::uint32_t kRingFilesMax = 1000;
constexpr std::uint32_t kCountMax = 1'000'000'000;

base::Error bad_ring(const std::string& text) {
  return base::Error("--ring: '" + text +
                     "' is not N,SIZE, such as 10,64M: 1 to 1000 files of 1M to 1024G");
}

// N,SIZE; SIZE has a K, M or G.
base::Status parse_ring(const std::string& text, FrameFileOptions& into) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos || comma + 2 > text.size()) return bad_ring(text);
  const auto files = control::parse_number(text.substr(0, comma), kRingFilesMax);
  const std::size_t unit = std::string_view("KMG").find(text.back());
  const auto size =
      control::parse_number(text.substr(comma + 1, text.size() - comma - 2), kRingBytesMax >> 10);
  if (!files || *files == 0 || unit == std::string_view::npos || !size) return bad_ring(text);
  into.files = static_cast<std::uint32_t>(*files);
  into.bytes_max = *size << (10 * (unit + 1));
  if (into.bytes_max < kRingBytesMin || into.bytes_max > kRingBytesMax) return bad_ring(text);
  return {};
}

base::Result<FrameFileOptions> files_of(const CaptureArguments& typed) {
  FrameFileOptions files;
  files.path = typed.write;
  if (typed.write.empty()) return base::Error("capture start: -w FILE, or -w - for a pipe");
  if (auto checked = check_output("-w -", typed.write); !checked) return checked.error();
  if (typed.ring.empty()) return files;
  if (typed.write == "-") return base::Error("--ring needs -w FILE, the standard output is one");
  if (auto parsed = parse_ring(typed.ring, files); !parsed) return parsed.error();
  return files;
}

class Capture {
 public:
  Capture(FrameFileOptions options, std::uint32_t count)
      : options_(std::move(options)), count_(count) {}

  base::Status begin(const std::string& path, const control::Request& request) {
    auto opened = control::StreamClient::open(
        io_, path, request,
        {.on_begin = [this](const std::string& text) { on_begin(text); },
         .on_message = [this](const std::string& bytes) { return on_message(bytes); },
         .on_end = [this](const base::Error& why) { end(why); }});
    if (!opened) return opened.error();
    client_ = *std::move(opened);
    signals_.async_wait([this](boost::system::error_code, int) { end({}); });
    watch_output();
    return {};
  }
  // Returns the exit status.
  int run() {
    io_.run();
    client_.reset();
    if (files_ && ended_) ended_ = files_->finish(lost_);
    if (files_) {
      std::fprintf(stderr, "splitnic: %llu frames captured, %llu lost\n",
                   static_cast<unsigned long long>(frames_),
                   static_cast<unsigned long long>(
                       std::accumulate(lost_.begin(), lost_.end(), std::uint64_t{0})));
    }
    return ended_ ? control::kExitOk : fail(ended_.error().text());
  }

 private:
  void on_begin(const std::string& text) {
    const auto interfaces = control::parse_interface_list(text);
    auto files = FrameFiles::open(options_, interfaces);
    if (!files) return end(files.error());
    files_ = *std::move(files);
    lost_.resize(interfaces.size());
    std::string names;
    for (const std::string& name : interfaces) names += " " + name;
    std::fprintf(stderr, "splitnic: capturing on%s; splitnic capture stop, or Ctrl-C, ends it\n",
                 names.c_str());
    if (const auto head = files_->flush(); !head) end(head);
  }
  bool on_message(const std::string& bytes) {
    if (!files_) return true;  // they could not be opened
    const auto sent = control::decode_frames(bytes, lost_.size());
    if (!sent) return false;
    lost_ = sent->lost;
    for (const control::SentFrame& frame : sent->frames) {
      if (count_ > 0 && frames_ == count_) break;
      if (const auto added = files_->add(frame); !added) {
        end(added);
        return true;
      }
      ++frames_;
    }
    const auto flushed = files_->flush();
    if (!flushed || sent->is_last || (count_ > 0 && frames_ == count_)) end(flushed);
    return true;
  }
  void end(base::Status how) {
    ended_ = std::move(how);
    io_.stop();
  }
  // Whoever reads the standard output may close it while no frame comes.
  void watch_output() {
    struct stat output {};
    if (options_.path != "-" || ::fstat(STDOUT_FILENO, &output) != 0) return;
    if (!S_ISFIFO(output.st_mode) && !S_ISSOCK(output.st_mode)) return;
    output_.emplace(io_, ::dup(STDOUT_FILENO));
    output_->async_wait(boost::asio::posix::stream_descriptor::wait_error,
                        [this](boost::system::error_code) { end({}); });
  }

  const FrameFileOptions options_;
  const std::uint32_t count_;  // of frames; 0: no limit
  boost::asio::io_context io_{1};
  boost::asio::signal_set signals_{io_, SIGINT, SIGTERM};
  std::optional<boost::asio::posix::stream_descriptor> output_;
  std::unique_ptr<control::StreamClient> client_;
  std::optional<FrameFiles> files_;
  std::vector<std::uint64_t> lost_;  // by interface
  std::uint64_t frames_ = 0;
  base::Status ended_;
};

base::Result<std::string> path_of(const std::string& socket, const std::string& interface) {
  if (!socket.empty()) {
    return {boost::system::in_place_value, control::socket_path(control::kControlFolder, socket)};
  }
  if (interface.empty()) return control::only_socket_in(control::kControlFolder);
  return control::socket_of_interface(control::kControlFolder, interface);
}

void add_interface(CLI::App& command, CaptureArguments& into) {
  command
      .add_option("interface", into.interface,
                  "The interface of a host, or a LAN NIC of an I/O unit (default: all of the "
                  "program)")
      ->type_name("NAME");
}

}  // namespace

std::vector<CLI::App*> add_capture(CLI::App& app, CaptureArguments& into) {
  auto* capture = app.add_subcommand(
      "capture", "Capture the frames that cross an interface of a running host or I/O unit");
  capture->require_subcommand(1);
  auto* start = capture->add_subcommand("start", "Write frames until it is stopped or interrupted");
  add_interface(*start, into);
  start->add_option("-w,--write", into.write, "The file, pcapng; - is the standard output")
      ->type_name("FILE");
  start
      ->add_option("--ring", into.ring,
                   "Write FILE.1 to FILE.N of at most SIZE each (such as 64M), and again from the "
                   "first")
      ->type_name("N,SIZE");
  start
      ->add_option("-c,--count", into.count,
                   control::with_default("End after N frames", into.count + ": do not"))
      ->type_name("N");
  start
      ->add_option(
          "-s,--snap", into.snap,
          control::with_default("Write the first N bytes of each frame", into.snap + ": all"))
      ->type_name("N");
  auto* stop = capture->add_subcommand("stop", "End the capture of the program");
  add_interface(*stop, into);
  return {start, stop};
}

int run_capture_start(const std::string& socket, const CaptureArguments& typed) {
  const auto files = files_of(typed);
  if (!files) return bad_usage(files.error().text());
  const auto count = control::number_option("--count", typed.count, 0, kCountMax);
  if (!count) return bad_usage(count.error().text());
  const auto snap = control::number_option("--snap", typed.snap, 1, lan::FrameCopies::kSnapMax);
  if (!snap) return bad_usage(snap.error().text());
  control::Request request;
  request.command = control::Command::kCapture;
  request.interface = typed.interface;
  request.count = *snap;
  const auto path = path_of(socket, typed.interface);
  if (!path) return fail(path.error().text());
  Capture capture(*files, *count);
  if (const auto begun = capture.begin(*path, request); !begun) return fail(begun.error().text());
  return capture.run();
}

int run_capture_stop(const std::string& socket, const CaptureArguments& typed) {
  control::Request request;
  request.command = control::Command::kEndCapture;
  const auto path = path_of(socket, typed.interface);
  if (!path) return fail(path.error().text());
  return ask_and_print(*path, request);
}

}  // namespace splitnic::tools
