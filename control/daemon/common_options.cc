#include "control/daemon/common_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string_view>

#include "base/log.h"
#include "base/named_value.h"
#include "control/config/cli_app.h"
#include "control/config/values.h"
#include "control/daemon/pool_options.h"
#include "control/socket/unix_socket.h"
#include "lan_bridge/frame/mtu.h"
#include "lan_bridge/frame_ring.h"
#include "messaging/connection.h"
#include "messaging/wire/idata.h"

namespace splitnic::control {
namespace {

std::size_t different(Processors processors) {
  std::ranges::sort(processors);
  const auto end = std::unique(processors.begin(), processors.end());
  return static_cast<std::size_t>(end - processors.begin());
}

constexpr auto kPayloadCrcModes = std::to_array<base::NamedValue<fabric::PayloadCrcMode>>(
    {{"on", fabric::PayloadCrcMode::kOn},
     {"off", fabric::PayloadCrcMode::kOff},
     {"auto", fabric::PayloadCrcMode::kAuto}});

// As a sentence lists them: "debug, info, warn and error".
std::string log_levels(const std::string& before_last) {
  std::string text(base::kLogLevels.front());
  for (std::size_t i = 1; i < base::kLogLevels.size(); ++i) {
    text += i + 1 < base::kLogLevels.size() ? ", " : before_last;
    text += base::kLogLevels[i];
  }
  return text;
}

base::Status check_pair(const CommonArguments& typed, const std::string& default_name,
                        messaging::PairConfig& out) {
  const bool is_mode_given = !typed.mode.empty();
  if (is_mode_given && typed.mode != "rdma" && typed.mode != "send") {
    return base::Error("--mode: '" + typed.mode + "' is neither rdma nor send");
  }
  out.mode = typed.mode == "send" ? messaging::Mode::kSend : messaging::Mode::kRdma;
  out.follows_peer_mode = !is_mode_given;

  if (auto pools = check_pools(typed.pools, typed.idata, out); !pools) return pools.error();

  const auto threshold =
      number_option("--send-threshold", typed.send_threshold, 0, kSendThresholdMax);
  if (!threshold) return threshold.error();
  // The option counts the frame; PairConfig includes the vnet header in front of it.
  if (*threshold != 0) {
    out.send_threshold = *threshold + static_cast<std::uint32_t>(lan::kVnetHeaderBytes);
  }
  if (!typed.name.empty() && !is_node_name(typed.name)) {
    return base::Error("--name: '" + typed.name +
                       "' is not a name of 1 to 64 letters, digits, '.', '_' and '-'");
  }
  out.node_name = typed.name.empty() ? base::clean_node_name(default_name) : typed.name;
  if (out.node_name.empty()) out.node_name = "node";
  return {};
}

// Data has the first lanes, as the tables of service levels have it, and management the last one.
constexpr std::uint64_t kDataLaneMax = 3;
constexpr std::uint64_t kDscpMax = 63;

base::Status check_lane_dscp(const std::vector<std::string>& typed, fabric::PortConfig& out) {
  std::uint16_t given = 0;
  for (const std::string& text : typed) {
    const std::size_t sign = text.find('=');
    const auto lane = parse_number(std::string_view(text).substr(0, sign), fabric::kMgmtLane);
    const auto dscp = sign == std::string::npos
                          ? std::nullopt
                          : parse_number(std::string_view(text).substr(sign + 1), kDscpMax);
    if (!lane || !dscp || (*lane > kDataLaneMax && *lane != fabric::kMgmtLane)) {
      return base::Error("--lane-dscp: '" + text + "' is not LANE=DSCP, with a lane from 0 to " +
                         std::to_string(kDataLaneMax) + ", or " +
                         std::to_string(fabric::kMgmtLane) + ", and a DSCP from 0 to " +
                         std::to_string(kDscpMax));
    }
    if ((given >> *lane & 1) != 0) {
      return base::Error("--lane-dscp: lane " + std::to_string(*lane) + " is given twice");
    }
    given = static_cast<std::uint16_t>(given | 1U << *lane);
    out.dscp_of_lane.at(*lane) = static_cast<std::uint8_t>(*dscp);
  }
  return {};
}

base::Status check_port(const CommonArguments& typed, fabric::PortConfig& out) {
  out.mcp_min = kCellPayloadMin;
  if (!typed.cell.empty()) {
    const auto cell = number_option("--cell", typed.cell, kCellPayloadMin, fabric::kMcpMax);
    if (!cell) return cell.error();
    if (*cell % 4 != 0) return base::Error("--cell: " + typed.cell + " is not a multiple of 4");
    out.mcp_wanted = static_cast<std::uint16_t>(*cell);
  }
  if (typed.link_profile != "speed" && typed.link_profile != "full") {
    return base::Error("--link-profile: '" + typed.link_profile + "' is neither speed nor full");
  }
  if (typed.link_profile == "full") {
    out.profile = fabric::LinkProfile::kFull;
    out.full = fabric::full_between_processes();
  }
  const auto mode = base::value_named(kPayloadCrcModes, typed.payload_crc);
  if (!mode) {
    return base::Error("--payload-crc: '" + typed.payload_crc + "' is none of on, off and auto");
  }
  out.payload_crc = *mode;
  return check_lane_dscp(typed.lane_dscp, out);
}

base::Status check_queues(const CommonArguments& typed, CommonOptions& out) {
  if (typed.queues == "auto") {
    out.queues = std::nullopt;
  } else {
    const auto queues = number_option("--queues", typed.queues, 1, messaging::kQueuesMax);
    if (!queues) return queues.error();
    out.queues = *queues;
  }
  if (!typed.processors.empty()) {
    auto processors = parse_processors(typed.processors);
    if (!processors) return processors.error().within("--cpus");
    out.processors = *std::move(processors);
  }
  return {};
}

base::Status check_partitions(const CommonArguments& typed, CommonOptions& out) {
  std::vector<fabric::PartitionKey> keys;
  for (const std::string& text : typed.partitions) {
    const auto key = parse_partition(text);
    if (!key) return key.error().within("--partition");
    const bool is_there = std::ranges::any_of(
        keys, [&](auto other) { return fabric::number_of(other) == fabric::number_of(*key); });
    if (is_there) return base::Error("--partition: " + text + " is given twice");
    keys.push_back(*key);
  }
  if (keys.size() > fabric::PartitionTable::kKeysMax) {
    return base::Error("--partition: more than " +
                       std::to_string(fabric::PartitionTable::kKeysMax));
  }
  if (!keys.empty()) out.partitions = fabric::PartitionTable(std::move(keys));
  out.pair.partition = out.partitions.first();
  const auto sl = number_option("--sl", typed.sl, 0, fabric::kSlMax);
  if (!sl) return sl.error();
  out.pair.sl = static_cast<std::uint8_t>(*sl);
  return {};
}

void add_metrics_options(CLI::App& app, CommonArguments& into, const std::string& group) {
  app.add_option("--metrics", into.metrics,
                 "Serve the counters for Prometheus and a live page by HTTP at unix:PATH or "
                 "ADDRESS:PORT (default: off)")
      ->type_name("ADDRESS")
      ->group(group);
  app.add_flag("--metrics-remote", into.may_have_remote_metrics,
               "Allow an address of --metrics that other machines reach")
      ->group(group);
}

void add_queue_options(CLI::App& app, CommonArguments& into, const std::string& group) {
  app.add_option("--queues", into.queues,
                 with_default(
                     "Data threads, 1 to " + std::to_string(messaging::kQueuesMax) +
                         ", each with a queue of the interface and of the fabric; flows are spread "
                         "over them; auto: one per processor, up to " +
                         std::to_string(kQueuesAutoMax),
                     into.queues))
      ->type_name("N|auto")
      ->group(group);
  app.add_option("--cpus", into.processors,
                 "Processors that the data threads are bound to in this order, such as 0,2-3 "
                 "(default: no thread is bound)")
      ->type_name("LIST")
      ->group(group);
}

void add_awake_option(CLI::App& app, CommonArguments& into, const std::string& group) {
  app.add_option("--keep-awake", into.keep_awake,
                 with_default("While frames come, and until MS milliseconds after the last one, "
                              "idle processors of this machine poll instead of halting, so that "
                              "no wake-up waits for one; costs power",
                              into.keep_awake + ": off"))
      ->type_name("MS")
      ->group(group);
}

}  // namespace

base::Result<fabric::PartitionKey> parse_partition(const std::string& text) {
  std::uint16_t value = 0;
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  const char* const begin = text.data() + (is_hex ? 2 : 0);
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(begin, end, value, is_hex ? 16 : 10);
  const fabric::PartitionKey key(value);
  if (read.ec != std::errc() || read.ptr != end || fabric::number_of(key) == 0) {
    return base::Error("'" + text +
                       "' is not the key of a partition: 0x8001 to 0xffff of a full member, 0x0001 "
                       "to 0x7fff of a limited one");
  }
  return key;
}

void add_process_options(CLI::App& app, CommonArguments& into, const std::string& group) {
  app.add_flag("--busy-poll", into.is_busy_polling, "Spin instead of sleeping: lower latency")
      ->group(group);
  add_switch_off(
      app, "--no-gso", into.uses_gso,
      "Send and receive each fabric datagram separately, without UDP_SEGMENT and UDP_GRO")
      ->group(group);
  app.add_option("--name", into.name, "Name of this node")->type_name("NODE")->group(group);
  app.add_flag("--insecure-lab", into.is_insecure_lab,
               "Allow UDP without keys, on loopback too (shm needs none)")
      ->group(group);
  add_switch_off(app, "--no-sandbox", into.is_sandboxed,
                 "Keep all privileges and system calls while running, for debugging")
      ->group(group);
  app.add_option("--control", into.control, "Control socket (default /run/splitnic/NODE.sock)")
      ->type_name("PATH")
      ->group(group);
  add_metrics_options(app, into, group);
  app.add_option("--log-level", into.log_level, with_default(log_levels(" or "), into.log_level))
      ->type_name("LEVEL")
      ->group(group);
  app.add_option("--capture", into.capture,
                 "Write all fabric datagrams to F.pcapng; those of queue I to F.pcapng.I")
      ->type_name("F.pcapng")
      ->group(group);
  add_config_file(app);
}

void add_common_options(CLI::App& app, CommonArguments& into) {
  const std::string group = "Both programs";
  app.add_option("--mode", into.mode,
                 "How frames cross the fabric: rdma or send (default rdma; an I/O unit without "
                 "this option uses the mode of each host)")
      ->type_name("MODE")
      ->group(group);
  add_repeated(app, "--pool", into.pools,
               "Receive elements; may repeat (default " + default_pools_text() +
                   "); with a context, such as 64x2048,source-port=443, for the frames that it "
                   "selects: source-port=N, destination-port=N, source=ADDRESS",
               "COUNTxSIZE")
      ->group(group);
  app.add_option(
         "--idata", into.idata,
         with_default("How the peer indicates what it wrote into the pools of this side: pool: "
                      "by number of pool and element; offset: by offset in the only pool; "
                      "message: by messages on channel 0",
                      into.idata))
      ->type_name("pool|offset|message")
      ->group(group);
  app.add_option("--cell", into.cell, "Maximum cell payload (default: from the path MTU)")
      ->type_name("BYTES")
      ->group(group);
  add_link_options(app, into, group);
  app.add_option(
         "--payload-crc", into.payload_crc,
         with_default(
             "CRC over the payload of each cell on UDP links. on: always; off: not where the peer "
             "accepts that; auto: neither with keys nor towards a peer that is proven to run on "
             "this machine, over veth or loopback",
             into.payload_crc))
      ->type_name("on|off|auto")
      ->group(group);
  add_queue_options(app, into, group);
  add_awake_option(app, into, group);
  add_switch_off(app, "--no-header-prediction", into.predicts_headers,
                 "Build and check the cells of a long write one by one, not in runs: slower")
      ->group(group);
  add_repeated(app, "--partition", into.partitions,
               "Key of a partition that this node is a member of, such as 0x8001; without the bit "
               "0x8000 a limited member, which full ones reach only; an I/O unit may have several "
               "(default " +
                   fabric::text_of(fabric::kDefaultPartition) + ")",
               "ID")
      ->group(group);
  app.add_option("--sl", into.sl,
                 with_default("Service level of the frames that this node sends, 0 to " +
                                  std::to_string(fabric::kSlMax),
                              into.sl))
      ->type_name("N")
      ->group(group);
  app.add_option("--mtu", into.mtu, "Initial MTU of the NIC")->type_name("N")->group(group);
  add_key_options(app, into.keys, group);
  app.add_option("--send-threshold", into.send_threshold,
                 with_default("In rdma mode, send frames of up to N bytes (" +
                                  std::to_string(kSendThresholdMax) + " at most) by Send",
                              into.send_threshold + ": none"))
      ->type_name("N")
      ->group(group);
  add_process_options(app, into, group);
}

void add_link_options(CLI::App& app, CommonArguments& into, const std::string& group) {
  app.add_option(
         "--link-profile", into.link_profile,
         with_default("UDP links: speed, or full with lanes, credits and link retry; must be the "
                      "same at both ends, and in all of a switched fabric",
                      into.link_profile))
      ->type_name("speed|full")
      ->group(group);
  add_repeated(app, "--lane-dscp", into.lane_dscp,
               "DSCP of the UDP datagrams that carry what is on a lane: 0 to 3, or 15 of "
               "management; may repeat (default: 0 for each)",
               "LANE=DSCP")
      ->group(group);
}

base::Result<CommonOptions> check_common_options(const CommonArguments& typed,
                                                 const std::string& default_name) {
  CommonOptions out;
  if (auto pair = check_pair(typed, default_name, out.pair); !pair) return pair.error();
  if (auto port = check_port(typed, out.port); !port) return port.error();
  if (auto partitions = check_partitions(typed, out); !partitions) return partitions.error();
  if (!typed.mtu.empty()) {
    const auto mtu = number_option("--mtu", typed.mtu, lan::kMtuMin, lan::kTapMtuMax);
    if (!mtu) return mtu.error();
    out.mtu = *mtu;
  }
  if (auto queues = check_queues(typed, out); !queues) return queues.error();
  const auto awake = number_option("--keep-awake", typed.keep_awake, 0, kKeepAwakeMaxMs);
  if (!awake) return awake.error();
  out.wake_latency.held_for = std::chrono::milliseconds(*awake);
  out.control_path =
      typed.control.empty() ? kControlFolder + ("/" + out.name() + ".sock") : typed.control;
  if (const auto address = unix_endpoint(out.control_path); !address) {
    return address.error().within("--control");
  }
  if (!typed.metrics.empty()) {
    const auto metrics = parse_metrics_address(typed.metrics, typed.may_have_remote_metrics);
    if (!metrics) return metrics.error().within("--metrics");
    out.metrics = *metrics;
  }
  if (std::ranges::find(base::kLogLevels, typed.log_level) == base::kLogLevels.end()) {
    return base::Error("--log-level: '" + typed.log_level + "' is none of " + log_levels(" and "));
  }
  out.log_level = typed.log_level;
  out.is_busy_polling = typed.is_busy_polling;
  out.uses_gso = typed.uses_gso;
  out.predicts_headers = typed.predicts_headers;
  out.is_insecure_lab = typed.is_insecure_lab;
  out.is_sandboxed = typed.is_sandboxed;
  if (typed.capture == "-") {
    return base::Error(
        "--capture: this writes a file; splitnic capture start -w - writes the "
        "frames of an interface to its standard output");
  }
  out.capture_path = typed.capture;
  return out;
}

void set_switched(const CommonArguments& typed, CommonOptions& out) {
  if (typed.queues == "auto") out.queues = 1;
}

std::uint32_t queues_to_open(const CommonOptions& common, const Processors& allowed) {
  if (common.queues) return *common.queues;
  const auto processors = static_cast<std::uint32_t>(allowed.size());
  const std::uint32_t left = common.is_busy_polling && processors > 1 ? 1 : 0;
  return std::clamp(processors - left, 1U, kQueuesAutoMax);
}

Processors processors_to_bind(const CommonOptions& common, std::uint32_t queues) {
  const std::size_t processors = different(common.processors);
  if (processors > 0 && processors < queues) {
    base::log_warn(std::to_string(queues) + " data threads share " + std::to_string(processors) +
                   " of the processors: give a longer --cpus, or a smaller --queues");
  }
  return common.processors;
}

bool may_busy_poll(const CommonOptions& common, std::size_t processors, std::uint32_t queues) {
  if (!common.is_busy_polling || processors == 0) return common.is_busy_polling;
  const std::size_t given = different(common.processors);
  if (processors > (given > 0 ? std::min<std::size_t>(given, queues) : queues)) return true;
  base::log_warn("--busy-poll is left out: " + std::to_string(queues) + " data threads on " +
                 std::to_string(processors) +
                 " processors would leave none for the peer and the applications" +
                 (processors > 1 ? ", give a smaller --queues" : ""));
  return false;
}

}  // namespace splitnic::control
