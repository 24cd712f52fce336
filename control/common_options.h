// The options that splitnic-host and splitnic-iou share, as values and as additions to a parser.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "control/parse_outcome.h"
#include "control/values.h"

namespace CLI {
class App;
}

namespace splitnic::control {

enum class TransferMode : std::uint8_t { kRdma, kSend };
enum class LinkProfile : std::uint8_t { kSpeed, kFull };

inline constexpr std::uint16_t kCellPayloadMin = 64;
inline constexpr std::uint16_t kCellPayloadMax =
    65532;                                    // a multiple of 4, like every value between
inline constexpr std::uint32_t kMtuMin = 68;  // of IPv4
inline constexpr std::uint32_t kMtuMax = 65521;
inline constexpr std::uint32_t kSendThresholdMax = 4080;  // a SendData on the control channel

struct CommonOptions {
  TransferMode mode = TransferMode::kRdma;
  bool is_mode_given = false;               // an I/O unit without it takes the host's
  std::vector<PoolShape> pools;             // smallest size first; never empty
  std::optional<std::uint16_t> cell_bytes;  // none: from the path MTU, 256 in the full profile
  LinkProfile link_profile = LinkProfile::kSpeed;
  bool is_busy_polling = false;
  bool has_no_gso = false;  // neither UDP_SEGMENT nor UDP_GRO
  std::optional<std::uint32_t> mtu;
  std::string name;  // is_node_name()
  bool is_insecure_lab = false;
  std::uint32_t send_threshold = 0;
  std::string control_path;
  std::string log_level;     // "debug", "info", "warn", "error"
  std::string capture_path;  // "": none
};

// The options as typed. Lives as long as the parser.
struct CommonArguments {
  std::string mode;
  std::string link_profile = "speed";
  std::vector<std::string> pools;
  std::string cell, mtu, name, control, capture;
  std::string log_level = "info";
  bool is_busy_polling = false;
  bool has_no_gso = false;
  bool is_insecure_lab = false;
  std::string send_threshold = "0";
};

// Adds the shared options to `app`, --config among them.
void add_common_options(CLI::App& app, CommonArguments& into);
// `default_name` is used without --name, and made a node name by replacing what cannot be in one.
base::Result<CommonOptions> check_common_options(const CommonArguments& typed,
                                                 const std::string& default_name);

// Without keys, traffic that leaves the machine needs --insecure-lab. An error names `option`.
base::Status check_lab(const CommonOptions& common, const std::string& option,
                       const Endpoint& endpoint);
// "--option: 'x' is not a whole number from min to max", or the number.
base::Result<std::uint32_t> number_option(const std::string& option, const std::string& text,
                                          std::uint32_t min, std::uint32_t max);
// Whether --busy-poll was asked for and there is a processor to spare for it: with one only it is
// left out, and the log says so.
bool may_busy_poll(const CommonOptions& common);
// The machine's host name up to its first dot; "node" if it has none.
std::string machine_name();

}  // namespace splitnic::control
