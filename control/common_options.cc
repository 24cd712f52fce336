#include "control/common_options.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/log.h"
#include "control/cli_app.h"
#include "control/unix_socket.h"

namespace splitnic::control {
namespace {

constexpr std::uint64_t kPoolBytesMax = std::uint64_t{1} << 32;

std::string make_node_name(std::string text) {
  for (char& c : text) {
    if (!is_node_name(std::string(1, c)) && c != '.') c = '_';
  }
  text = text.substr(0, 64);
  return is_node_name(text) ? text : "node";
}

base::Result<std::vector<PoolShape>> check_pools(const std::vector<std::string>& typed) {
  std::vector<PoolShape> pools;
  std::uint64_t references = 0;
  std::uint64_t bytes = 0;
  for (const std::string& text : typed) {
    const auto pool = parse_pool(text);
    if (!pool) return pool.error().within("--pool");
    references += (pool->count + 255) / 256;
    bytes += std::uint64_t{pool->count} * pool->size;
    pools.push_back(*pool);
  }
  if (references > 256) return base::Error("--pool: more than 256 pools of 256 elements in all");
  if (bytes > kPoolBytesMax) return base::Error("--pool: more than 4 GiB in all");
  std::stable_sort(pools.begin(), pools.end(),
                   [](const PoolShape& a, const PoolShape& b) { return a.size < b.size; });
  return pools;
}

}  // namespace

void add_common_options(CLI::App& app, CommonArguments& into) {
  const std::string group = "Both programs";
  app.add_option(
         "--mode", into.mode,
         "How frames cross the fabric: rdma or send (default rdma; an I/O unit without it takes "
         "each host's)")
      ->type_name("MODE")
      ->group(group);
  add_repeated(app, "--pool", into.pools,
               "Receive elements; may repeat (default 1024x2048 and 64x65536)", "COUNTxSIZE")
      ->group(group);
  app.add_option("--cell", into.cell, "Maximum cell payload (default: from the path MTU)")
      ->type_name("BYTES")
      ->group(group);
  app.add_option("--link-profile", into.link_profile,
                 "UDP links: speed, or full with lanes, credits and link retry; the same at both "
                 "ends (default speed)")
      ->type_name("PROFILE")
      ->group(group);
  app.add_flag("--busy-poll", into.is_busy_polling, "Spin instead of sleeping: less latency")
      ->group(group);
  app.add_flag("--no-gso", into.has_no_gso,
               "Send and take each datagram of the fabric by itself, as without UDP_SEGMENT")
      ->group(group);
  app.add_option("--mtu", into.mtu, "MTU of the NIC to begin with")->type_name("N")->group(group);
  app.add_option("--name", into.name, "Name of this node")->type_name("NODE")->group(group);
  app.add_flag("--insecure-lab", into.is_insecure_lab,
               "Allow traffic without keys beyond loopback and shm")
      ->group(group);
  app.add_option("--send-threshold", into.send_threshold,
                 "Frames up to N bytes go by Send in rdma mode (default 0)")
      ->type_name("N")
      ->group(group);
  app.add_option("--control", into.control, "Control socket (default /run/splitnic/NODE.sock)")
      ->type_name("PATH")
      ->group(group);
  app.add_option("--log-level", into.log_level, "debug, info, warn or error (default info)")
      ->type_name("LEVEL")
      ->group(group);
  app.add_option("--capture", into.capture, "Write what crosses the fabric to F.pcapng")
      ->type_name("F.pcapng")
      ->group(group);
  add_config_file(app);
}

base::Result<std::uint32_t> number_option(const std::string& option, const std::string& text,
                                          std::uint32_t min, std::uint32_t max) {
  const auto number = parse_number(text, max);
  if (!number || *number < min) {
    return base::Error(option + ": '" + text + "' is not a whole number from " +
                       std::to_string(min) + " to " + std::to_string(max));
  }
  return static_cast<std::uint32_t>(*number);
}

base::Result<CommonOptions> check_common_options(const CommonArguments& typed,
                                                 const std::string& default_name) {
  CommonOptions out;
  out.is_mode_given = !typed.mode.empty();
  if (out.is_mode_given && typed.mode != "rdma" && typed.mode != "send") {
    return base::Error("--mode: '" + typed.mode + "' is neither rdma nor send");
  }
  out.mode = typed.mode == "send" ? TransferMode::kSend : TransferMode::kRdma;

  auto pools = check_pools(typed.pools);
  if (!pools) return pools.error();
  out.pools = *std::move(pools);
  if (out.pools.empty()) out.pools = {{1024, 2048}, {64, 65536}};

  if (!typed.cell.empty()) {
    const auto cell = number_option("--cell", typed.cell, kCellPayloadMin, kCellPayloadMax);
    if (!cell) return cell.error();
    if (*cell % 4 != 0) return base::Error("--cell: " + typed.cell + " is not a multiple of 4");
    out.cell_bytes = static_cast<std::uint16_t>(*cell);
  }
  if (typed.link_profile != "speed" && typed.link_profile != "full") {
    return base::Error("--link-profile: '" + typed.link_profile + "' is neither speed nor full");
  }
  out.link_profile = typed.link_profile == "full" ? LinkProfile::kFull : LinkProfile::kSpeed;
  if (!typed.mtu.empty()) {
    const auto mtu = number_option("--mtu", typed.mtu, kMtuMin, kMtuMax);
    if (!mtu) return mtu.error();
    out.mtu = *mtu;
  }
  const auto threshold =
      number_option("--send-threshold", typed.send_threshold, 0, kSendThresholdMax);
  if (!threshold) return threshold.error();
  out.send_threshold = *threshold;

  if (!typed.name.empty() && !is_node_name(typed.name)) {
    return base::Error("--name: '" + typed.name +
                       "' is not a name of 1 to 64 letters, digits, '.', '_' and '-'");
  }
  out.name = typed.name.empty() ? make_node_name(default_name) : typed.name;
  out.control_path = typed.control.empty() ? "/run/splitnic/" + out.name + ".sock" : typed.control;
  if (const auto address = unix_address(out.control_path); !address) {
    return address.error().within("--control");
  }
  constexpr std::array<std::string_view, 4> kLevels = {"debug", "info", "warn", "error"};
  if (std::find(kLevels.begin(), kLevels.end(), typed.log_level) == kLevels.end()) {
    return base::Error("--log-level: '" + typed.log_level +
                       "' is none of debug, info, warn and error");
  }
  out.log_level = typed.log_level;
  out.is_busy_polling = typed.is_busy_polling;
  out.has_no_gso = typed.has_no_gso;
  out.is_insecure_lab = typed.is_insecure_lab;
  out.capture_path = typed.capture;
  return out;
}

base::Status check_lab(const CommonOptions& common, const std::string& option,
                       const Endpoint& endpoint) {
  if (common.is_insecure_lab || endpoint.is_local()) return {};
  return base::Error(option + " " + endpoint.text() +
                     " leaves this machine without keys: add --insecure-lab if the network is "
                     "yours alone");
}

bool may_busy_poll(const CommonOptions& common) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  const bool is_alone = ::sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_COUNT(&mine) == 1;
  if (!common.is_busy_polling || !is_alone) return common.is_busy_polling;
  base::log_warn(
      "--busy-poll is left out: there is one processor only, and whoever is waited for needs it");
  return false;
}

std::string machine_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "node";
  const std::string whole = name.data();
  const std::string first = whole.substr(0, whole.find('.'));
  return first.empty() ? "node" : first;
}

}  // namespace splitnic::control
