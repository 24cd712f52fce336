// The rules of includes (docs/ARCHITECTURE.md, "Folders"): one row per folder, the allowed targets
// in it; and the folders and files that may include a third party's headers.
#pragma once

#include <map>
#include <regex>
#include <set>

#include "tests/tidy/source_tree.h"

namespace splitnic::tidy {

struct FolderRule {
  std::string_view folder;
  std::vector<std::string_view> may_include;  // folders, or single headers; itself is understood
};

// Vocabulary that others may include without their folder: strong integers, enumerations, values.
// They include only base.
constexpr std::array<std::string_view, 3> leaf_headers() {
  return {"fabric_emul/wire/ids.h", "messaging/drop_reason.h", "lan_bridge/ports/port_spec.h"};
}

// In order of level: a row may only name rows above it, so the graph has no cycle (tested).
inline const std::vector<FolderRule>& folder_rules() {
  static constexpr std::string_view kIds = leaf_headers()[0];
  static constexpr std::string_view kDropReason = leaf_headers()[1];
  static constexpr std::string_view kPortSpec = leaf_headers()[2];
  static const std::vector<FolderRule> kRules = {
      {"base", {}},
      {"fabric_emul/wire", {"base"}},
      {"fabric_emul/underlay", {"base"}},
      {"fabric_emul/session", {"base", "fabric_emul/underlay"}},
      {"fabric_emul/mem", {"base", kIds}},
      {"fabric_emul/paging", {"base", "fabric_emul/mem"}},
      {"lan_bridge/frame", {"base"}},
      {"messaging/wire", {"base", kIds, kDropReason}},
      {"control/config", {"base", "lan_bridge/frame", kPortSpec, kIds}},
      {"control/report", {"base"}},
      {"control/socket", {"base", "lan_bridge/frame", "control/config", "control/report"}},
      {"control/metrics", {"base", "control/config", "control/report", "control/socket"}},
      {"control",
       {"base", "lan_bridge/frame", "control/config", "control/socket", "control/metrics"}},
      {"control/sandbox", {"base"}},
      {"fabric_emul/link", {"base", "fabric_emul/wire", "fabric_emul/underlay"}},
      {"fabric_emul/routing", {"base", kIds}},
      {"lan_bridge", {"base", "lan_bridge/frame"}},
      {"fabric_emul/switching",
       {"base", "fabric_emul/wire", "fabric_emul/underlay", "fabric_emul/link",
        "fabric_emul/routing"}},
      {"fabric_emul/subnet",
       {"base", "fabric_emul/wire", "fabric_emul/link", "fabric_emul/switching",
        "fabric_emul/routing"}},
      {"fabric_emul/simulation", {"base", "fabric_emul/routing", "fabric_emul/switching"}},
      {"fabric_emul/transport",
       {"base", "fabric_emul/wire", "fabric_emul/mem", "fabric_emul/link"}},
      {"fabric_emul/stream",
       {"base", "fabric_emul/wire", "fabric_emul/mem", "fabric_emul/link",
        "fabric_emul/transport"}},
      {"fabric_emul/verbs",
       {"base", "fabric_emul/wire", "fabric_emul/mem", "fabric_emul/link", "fabric_emul/transport",
        "fabric_emul/stream", "fabric_emul/underlay"}},
      {"fabric_emul/via", {"base", "fabric_emul/verbs"}},
      {"fabric_emul/vm",
       {"base", kIds, "fabric_emul/mem", "fabric_emul/paging", "fabric_emul/verbs"}},
      {"fabric_emul/regcache", {"base", "fabric_emul/verbs"}},
      {"messaging/pools", {"base", kDropReason, "messaging/wire"}},
      {"messaging/cfgutil", {"base", "messaging/wire"}},
      {"messaging",
       {"base", "messaging/wire", "messaging/pools", "messaging/cfgutil", "fabric_emul/verbs"}},
      {"control/daemon",
       {"base", "lan_bridge", "lan_bridge/frame", "control", "control/config", "control/report",
        "control/socket", "control/metrics", "control/sandbox", "fabric_emul/link",
        "fabric_emul/session", "fabric_emul/switching", "fabric_emul/underlay", "fabric_emul/verbs",
        "messaging", "messaging/cfgutil", "messaging/wire"}},
      // The modules never see each other.
      {"host_module",
       {"base", "lan_bridge", "lan_bridge/frame", "control", "control/config", "control/report",
        "control/sandbox", "control/daemon", "fabric_emul/verbs", "messaging",
        "messaging/cfgutil"}},
      {"iou_module/hosts",
       {"base", kIds, "lan_bridge", "lan_bridge/frame", "control/config", "fabric_emul/verbs",
        "messaging", "messaging/cfgutil"}},
      {"iou_module/policy",
       {"base", "lan_bridge/frame", "control", "control/config", "control/socket", "control/daemon",
        "fabric_emul/session", "fabric_emul/underlay", "fabric_emul/verbs", "messaging",
        "messaging/cfgutil", "iou_module/hosts"}},
      {"iou_module/nic",
       {"base", "lan_bridge", "lan_bridge/frame", "control/config", "control/daemon", "messaging",
        "messaging/cfgutil", "iou_module/hosts", "iou_module/policy"}},
      {"iou_module",
       {"base", "lan_bridge", "control", "control/config", "control/report", "control/sandbox",
        "control/daemon", "fabric_emul/session", "fabric_emul/underlay", "messaging",
        "iou_module/hosts", "iou_module/policy", "iou_module/nic"}},
      // Speaks the wire by the formats alone: none of the state machines.
      {"conformance",
       {"base", "fabric_emul/wire", "fabric_emul/underlay", "fabric_emul/session",
        "messaging/wire"}},
      {"switch_module",
       {"base", "lan_bridge", "control", "control/config", "control/report", "control/sandbox",
        "control/daemon", "fabric_emul/routing", "fabric_emul/session", "fabric_emul/switching",
        "fabric_emul/subnet"}},
      {"tools",
       {"base", "control", "control/config", "control/report", "control/socket", "control/daemon",
        "conformance", "host_module", "switch_module", "fabric_emul/routing", "fabric_emul/session",
        "fabric_emul/simulation", "fabric_emul/switching", "fabric_emul/underlay",
        "fabric_emul/verbs", "lan_bridge", "lan_bridge/frame", "messaging"}},
  };
  return kRules;
}

// The places that may include headers of a third party: files, folders with '/' behind them, or the
// files of a folder with an extension ("folder/*.cc").
struct ThirdPartyRule {
  std::string_view name;
  std::regex header;  // over the included path
  std::vector<std::string_view> allowed_in;
};

inline const std::vector<ThirdPartyRule>& third_party_rules() {
  static const std::vector<ThirdPartyRule> kRules = {
      {"Asio",
       std::regex("boost/asio.*"),
       {"control/", "tools/capture_command.cc", "tools/monitor_command.cc"}},
      {"Beast", std::regex("boost/beast.*"), {"control/"}},
      {"Avahi", std::regex("avahi-(core|common)/.*"), {"control/daemon/mdns_avahi.cc"}},
      {"libpcap",
       std::regex("pcap(\\.h|/.*)"),
       {"lan_bridge/ports/pcap_port.cc", "lan_bridge/ports/file_port.cc", "tools/capture_file.cc"}},
      {"Protobuf", std::regex("google/protobuf/.*"), {"messaging/cfgutil/echo.cc"}},
      // The modules send and serve CfgUtil requests: its values reach their sources, never their
      // headers.
      {"Protobuf",
       std::regex(".*\\.pb\\.h"),
       {"messaging/", "control/", "conformance/*.cc", "host_module/*.cc", "iou_module/*.cc"}},
      {"ISA-L", std::regex("(isa-l|isa-l\\.h).*"), {"base/"}},
      {"spdlog", std::regex("spdlog/.*"), {"base/"}},
      {"CLI11", std::regex("CLI/.*"), {"control/"}},
      {"Boost.JSON",
       std::regex("boost/json.*"),
       {"control/", "conformance/report/json.cc", "conformance/states/state_list.cc",
        "host_module/nic_report.cc", "tools/bench_command.cc", "tools/doctor_programs.cc",
        "tools/monitor_command.cc", "tools/sim_report.cc", "tools/stats_command.cc"}},
      {"OpenSSL",
       std::regex("openssl/.*"),
       {"control/identity.cc", "fabric_emul/link/siphash.cc", "fabric_emul/session/crypto.cc",
        "fabric_emul/session/aead_openssl.cc", "fabric_emul/session/keys.cc",
        "fabric_emul/session/secret.cc", "messaging/"}},
      {"libipsec-mb", std::regex("intel-ipsec-mb\\.h"), {"fabric_emul/session/aead_ipsec_mb.cc"}},
      {"toml++", std::regex("toml\\+\\+/.*"), {"control/config/toml.cc"}},
  };
  return kRules;
}

// The folder of the rules that a path lies in: the longest that fits; "" if none does.
inline std::string_view folder_of(std::string_view path) {
  std::string_view best;
  for (const FolderRule& rule : folder_rules()) {
    const bool fits = path.size() > rule.folder.size() && path.starts_with(rule.folder) &&
                      path[rule.folder.size()] == '/';
    if (fits && rule.folder.size() > best.size()) best = rule.folder;
  }
  return best;
}

inline bool include_is_allowed(std::string_view from_folder, std::string_view header) {
  const std::string_view to = folder_of(header);
  if (to == from_folder) return true;
  for (const FolderRule& rule : folder_rules()) {
    if (rule.folder != from_folder) continue;
    return std::any_of(
        rule.may_include.begin(), rule.may_include.end(),
        [&](std::string_view allowed) { return allowed == to || allowed == header; });
  }
  return false;
}

struct Include {
  std::size_t line;
  std::string header;
};

inline std::vector<Include> includes_of(const SourceFile& file) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*["<]([^">]+)[">].*)");
  std::vector<Include> includes;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(file.text)) {
    ++number;
    if (line.find("include") == std::string_view::npos) continue;
    std::cmatch match;
    if (std::regex_match(line.data(), line.data() + line.size(), match, kInclude)) {
      includes.push_back({number, match[1].str()});
    }
  }
  return includes;
}

