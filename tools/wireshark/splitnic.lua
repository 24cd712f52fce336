-- Wireshark dissector of the splitnic fabric: datagrams of flits, cells, INIT, MGMT, push-push messages.
-- The formats are those of docs/protocol; names are spelt as there. Reads files of --capture (link type
-- USER0), and UDP ports 7471 to 7478 (other ports: from the first INIT on).
--   tshark -X lua_script:tools/wireshark/splitnic.lua -r F.pcapng -Y 'splitnic.op == 2'
-- A datagram holds several cells, so a field occurs once per cell. splitnic.channel occurs once in every
-- cell (255: the connection's set-up is not in the capture), so lists of -T fields go together.
-- A cell that is cut into several flits is shown up to the end of its first flit.

local proto = Proto("splitnic", "splitnic fabric")

local FLIT = {[0] = "DATA", "LACK", "LNAK", "CREDIT", "INIT", "IDLE"}
local OP = {
  [0x00] = "SEND", [0x01] = "SEND_DEREG", [0x02] = "RDMA_WRITE", [0x03] = "RDMA_READ_REQ",
  [0x04] = "RDMA_READ_RESP", [0x05] = "FETCHOP_REQ", [0x06] = "FETCHOP_RESP", [0x08] = "RAW",
  [0x09] = "ISCSI_PDU", [0x10] = "ACK", [0x11] = "NAK", [0x12] = "TERMINATE", [0x18] = "MGMT",
}
local SERVICE = {
  [0] = "RC", "UC", "RD", "UD", "Raw", "STREAM", "iSCSI", [15] = "MGMT",
}
local POS = {[0] = "middle", "last", "first", "only"}
local CODE = {
  [0x00] = "ack", [0x20] = "rnr", [0x60] = "sequence", [0x61] = "invalid_request",
  [0x62] = "remote_access", [0x63] = "remote_operational", [0x64] = "invalid_rd_request",
}
local STEP = {"hello", "challenge", "answer", "ready", "refuse", "bye", "probe", "probe_reply"}
local PROFILE = {[0] = "full", "speed", "shm"}
local INIT_REASON = {[0] = "none", "version", "profile", "mcp", "identity", "busy"}
local MGMT = {"CONNECT_REQ", "CONNECT_REP", "CONNECT_RTU", "CONNECT_REJ", "DISC", "DISC_REP"}
local REJECT = {[0] = "none", "unknown_peer", "bad_parameter", "no_resources", "refused", "stale"}
local FETCH = {"compare_swap", "fetch_add", "swap"}
local MESSAGE = {
  "BufferRecvPool", "BufferRecvPoolGet", "BufferRecvPoolUpdate", "BufferPoolFlushRequest",
  "BufferPoolFlushReply", "SendData", "BufferRDMAIndicate", "CfgUtilRequest", "CfgUtilReply",
}
local CFG = {
  [0x00010001] = "INIT_NIC", [0x00010002] = "SET_MAC", [0x00010003] = "GET_MAC",
  [0x00010004] = "SET_FILTER", [0x00010005] = "SET_MTU", [0x00010006] = "START",
  [0x00010007] = "STOP", [0x00010008] = "RESET", [0x00010009] = "VLAN_ADD",
  [0x0001000A] = "VLAN_DEL", [0x0001000B] = "SET_PVID", [0x0001000C] = "SET_OFFLOADS",
  [0x0001000D] = "SET_QUEUES", [0x0001000E] = "SET_COALESCE", [0x0001000F] = "SET_QOS",
  [0x00020001] = "GET_STATS", [0x00020002] = "QUERY_STATS", [0x00020003] = "CLEAR_STATS",
  [0x00020004] = "GET_LINK", [0x00020005] = "ECHO", [0x00020006] = "GET_VERSION",
  [0x00020007] = "EVENT", [0x00020008] = "ANNOUNCE", [0x00020009] = "GET_STATE",
}
local CFG_STATUS = {
  [0] = "OK", "unknown", "bad_size", "bad_value", "not_permitted", "busy", "device_error",
  "version",
}

local f = {}
local function field(kind, name, title, ...)
  f[name] = ProtoField[kind]("splitnic." .. name, title, ...)
end
field("uint8", "flit.type", "Flit type", base.DEC, FLIT, 0xF0)
field("uint8", "flit.vl", "Lane", base.DEC, nil, 0x0F)
field("bool", "flit.sof", "First of a cell", 8, nil, 0x80)
field("bool", "flit.eof", "Last of a cell", 8, nil, 0x40)
field("bool", "flit.header_crc", "CRC covers the header only", 8, nil, 0x20)
field("bool", "flit.cell_crc_head", "Cell CRC covers the head only", 8, nil, 0x10)
field("uint16", "flit.size", "Size")
field("uint16", "flit.lsn", "Link sequence number")
field("uint16", "flit.ack", "Acknowledged link sequence number")
field("uint32", "flit.credit_vl", "Credit lane", base.DEC, nil, 0xF0000000)
field("uint32", "flit.credit", "Credit limit", base.DEC, nil, 0x00FFFFFF)
field("uint32", "flit.crc", "Flit CRC", base.HEX)
field("uint8", "version", "Version", base.DEC, nil, 0xF0)
field("uint8", "sl", "Service level", base.DEC, nil, 0x0F)
field("uint8", "pos", "Position", base.DEC, POS, 0xC0)
field("uint8", "op", "Operation", base.HEX, OP, 0x3F)
field("bool", "flags.ack_request", "A: acknowledgement requested", 8, nil, 0x80)
field("bool", "flags.idata", "I: idata", 8, nil, 0x40)
field("bool", "flags.solicited", "S: solicited", 8, nil, 0x20)
field("bool", "flags.global", "G: global header", 8, nil, 0x10)
field("bool", "flags.packet_crc", "P: packet CRC", 8, nil, 0x08)
field("bool", "flags.retransmission", "R: retransmission", 8, nil, 0x04)
field("uint8", "flags.pad", "Pad bytes", base.DEC, nil, 0x03)
field("uint8", "ext_words", "Extension words")
field("uint16", "dlid", "Destination LID")
field("uint16", "slid", "Source LID")
field("uint32", "service", "Service", base.DEC, SERVICE, 0xF0000000)
field("uint32", "stripe", "Stripe", base.DEC, nil, 0x0F000000)
field("uint32", "dqpn", "Destination QP", base.HEX, nil, 0x00FFFFFF)
field("uint32", "sqpn", "Source QP", base.HEX, nil, 0x00FFFFFF)
field("uint32", "psn", "PSN", base.DEC, nil, 0x00FFFFFF)
field("uint16", "csn", "CSN")
field("uint16", "payload_bytes", "Payload bytes")
field("uint16", "partition", "Partition", base.HEX)
field("uint16", "lcn", "LCN")
field("uint8", "channel", "Channel")
field("bytes", "gnh", "Global network header")
field("uint32", "ee", "EE context", base.HEX, nil, 0x00FFFFFF)
field("uint32", "stream_number", "Byte stream number")
field("uint64", "va", "Virtual address", base.HEX)
field("uint32", "mh", "Memory handle", base.HEX)
field("uint32", "va_length", "Length")
field("uint32", "read.msn", "Read MSN")
field("uint32", "read.sink", "Read sink tag", base.HEX)
field("uint64", "read.offset", "Read sink offset", base.HEX)
field("uint8", "atomic.op", "Fetch operation", base.DEC, FETCH)
field("uint64", "atomic.operand1", "Operand 1", base.HEX)
field("uint64", "atomic.operand2", "Operand 2", base.HEX)
field("uint32", "idata", "idata", base.HEX)
field("uint32", "idata.pool", "Pool", base.DEC, nil, 0xFF000000)
field("uint32", "idata.element", "Element", base.DEC, nil, 0x00FF0000)
field("uint32", "idata.offset", "Offset / 64", base.DEC, nil, 0xFFFF0000)
field("uint32", "idata.bytes", "Bytes stored (0: 65536)", base.DEC, nil, 0x0000FFFF)
field("uint32", "dereg", "Tag to deregister", base.HEX)
field("uint8", "ack.code", "Code", base.HEX, CODE)
field("uint24", "ack.msn", "Completed packets")
field("uint16", "ack.credits", "Receive credits")
field("uint16", "ack.detail", "Detail")
field("uint16", "ack.cumulative", "Cumulative LCN")
field("uint8", "ack.bitmap_words", "Bitmap words")
field("uint8", "ack.hold", "Held back, 10 us")
field("bytes", "ack.bitmap", "Bitmap")
field("uint16", "ack.arrived", "Arrived LCN")
field("bytes", "payload", "Payload")
field("uint32", "packet_crc", "Packet CRC", base.HEX)
field("uint32", "cell_crc", "Cell CRC", base.HEX)
field("uint8", "init.format", "Format")
field("uint8", "init.step", "Step", base.DEC, STEP)
field("uint8", "init.profile", "Profile", base.DEC, PROFILE)
field("uint8", "init.cell_crc", "Cell CRC covers", base.DEC, {[0] = "whole cell", "head only"})
field("uint32", "init.program", "Program version", base.HEX)
field("uint16", "init.lanes", "Lanes", base.HEX)
field("uint16", "init.mcp_max", "Largest MCP")
field("uint16", "init.flit_max", "Largest flit payload")
field("uint8", "init.port", "Port number")
field("uint8", "init.reason", "Reason", base.DEC, INIT_REASON)
field("uint24", "init.credit", "First credit limit")
field("uint8", "init.payload_crc", "Payload CRC", base.DEC, {[0] = "required", "omitted", "omitted if proven"})
field("uint24", "init.proof_high", "Proof, bits 32-55", base.HEX)
field("uint32", "init.proof_low", "Proof, bits 0-31", base.HEX)
field("uint32", "init.buffer", "Receive buffer")
field("uint64", "init.eui64", "EUI-64", base.HEX)
field("uint64", "init.instance", "Instance", base.HEX)
field("uint64", "init.peer_instance", "Instance of the receiver", base.HEX)
field("uint64", "init.nonce", "Nonce", base.HEX)
field("uint64", "init.echo", "Echo", base.HEX)
field("uint16", "init.lid", "LID")
field("uint16", "init.offered_lid", "Offered LID")
field("uint8", "mgmt.format", "Format")
field("uint8", "mgmt.kind", "Kind", base.DEC, MGMT)
field("uint8", "mgmt.pairs", "Queue pairs")
field("uint16", "mgmt.reject", "Reject code", base.DEC, REJECT)
field("uint16", "mgmt.private_bytes", "Private bytes")
field("uint64", "mgmt.transaction", "Transaction", base.HEX)
field("uint64", "mgmt.eui64", "EUI-64", base.HEX)
field("uint64", "mgmt.instance", "Instance", base.HEX)
field("uint64", "mgmt.peer_eui64", "EUI-64 of the receiver", base.HEX)
field("uint64", "mgmt.peer_instance", "Instance of the receiver", base.HEX)
field("uint8", "mgmt.channel", "Channel")
field("uint8", "mgmt.service", "Service", base.DEC, SERVICE)
field("uint16", "mgmt.flags", "Flags", base.HEX)
field("uint24", "mgmt.qpn", "QP", base.HEX)
field("uint24", "mgmt.peer_qpn", "QP of the receiver", base.HEX)
field("uint24", "mgmt.start_psn", "Start PSN")
field("uint16", "mgmt.start_lcn", "Start LCN")
field("uint16", "mgmt.mcp", "MCP")
field("uint16", "mgmt.credits", "Receive credits")
field("uint32", "mgmt.msg_max", "Longest message")
field("uint24", "mgmt.completed", "Completed MSN")
field("bytes", "mgmt.private", "Private data")
field("uint16", "function", "Function", base.DEC, MESSAGE)
field("string", "message", "Message")
field("uint16", "message.version", "Version")
field("uint64", "context", "Transaction Context", base.HEX)
field("uint32", "cfg.code", "Code", base.HEX, CFG)
field("uint32", "cfg.status", "Status", base.DEC, CFG_STATUS)
field("bytes", "filler", "Filler")
do
  local all = {}
  for _, one in pairs(f) do all[#all + 1] = one end
  proto.fields = all
end
local bad = ProtoExpert.new("splitnic.bad", "Violates the format", expert.group.MALFORMED,
                            expert.severity.ERROR)
proto.experts = {bad}

-- From MGMT cells: "LID:QPN" of an end -> its channel and the idata form that it wants.
local ends = {}
function proto.init() ends = {} end

-- Adds the fields of a list {name, bytes} in order; returns the offset after them.
local function add_all(tree, tvb, at, list)
  for _, one in ipairs(list) do
    if one[1] ~= "" then tree:add(f[one[1]], tvb(at, one[2])) end
    at = at + one[2]
  end
  return at
end

local function dissect_init(tvb, tree, pinfo)
  local step = tvb(1, 1):uint()
  local sub = tree:add(tvb(), "INIT " .. (STEP[step] or step))
  if tvb:len() ~= 72 then
    sub:add_proto_expert_info(bad)
    return "INIT?"
  end
  local is_speed = tvb(2, 1):uint() == 1
  add_all(sub, tvb, 0, {
    {"init.format", 1}, {"init.step", 1}, {"init.profile", 1}, {"init.cell_crc", 1},
    {"init.program", 4}, {"init.lanes", 2}, {"init.mcp_max", 2}, {"init.flit_max", 2},
    {"init.port", 1}, {"init.reason", 1}, {is_speed and "init.payload_crc" or "", 1},
    {is_speed and "init.proof_high" or "init.credit", 3}, {"init.buffer", 4},
    {"init.eui64", 8}, {"init.instance", 8}, {"init.peer_instance", 8}, {"init.nonce", 8},
    {"init.echo", 8}, {"init.lid", 2}, {"init.offered_lid", 2},
    {is_speed and "init.proof_low" or "", 4},
  })
  return "INIT " .. (STEP[step] or step)
end

local function dissect_mgmt(tvb, tree, slid)
  if tvb:len() < 48 then
    tree:add_proto_expert_info(bad)
    return "MGMT?"
  end
  local kind, count = tvb(1, 1):uint(), tvb(2, 1):uint()
  local sub = tree:add(tvb(), "MGMT " .. (MGMT[kind] or kind))
  local at = add_all(sub, tvb, 0, {
    {"mgmt.format", 1}, {"mgmt.kind", 1}, {"mgmt.pairs", 1}, {"", 1}, {"mgmt.reject", 2},
    {"mgmt.private_bytes", 2}, {"mgmt.transaction", 8}, {"mgmt.eui64", 8}, {"mgmt.instance", 8},
    {"mgmt.peer_eui64", 8}, {"mgmt.peer_instance", 8},
  })
  for _ = 1, math.min(count, 4) do
    if tvb:len() < at + 32 then
      sub:add_proto_expert_info(bad)
      return "MGMT?"
    end
    local channel, qpn = tvb(at, 1):uint(), tvb(at + 5, 3):uint()
    local pair = sub:add(tvb(at, 32), string.format("Channel %d: QP 0x%x", channel, qpn))
    -- CONNECT_REQ and CONNECT_REP describe an end; LIDs are those of the cell.
    if kind <= 2 then
      ends[slid .. ":" .. qpn] = {channel = channel, form_b = bit32.btest(tvb(at + 2, 2):uint(), 1)}
    end
    at = add_all(pair, tvb, at, {
      {"mgmt.channel", 1}, {"mgmt.service", 1}, {"mgmt.flags", 2}, {"", 1}, {"mgmt.qpn", 3},
      {"", 1}, {"mgmt.peer_qpn", 3}, {"", 1}, {"mgmt.start_psn", 3}, {"mgmt.start_lcn", 2},
      {"mgmt.mcp", 2}, {"mgmt.credits", 2}, {"", 2}, {"mgmt.msg_max", 4}, {"", 1},
      {"mgmt.completed", 3},
    })
  end
  if tvb:len() > at then sub:add(f["mgmt.private"], tvb(at)) end
  return "MGMT " .. (MGMT[kind] or kind)
end

-- The front of a message: header, and code and status of CfgUtil.
local function dissect_message(tvb, tree)
  if tvb:len() < 12 then return nil end
  local code = tvb(0, 2):uint()
  local name = MESSAGE[code]
  if not name then return nil end
  local sub = tree:add(tvb(), name)
  sub:add(f["message"], tvb(0, 2), name)
  add_all(sub, tvb, 0, {{"function", 2}, {"message.version", 2}, {"context", 8}})
  if code >= 8 and tvb:len() >= 16 then
    sub:add(f["cfg.code"], tvb(12, 4))
    name = name .. " " .. (CFG[tvb(12, 4):uint()] or "?")
    if code == 9 and tvb:len() >= 20 then sub:add(f["cfg.status"], tvb(16, 4)) end
  end
  return name
end

local function dissect_ack(tvb, tree)
  local at = add_all(tree, tvb, 0, {
    {"ack.code", 1}, {"ack.msn", 3}, {"ack.credits", 2}, {"ack.detail", 2},
  })
  if tvb:len() < 12 then return end
  local cumulative, words = tvb(8, 2):uint(), tvb(10, 1):uint()
  at = add_all(tree, tvb, at, {{"ack.cumulative", 2}, {"ack.bitmap_words", 1}, {"ack.hold", 1}})
  if words == 0 or tvb:len() < at + 4 * words then return end
  local map = tree:add(f["ack.bitmap"], tvb(at, 4 * words))
  for i = 0, 32 * words - 1 do
    if tvb(at, 4 * words):bitfield(i, 1) == 1 then
      map:add(f["ack.arrived"], tvb(at + math.floor(i / 8), 1), (cumulative + 2 + i) % 65536)
    end
  end
end

-- The extensions that op, service, position and flags require, in order (docs/protocol/cell.md).
local function dissect_extensions(tvb, tree, c)
  local at = 0
  local first, last = c.pos >= 2, c.pos % 2 == 1
  local stream = c.service == 5
  local function take(bytes, list)
    if tvb:len() < at + bytes then
      tree:add_proto_expert_info(bad)
      return
    end
    add_all(tree, tvb, at, list)
    at = at + bytes
  end
  if bit32.btest(c.flags, 0x10) then take(40, {{"gnh", 40}}) end
  if c.service == 2 then take(4, {{"ee", 4}}) end
  if stream or c.service == 6 then take(4, {{"stream_number", 4}}) end
  if ((c.op == 2 or c.op == 3 or c.op == 5) and (first or stream)) or (c.op == 4 and stream) then
    take(16, {{"va", 8}, {"mh", 4}, {"va_length", 4}})
  end
  if c.op == 3 and stream then take(16, {{"read.msn", 4}, {"read.sink", 4}, {"read.offset", 8}}) end
  if c.op == 5 then
    take(20, {{"atomic.op", 1}, {"", 3}, {"atomic.operand1", 8}, {"atomic.operand2", 8}})
  end
  if bit32.btest(c.flags, 0x40) and tvb:len() >= at + 4 then
    local sub = tree:add(f["idata"], tvb(at, 4))
    if c.to.form_b then
      sub:add(f["idata.offset"], tvb(at, 4))
    else
      sub:add(f["idata.pool"], tvb(at, 4))
      sub:add(f["idata.element"], tvb(at, 4))
    end
    sub:add(f["idata.bytes"], tvb(at, 4))
    at = at + 4
  end
  if c.op == 1 and last then take(4, {{"dereg", 4}}) end
  if (c.op == 0x10 or c.op == 0x11) and tvb:len() >= at + 8 then
    dissect_ack(tvb(at):tvb(), tree)
    at = tvb:len()
  end
  if at ~= tvb:len() then tree:add_proto_expert_info(bad) end
end

local UNKNOWN = {channel = 255}

local function dissect_mac_header(tvb, tree, c)
  add_all(tree, tvb, 0, {{"version", 1}, {"pos", 1}})
  tree:add(f["sl"], tvb(0, 1))
  tree:add(f["op"], tvb(1, 1))
  for _, name in ipairs({
    "ack_request", "idata", "solicited", "global", "packet_crc", "retransmission", "pad",
  }) do
    tree:add(f["flags." .. name], tvb(2, 1))
  end
  add_all(tree, tvb, 3, {{"ext_words", 1}, {"dlid", 2}, {"slid", 2}, {"service", 4}, {"sqpn", 4},
                         {"psn", 4}, {"csn", 2}, {"payload_bytes", 2}, {"partition", 2}, {"lcn", 2}})
  tree:add(f["stripe"], tvb(8, 4))
  tree:add(f["dqpn"], tvb(8, 4))
  tree:add(f["channel"], tvb(8, 4), c.to.channel):set_generated()
end

-- Dissects one cell, or the first flit of one. Returns its text for the info column.
local function dissect_cell(tvb, tree)
  if tvb:len() < 28 then
    tree:add_proto_expert_info(bad)
    return "short cell"
  end
  local c = {
    pos = tvb(1, 1):bitfield(0, 2), op = tvb(1, 1):bitfield(2, 6), flags = tvb(2, 1):uint(),
    service = tvb(8, 1):bitfield(0, 4),
  }
  local bytes, slid = tvb(22, 2):uint(), tvb(6, 2):uint()
  -- Both ends of a pair are on one channel; the receiver chooses the idata form.
  local from = ends[slid .. ":" .. tvb(13, 3):uint()] or UNKNOWN
  c.to = ends[tvb(4, 2):uint() .. ":" .. tvb(9, 3):uint()] or {channel = from.channel}
  local what = (SERVICE[c.service] or "?") .. " " .. (OP[c.op] or "?")
  local sub = tree:add(tvb(), "Cell: " .. what .. " " .. POS[c.pos])
  dissect_mac_header(tvb, sub, c)
  local at = 28 + 4 * tvb(3, 1):uint()
  if at > tvb:len() then
    sub:add_proto_expert_info(bad)
    return what
  end
  if at > 28 then dissect_extensions(tvb(28, at - 28):tvb(), sub, c) end
  local here = math.min(bytes, tvb:len() - at)
  if here > 0 then
    local payload = tvb(at, here)
    local info
    if c.op == 0x18 and c.service == 15 then
      info = dissect_mgmt(payload:tvb(), sub, slid)
    elseif c.op <= 1 and c.pos >= 2 then
      info = dissect_message(payload:tvb(), sub)
    end
    if info then
      what = info
    else
      sub:add(f["payload"], payload)
    end
  end
  at = at + bytes + c.flags % 4
  if bit32.btest(c.flags, 0x08) and tvb:len() >= at + 4 then
    sub:add(f["packet_crc"], tvb(at, 4))
    at = at + 4
  end
  if tvb:len() == at + 4 then sub:add(f["cell_crc"], tvb(at, 4)) end
  return what
end

local function dissect_flit(tvb, tree, pinfo)
  local kind, ctl = tvb(0, 1):bitfield(0, 4), tvb(1, 1):uint()
  local sub = tree:add(tvb(), "Flit: " .. (FLIT[kind] or kind))
  sub:add(f["flit.type"], tvb(0, 1))
  sub:add(f["flit.vl"], tvb(0, 1))
  for _, name in ipairs({"sof", "eof", "header_crc", "cell_crc_head"}) do
    sub:add(f["flit." .. name], tvb(1, 1))
  end
  add_all(sub, tvb, 2, {{"flit.size", 2}, {"flit.lsn", 2}, {"flit.ack", 2}, {"flit.credit_vl", 4},
                        {"flit.crc", 4}})
  sub:add(f["flit.credit"], tvb(8, 4))
  if tvb:len() == 16 then return FLIT[kind] or "?" end
  local payload = tvb(16):tvb()
  if kind == 4 then return dissect_init(payload, sub, pinfo) end
  if kind == 0 and bit32.btest(ctl, 0x80) then return dissect_cell(payload, sub) end
  sub:add(f["payload"], payload())
  return (FLIT[kind] or "?") .. " (continued)"
end

function proto.dissector(tvb, pinfo, tree)
  pinfo.cols.protocol = "splitnic"
  local top = tree:add(proto, tvb())
  local at, info, times = 0, {}, {}
  while tvb:len() - at >= 16 and tvb(at, 4):uint() ~= 0 do
    local size = 16 + tvb(at + 2, 2):uint()
    if at == 0 and tvb(0, 1):uint() >= 0x80 then break end  -- belongs to the session layer
    if size > tvb:len() - at then
      top:add_proto_expert_info(bad)
      break
    end
    local what = dissect_flit(tvb(at, size):tvb(), top, pinfo)
    if not times[what] then info[#info + 1] = what end
    times[what] = (times[what] or 0) + 1
    at = at + size
  end
  if at < tvb:len() then top:add(f["filler"], tvb(at)) end
  for i, what in ipairs(info) do
    if times[what] > 1 then info[i] = times[what] .. " x " .. what end
  end
  pinfo.cols.info = table.concat(info, ", ")
  return tvb:len()
end

-- UDP: port 7471 to 7478, one per queue, with a flit that fits, or anywhere an INIT, which claims the conversation.
local function is_known(port) return port >= 7471 and port <= 7478 end
local function looks_like(tvb, pinfo, tree)
  if tvb:len() < 16 then return false end
  local kind, size = tvb(0, 1):bitfield(0, 4), tvb(2, 2):uint()
  if kind > 5 or 16 + size > tvb:len() or (kind == 0 or kind == 4) ~= (size > 0) then return false end
  local is_init = kind == 4 and size == 72 and tvb(16, 1):uint() == 1 and STEP[tvb(17, 1):uint()]
  if is_init then
    pinfo.conversation = proto
  elseif not is_known(pinfo.src_port) and not is_known(pinfo.dst_port) then
    return false
  end
  proto.dissector(tvb, pinfo, tree)
  return true
end
proto:register_heuristic("udp", looks_like)
DissectorTable.get("wtap_encap"):add(wtap.USER0, proto)
