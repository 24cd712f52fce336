-- MGMT (docs/protocol/mgmt.md), with the capabilities of a connection (docs/protocol/channels.md).
local use = ...
local registry, connection, exchange = use("registry"), use("connection"), use("exchange")
local protobuf, rules = use("protobuf"), use("cell_rules")
local f, field, visit = registry.f, registry.field, registry.context

local KIND = {"CONNECT_REQ", "CONNECT_REP", "CONNECT_RTU", "CONNECT_REJ", "DISC", "DISC_REP", "RESOLVE", "RESOLVED"}
local REJECT = {[0] = "none", "unknown_peer", "bad_parameter", "no_resources", "refused", "stale"}
field("uint8", "mgmt.format", "Format")
field("uint8", "mgmt.kind", "Kind", base.DEC, KIND)
field("uint8", "mgmt.pairs", "Queue pairs")
field("uint16", "mgmt.reject", "Reject code", base.DEC, REJECT)
field("uint16", "mgmt.private_bytes", "Bytes of private data")
field("uint64", "mgmt.transaction", "Transaction", base.HEX)
field("uint64", "mgmt.eui64", "EUI-64", base.HEX)
field("uint64", "mgmt.instance", "Instance", base.HEX)
field("uint64", "mgmt.peer_eui64", "EUI-64 of the receiver", base.HEX)
field("uint64", "mgmt.peer_instance", "Instance of the receiver", base.HEX)
field("uint8", "mgmt.channel", "Channel")
field("uint8", "mgmt.service", "Service", base.DEC, rules.service)
field("uint16", "mgmt.flags", "Flags", base.HEX)
field("uint24", "mgmt.qpn", "QP", base.HEX)
field("uint24", "mgmt.peer_qpn", "QP of the receiver", base.HEX)
field("uint24", "mgmt.start_psn", "Start PSN")
field("uint16", "mgmt.start_lcn", "Start LCN")
field("uint16", "mgmt.mcp", "MCP")
field("uint16", "mgmt.receive_credits", "Receive credits")
field("uint16", "mgmt.max_dest_rd_atomic", "RDMA reads and FetchOps served at a time")
field("uint32", "mgmt.msg_max", "Longest message")
field("uint24", "mgmt.completed", "Completed MSN")
field("bytes", "mgmt.private", "Private data")
field("uint32", "cap.mode", "Mode", base.DEC, {"rdma", "send"})
field("uint32", "cap.version_lowest", "Lowest version of messages")
field("uint32", "cap.version_highest", "Highest version of messages")
field("uint32", "cap.msg_max", "MSG_MAX of a channel")
field("uint32", "cap.idata_form_in", "idata into the sender's pools", base.DEC, {[0] = "form A", "form B", "none"})
field("uint32", "cap.idata_form_out", "idata that the sender can produce", base.DEC, {[0] = "form A", "forms A and B", "none"})
field("string", "cap.node_name", "Node name")
field("uint32", "cap.queues", "Queues")
field("uint32", "cap.queue", "Queue")
field("string", "cap.program", "Program")
field("uint32", "cap.nic", "NIC")
field("uint32", "cap.level", "Service level")
field("uint32", "cap.channels", "Channels", base.DEC, {[0] = "two", "one", "separate connections"})
field("uint32", "cap.channel", "Channel of this connection")
field("uint32", "cap.context_in", "Contexts of the sender's pools", base.DEC, {[0] = "opaque", "select flows"})
field("uint32", "cap.context_out", "Contexts that the sender places frames by", base.DEC, {[0] = "none", "those that select flows"})

local CAPABILITIES = {
  {"cap.mode", "int"}, {"cap.version_lowest", "int"}, {"cap.version_highest", "int"}, [5] = {"cap.msg_max", "packed"},
  [6] = {"cap.idata_form_in", "int"}, [7] = {"cap.idata_form_out", "int"}, [8] = {"cap.node_name", "text"},
  [10] = {"cap.queues", "int"}, [11] = {"cap.queue", "int"}, [12] = {"cap.program", "text"}, [13] = {"cap.nic", "int"},
  [14] = {"cap.channels", "int"}, [15] = {"cap.channel", "int"}, [16] = {"cap.context_in", "int"}, [17] = {"cap.context_out", "int"}, [18] = {"cap.level", "int"},
}
local PAIR = {
  {"mgmt.channel", 1}, {"mgmt.service", 1}, {"mgmt.flags", 2}, {"", 1}, {"mgmt.qpn", 3}, {"", 1}, {"mgmt.peer_qpn", 3}, {"", 1},
  {"mgmt.start_psn", 3}, {"mgmt.start_lcn", 2}, {"mgmt.mcp", 2}, {"mgmt.receive_credits", 2}, {"mgmt.max_dest_rd_atomic", 2},
  {"mgmt.msg_max", 4}, {"", 1}, {"mgmt.completed", 3},
}
-- The requests, and the requests that others reply to.
local REQUEST = {[1] = true, [5] = true, [7] = true}
local REPLIED = {[2] = 1, [4] = 1, [6] = 5, [8] = 7}