// Includes that go up or sideways. Tests may include anything; nothing includes them, nor tools.
inline Findings check_include_levels(const SourceTree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    const std::string_view from = folder_of(file.path);
    if (!file.is_cpp() || from.empty()) continue;
    for (const Include& include : includes_of(file)) {
      const bool from_tests = include.header.starts_with("tests/");
      const bool generated = include.header.ends_with(".pb.h");  // the Protobuf rule's
      if (!from_tests && (folder_of(include.header).empty() || generated)) continue;
      if (from_tests || !include_is_allowed(from, include.header)) {
        findings.push_back(
            finding(file, include.line, std::string(from) + " may not include " + include.header));
      }
    }
  }
  return findings;
}

inline Findings check_leaf_headers(const SourceTree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    const auto leaves = leaf_headers();
    if (std::find(leaves.begin(), leaves.end(), file.path) == leaves.end()) continue;
    for (const Include& include : includes_of(file)) {
      const std::string_view to = folder_of(include.header);
      if (to.empty() || to == "base") continue;
      findings.push_back(finding(file, include.line, "a leaf may not include " + include.header));
    }
  }
  return findings;
}

inline bool is_in(std::string_view path, std::string_view place) {
  const std::size_t star = place.find('*');
  if (star == std::string_view::npos)
    return place.ends_with('/') ? path.starts_with(place) : path == place;
  return path.starts_with(place.substr(0, star)) && path.ends_with(place.substr(star + 1));
}

