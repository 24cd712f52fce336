-- The codes of CfgUtil and the fields of their data (docs/protocol/cfgutil.md).
local use = ...
local registry = use("registry")
local field = registry.field

local cfgutil = {
  code = {
    [0x00010001] = "INIT_NIC", [0x00010002] = "SET_MAC", [0x00010003] = "GET_MAC", [0x00010004] = "SET_FILTER",
    [0x00010005] = "SET_MTU", [0x00010006] = "START", [0x00010007] = "STOP", [0x00010008] = "RESET", [0x00010009] = "VLAN_ADD",
    [0x0001000A] = "VLAN_DEL", [0x0001000B] = "SET_PVID", [0x0001000C] = "SET_OFFLOADS", [0x0001000D] = "SET_QUEUES",
    [0x0001000E] = "SET_COALESCE", [0x0001000F] = "SET_QOS", [0x00020001] = "GET_STATS", [0x00020002] = "QUERY_STATS",
    [0x00020003] = "CLEAR_STATS", [0x00020004] = "GET_LINK", [0x00020005] = "ECHO", [0x00020006] = "GET_VERSION",
    [0x00020007] = "EVENT", [0x00020008] = "ANNOUNCE", [0x00020009] = "GET_STATE",
    [0x0002000A] = "LIST_NICS",
  },
  status = {[0] = "OK", "unknown", "bad_size", "bad_value", "not_permitted", "busy", "device_error", "version"},
}

local function one(name, kind, ...)
  field(kind == "fixed64" and "uint64" or kind == "text" and "string" or kind == "bytes" and kind or
        kind == "mac" and "ether" or kind == "bool" and "bool" or "uint32", "cfg." .. name, ...)
  return {"cfg." .. name, kind}
end

local REFUSAL = {"of_another_host", "reserved", "of_the_lan", "of_the_nic", "too_many", "promiscuous"}
local mac, mtu = one("mac", "mac", "MAC address"), one("mtu", "int", "MTU")
local link = {"Link", {
  one("link.up", "bool", "Link is up"), one("link.speed_mbps", "int", "Speed, Mbit/s"), one("link.full_duplex", "bool", "Full duplex"),
}}
local filter = {"Filter", {
  one("unicast", "mac", "Unicast address"), one("multicast", "mac", "Multicast address"), one("promiscuous", "bool", "Promiscuous"),
  one("all_multicast", "bool", "All multicast"), one("no_unicast", "bool", "No unicast"), one("no_multicast", "bool", "No multicast"),
  one("no_broadcast", "bool", "No broadcast"),
}}
local refusal = one("refusal", "int", "Refusal", base.DEC, REFUSAL)
local vlan = {one("vlan_id", "int", "VLAN")}
local mask = {one("mask", "fixed64", "Offloads", base.HEX)}
local group = {one("group", "text", "Group of statistics")}
local echo = {one("data", "bytes", "Data of ECHO")}
local counter = {"Counter", {one("counter.name", "text", "Counter"), one("counter.value", "fixed64", "Value")}}

local queues = {one("queues", "int", "Queues to use")}
local coalescing = {
  one("microseconds", "int", "Microseconds"), one("frames", "int", "Frames"), one("bytes", "int", "Bytes"), one("adaptive", "bool", "Adaptive"),
}
local levels = {one("priorities", "bytes", "Levels of priorities"), one("code_points", "bytes", "Levels of DSCPs")}

cfgutil.data = {
  ["INIT_NIC request"] = {one("node_name", "text", "Node name"), [3] = one("features_wanted", "fixed64", "Features wanted", base.HEX)},
  ["INIT_NIC reply"] = {
    mac, mtu, one("mtu_min", "int", "Smallest MTU"), one("mtu_max", "int", "Largest MTU"), link,
    one("features_granted", "fixed64", "Features granted", base.HEX), one("filter_entries_max", "int", "Entries of the filter"),
    one("queues_max", "int", "Queues"),
  },
  ["SET_MAC request"] = {mac}, ["SET_MAC reply"] = {mac, refusal}, ["GET_MAC reply"] = {mac},
  ["SET_FILTER request"] = {filter}, ["SET_FILTER reply"] = {filter, refusal},
  ["SET_MTU request"] = {mtu}, ["SET_MTU reply"] = {mtu},
  ["VLAN_ADD request"] = vlan, ["VLAN_DEL request"] = vlan, ["SET_PVID request"] = vlan,
  ["SET_OFFLOADS request"] = mask, ["SET_OFFLOADS reply"] = mask,
  ["SET_QUEUES request"] = queues, ["SET_QUEUES reply"] = queues,
  ["SET_COALESCE request"] = coalescing, ["SET_COALESCE reply"] = coalescing,
  ["SET_QOS request"] = levels, ["SET_QOS reply"] = levels,
  ["LIST_NICS reply"] = {{"NIC", {
    one("listed.number", "int", "Number"), one("listed.mac", "mac", "MAC address"), one("listed.mtu", "int", "MTU"), link,
    one("listed.in_use", "bool", "In use"),
  }}},
  ["GET_STATS request"] = group, ["GET_STATS reply"] = {counter}, ["CLEAR_STATS request"] = group,
  ["QUERY_STATS reply"] = {one("groups", "text", "Group of statistics there is")},
  ["GET_LINK reply"] = {link}, ["ECHO request"] = echo, ["ECHO reply"] = echo,
  ["GET_VERSION reply"] = {
    one("version", "int", "Version"), one("version_highest", "int", "Highest version"), one("program", "text", "Program"),
  },
  ["EVENT request"] = {one("generation", "fixed64", "Generation"), link, mtu},
  ["GET_STATE reply"] = {one("digest", "bytes", "Digest")},
}

return cfgutil