local function cause_of_pairs(tvb, kind, count)
  local channels, sets_up = {}, kind <= 2
  if sets_up and count == 0 then return "pair" end
  for at = 48, 48 + 32 * (count - 1), 32 do
    local channel, mcp = tvb(at, 1):uint(), tvb(at + 18, 2):uint()
    if channels[channel] or tvb(at + 1, 1):uint() > 6 or mcp % 4 ~= 0 then return "pair" end
    if sets_up and (mcp == 0 or tvb(at + 5, 3):uint() == 0) then return "pair" end
    channels[channel] = true
  end
end

local function cause_of(tvb)
  if tvb:len() < 48 then return "short" end
  local kind, count, reject, private = tvb(1, 1):uint(), tvb(2, 1):uint(), tvb(4, 2):uint(), tvb(6, 2):uint()
  if tvb(0, 1):uint() ~= 1 or not KIND[kind] then return "format" end
  if count > 4 then return "pair" end
  if tvb:len() < 48 + 32 * count then return "short" end
  if private > 512 or tvb:len() ~= 48 + 32 * count + private then return "length" end
  if not REJECT[reject] or (reject ~= 0) ~= (kind == 4) then return "reject" end
  return cause_of_pairs(tvb, kind, count)
end

local function dissect_pairs(tvb, tree, count)
  local list = {}
  for at = 48, 48 + 32 * (count - 1), 32 do
    local channel, qpn = tvb(at, 1):uint(), tvb(at + 5, 3):uint()
    registry.add_all(tree:add(tvb(at, 32), string.format("Channel %d: QP 0x%x", channel, qpn)), tvb, at, PAIR)
    list[#list + 1] = {channel = channel, qpn = qpn}
  end
  return list
end

-- A CONNECT_REJ has text, RESOLVE a name, a CONNECT of channels the capabilities of its sender.
local function dissect_private(tvb, at, tree, kind)
  if at >= tvb:len() then return {} end
  tree:add(f["mgmt.private"], tvb(at))
  if kind > 2 then return {} end
  local values = protobuf.dissect(tvb(at):tvb(), tree, CAPABILITIES)
  return {
    idata_form_in = values["cap.idata_form_in"], idata_form_out = values["cap.idata_form_out"], channels = values["cap.channels"],
  }
end

local mgmt = {}

function mgmt.dissect(tvb, parent, c)
  if not tvb then return registry.refuse(parent, "mgmt.short") end
  local kind = tvb:len() > 1 and tvb(1, 1):uint() or 0
  local name = KIND[kind] or "MGMT"
  local tree, cause = parent:add(tvb(), "MGMT " .. name), cause_of(tvb)
  if tvb:len() >= 48 then
    registry.add_all(tree, tvb, 0, {
      {"mgmt.format", 1}, {"mgmt.kind", 1}, {"mgmt.pairs", 1}, {"", 1}, {"mgmt.reject", 2}, {"mgmt.private_bytes", 2},
      {"mgmt.transaction", 8}, {"mgmt.eui64", 8}, {"mgmt.instance", 8}, {"mgmt.peer_eui64", 8}, {"mgmt.peer_instance", 8},
    })
  end
  if cause then
    registry.refuse(tree, "mgmt." .. cause)
    return name .. "?"
  end
  local count, transaction = tvb(2, 1):uint(), tostring(tvb(8, 8):bytes())
  local list = dissect_pairs(tvb, tree, count)
  local caps = dissect_private(tvb, 48 + 32 * count, tree, kind)
  if kind <= 2 then
    registry.once("connect", function()
      connection.describe(visit.number, transaction, kind == 1 and "active" or "passive", c.slid, list, caps)
    end)
  end
  if kind == 4 then
    registry.note(tree, "refusal", "The connection is refused: " .. REJECT[tvb(4, 2):uint()])
  end
  if REQUEST[kind] then exchange.request(tree, "mgmt " .. kind .. " " .. transaction) end
  if REPLIED[kind] then exchange.reply(tree, "mgmt " .. REPLIED[kind] .. " " .. transaction) end
  return name
end

return mgmt