inline Findings check_third_parties(const SourceTree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    if (!file.is_cpp() || file.below("tests")) continue;
    for (const Include& include : includes_of(file)) {
      for (const ThirdPartyRule& rule : third_party_rules()) {
        if (!std::regex_match(include.header, rule.header)) continue;
        if (std::any_of(rule.allowed_in.begin(), rule.allowed_in.end(),
                        [&](std::string_view place) { return is_in(file.path, place); }))
          continue;
        findings.push_back(
            finding(file, include.line, std::string(rule.name) + " does not belong here"));
      }
    }
  }
  return findings;
}

// Permissions that nothing uses: a folder that may include another and does not, a place for a
// third party that includes none of it.
inline Findings check_unused_permissions(const SourceTree& tree) {
  std::set<std::pair<std::string_view, std::string_view>> used;
  for (const SourceFile& file : tree) {
    if (!file.is_cpp() || file.below("tests")) continue;
    for (const Include& include : includes_of(file)) {
      used.insert({folder_of(file.path), folder_of(include.header)});
      for (const std::string_view leaf : leaf_headers()) {
        if (include.header == leaf) used.insert({folder_of(file.path), leaf});
      }
      for (const ThirdPartyRule& rule : third_party_rules()) {
        if (!std::regex_match(include.header, rule.header)) continue;
        for (const std::string_view place : rule.allowed_in) {
          if (is_in(file.path, place)) used.insert({rule.name, place});
        }
      }
    }
  }
  Findings findings;
  const auto need = [&](std::string_view who, std::string_view what) {
    if (used.contains({who, what})) return;
    findings.push_back("tests/tidy/include_rules.h: " + std::string(who) + " does not use " +
                       std::string(what));
  };
  for (const FolderRule& rule : folder_rules()) {
    for (const std::string_view target : rule.may_include) need(rule.folder, target);
  }
  for (const ThirdPartyRule& rule : third_party_rules()) {
    for (const std::string_view place : rule.allowed_in) need(rule.name, place);
  }
  return findings;
}

