// The options that the programs share: as typed, as additions to a parser, and
// checked, in the types of the libraries that use them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "control/config/values.h"
#include "control/daemon/key_options.h"
#include "control/daemon/processors.h"
#include "control/daemon/wake_latency.h"
#include "control/metrics/metrics_server.h"
#include "fabric_emul/link/path_health.h"
#include "fabric_emul/link/port.h"
#include "lan_bridge/frame/vnet_header.h"
#include "messaging/cfgutil/list_nics.h"
#include "messaging/channel_pair.h"
#include "messaging/wire/cfg_util.h"
#include "messaging/wire/send_data.h"

namespace CLI {
class App;
}

namespace splitnic::control {

// Shorter cells cost a node more work than they cost its peer [M-2]: of --cell, and of peers.
inline constexpr std::uint16_t kCellPayloadMin = 256;
// Bytes of the longest frame, without vnet header, that fits a SendData on the control channel.
inline constexpr std::uint32_t kSendThresholdMax =
    messaging::SendData::data_max(messaging::kMsgMaxControl) - lan::VnetHeader::kBytes;
static_assert(kSendThresholdMax == 4068);  // as in the manual pages
// Data threads of one program with --queues auto: one per processor, and no more than this.
inline constexpr std::uint32_t kQueuesAutoMax = 4;
// Of --keep-awake.
inline constexpr std::uint32_t kKeepAwakeMaxMs = 60'000;
// LIDs of an I/O unit that &path=all uses at once.
using fabric::kUsedPathsMax;
// LAN NICs of one I/O unit, numbered from 0. The list of all of them fits one reply.
inline constexpr std::uint32_t kNicsMax = 128;
static_assert(messaging::CfgUtilReply::bytes(messaging::list_nics_bytes_max(kNicsMax)) <=
              messaging::kMsgMaxControl);

struct CommonOptions {
  // Mode, pools (smallest size first), send threshold, node name and service level.
  messaging::PairConfig pair;
  // Link profile, --lane-dscp, --cell and --payload-crc. An I/O unit listens with one copy of it
  // per --listen.
  fabric::PortConfig port;
  fabric::PartitionTable partitions;  // the first one is also in `pair`
  std::optional<std::uint32_t> mtu;
  std::optional<std::uint32_t> queues;  // --queues; none: auto
  Processors processors;                // --cpus; none: not given
  bool is_busy_polling = false;
  WakeLatencyOptions wake_latency;  // --keep-awake
  bool uses_gso = true;             // UDP_SEGMENT and UDP_GRO
  bool predicts_headers = true;
  bool is_insecure_lab = false;
  bool is_sandboxed = true;
  KeyOptions keys;
  std::string control_path;
  std::optional<MetricsAddress> metrics;
  std::string log_level;     // of base::kLogLevels
  std::string capture_path;  // "": none

  const std::string& name() const { return pair.node_name; }
  // Whether UDP may leave the machine.
  bool may_leave_machine() const { return is_insecure_lab || keys.are_given(); }
};

// The options as typed. Lives as long as the parser.
struct CommonArguments {
  std::string mode;
  std::string link_profile = "speed";
  std::vector<std::string> lane_dscp;
  std::string payload_crc = "auto";
  std::vector<std::string> pools;
  std::string idata = "pool";
  std::string cell, mtu, name, control, metrics, capture, processors;
  std::string queues = "auto";
  std::string keep_awake = "0";
  std::vector<std::string> partitions;
  std::string sl = "0";
  std::string log_level = "info";
  bool is_busy_polling = false;
  bool uses_gso = true;
  bool predicts_headers = true;
  bool is_insecure_lab = false;
  bool is_sandboxed = true;
  bool may_have_remote_metrics = false;
  std::string send_threshold = "0";
  KeyArguments keys;
};

// Adds the options that every program has to `app`, --config among them.
void add_process_options(CLI::App& app, CommonArguments& into, const std::string& group);
void add_link_options(CLI::App& app, CommonArguments& into, const std::string& group);
// Adds these and what the two programs share that carry frames.
void add_common_options(CLI::App& app, CommonArguments& into);
// Without --name the node is called base::clean_node_name(default_name), or "node" if that is
// empty.
base::Result<CommonOptions> check_common_options(const CommonArguments& typed,
                                                 const std::string& default_name);

// For a program that attaches to a switch: there is one queue unless --queues requests more, since
// each takes a port of the switch.
void set_switched(const CommonArguments& typed, CommonOptions& out);

// A key of 16 bits, as 0x8001 or as a decimal number, whose lower 15 bits are not 0.
base::Result<fabric::PartitionKey> parse_partition(const std::string& text);

// `allowed` are the processors of the process; none: unknown.
// Returns the number of queues to open: --queues, or with auto one per processor up to
// kQueuesAutoMax;
// --busy-poll leaves one processor.
std::uint32_t queues_to_open(const CommonOptions& common, const Processors& allowed);
// Returns the processors that the threads of `queues` queues are bound to, for
// processor_of_queue(): --cpus; none if no thread is bound. If threads have to share a processor,
// that is logged.
Processors processors_to_bind(const CommonOptions& common, std::uint32_t queues);
// Returns whether the data threads may spin: --busy-poll was given and a processor is left for the
// rest of the machine. With as many threads as processors it returns false and logs that.
bool may_busy_poll(const CommonOptions& common, std::size_t processors, std::uint32_t queues);

}  // namespace splitnic::control