// Headers that the product itself does not include.
inline constexpr auto kTestHeaders = std::to_array<std::string_view>({
    // Offered by libraries to their users (docs/libraries.md).
    "fabric_emul/paging/io_consumer.h",
    "fabric_emul/paging/on_demand.h",
    "fabric_emul/paging/prefetch.h",
    "fabric_emul/regcache/registration_gc.h",
    "fabric_emul/via/kernel_agent.h",
});

// Headers that no other file includes, by their path from the root or next to the includer; and
// those of the product that only tests include, without kTestHeaders. A header of a library may be
// included by its own source alone: that is a user.
inline Findings check_dead_headers(const SourceTree& tree) {
  std::set<std::string> included, by_product;
  for (const SourceFile& file : tree) {
    if (!file.is_cpp()) continue;
    const std::string folder = file.path.substr(0, file.path.rfind('/') + 1);
    for (const Include& include : includes_of(file)) {
      for (const std::string& header : {include.header, folder + include.header}) {
        if (header == file.path) continue;
        included.insert(header);
        const bool is_own = file.path == header.substr(0, header.size() - 1) + "cc";
        if (!file.below("tests") && !is_own) by_product.insert(header);
      }
    }
  }
  Findings findings;
  for (const SourceFile& file : tree) {
    if (!file.is_header()) continue;
    const bool is_listed =
        std::find(kTestHeaders.begin(), kTestHeaders.end(), file.path) != kTestHeaders.end();
    if (!included.contains(file.path)) {
      findings.push_back(finding(file, 1, "nothing includes this header"));
    } else if (!file.below("tests") && is_listed == by_product.contains(file.path)) {
      findings.push_back(finding(file, 1,
                                 is_listed ? "the product uses it: take it off kTestHeaders"
                                           : "only tests include this header"));
    }
  }
  return findings;
}

// Headers of the product with one name: a reader who looks for a file by its name finds one.
// `conformance` is a second implementation of some things, with their names.
inline Findings check_header_names(const SourceTree& tree) {
  std::map<std::string, std::string> first;  // by name
  Findings findings;
  for (const SourceFile& file : tree) {
    if (!file.is_header() || file.below("tests") || file.below("conformance")) continue;
    const auto [it, is_new] = first.emplace(file.path.substr(file.path.rfind('/') + 1), file.path);
    if (!is_new) findings.push_back(finding(file, 1, "has the name of " + it->second));
  }
  return findings;
}

}  // namespace splitnic::tidy
