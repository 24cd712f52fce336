-- Which operation each service has, which extensions it calls for, and what a receiver refuses (docs/protocol/cell.md).
local rules = {}

-- Per operation: its name, and a letter per service 0 to 6 and 15: m several cells, s one cell, - not allowed.
rules.op = {
  [0x00] = {"SEND", "mmms-m--"}, [0x01] = {"SEND_DEREG", "m-m--m--"}, [0x02] = {"RDMA_WRITE", "mmss-m--"},
  [0x03] = {"RDMA_READ_REQ", "s-s--s--"}, [0x04] = {"RDMA_READ_RESP", "m-s--m--"}, [0x05] = {"FETCHOP_REQ", "s-s-----"},
  [0x06] = {"FETCHOP_RESP", "s-s-----"}, [0x08] = {"RAW", "----s---"}, [0x09] = {"ISCSI_PDU", "------m-"},
  [0x10] = {"ACK", "s-s--s--"}, [0x11] = {"NAK", "s-s--s--"}, [0x12] = {"TERMINATE", "s----s--"}, [0x18] = {"MGMT", "-------s"},
}
rules.service = {[0] = "RC", "UC", "RD", "UD", "Raw", "STREAM", "iSCSI", [15] = "MGMT"}
rules.ack_code = {
  [0x00] = "ack", [0x20] = "rnr", [0x60] = "sequence", [0x61] = "invalid_request", [0x62] = "remote_access",
  [0x63] = "remote_operational", [0x64] = "invalid_rd_request",
}
local PAYLOAD = {[3] = {0, 0}, [5] = {0, 0}, [6] = {8, 8}, [0x10] = {0, 0}, [0x11] = {0, 0}, [0x12] = {48, 48}, [0x18] = {0, 1024}}
local STREAM, ISCSI = 5, 6

local function is_ack(c) return c.op == 0x10 or c.op == 0x11 end
local function has(c, flag) return bit32.btest(c.flags, flag) end

-- The names and bytes of the extensions that a cell calls for, in their order; "ack" stands last, with what is left.
function rules.extensions(c)
  local list = {}
  local function add(is_called_for, name, bytes)
    if is_called_for then list[#list + 1] = {name, bytes} end
  end
  local is_first, is_last, is_stream = c.pos >= 2, c.pos % 2 == 1, c.service == STREAM
  add(has(c, 0x10), "gnh", 40)
  add(c.service == 2, "ee", 4)
  add(is_stream or c.service == ISCSI, "stream", 4)
  add((c.op == 2 or c.op == 3 or c.op == 5) and (is_first or is_stream) or c.op == 4 and is_stream, "va_mh", 16)
  add(c.op == 3 and is_stream, "read", 16)
  add(c.op == 5, "atomic", 20)
  add(has(c, 0x40), "idata", 4)
  add(c.op == 1 and is_last, "dereg", 4)
  add(is_ack(c), "ack", 8)
  return list
end

local function is_position_wrong(c, letter)
  if letter == "s" and c.pos ~= 3 then return true end
  return not is_ack(c) and (c.csn == 0) ~= (c.pos >= 2)
end

local function are_flags_wrong(c)
  local has_idata = c.op <= 2
  return has(c, 0x40) and not has_idata or has(c, 0x08) and (c.pos % 2 == 0 or is_ack(c))
end

-- ACKX from `at` to the end of the extensions.
local function is_ack_wrong(tvb, c, at, bytes)
  local code = tvb(at, 1):uint()
  if not rules.ack_code[code] or (code == 0) ~= (c.op == 0x10) then return true end
  if bytes == 8 then return false end
  return c.service ~= 0 or bytes < 12 or tvb(at + 10, 1):uint() > 64 or bytes ~= 12 + 4 * tvb(at + 10, 1):uint()
end

local function are_extensions_wrong(tvb, c)
  local at, stop = 28, 28 + 4 * c.ext_words
  for _, one in ipairs(rules.extensions(c)) do
    local name, bytes = one[1], one[2]
    if at + bytes > stop then return true end
    if name == "gnh" and tvb(at, 1):bitfield(0, 4) ~= 6 then return true end
    if name == "atomic" and (tvb(at, 1):uint() < 1 or tvb(at, 1):uint() > 3) then return true end
    if name == "ack" then return is_ack_wrong(tvb, c, at, stop - at) end
    at = at + bytes
  end
  return at ~= stop
end

-- An INIT of a path may be a probe of it, as long as the path takes (docs/protocol/path.md).
local function is_path_init(tvb, c)
  local has_no_more = c.ext_words == 0 or has(c, 0x10) and c.ext_words == 10  -- the GNH, to another subnet
  return c.op == 0x18 and c.dqpn == 0 and c.sqpn == 0 and has_no_more and c.bytes >= 88
    and tvb(28 + 4 * c.ext_words, 1):bitfield(0, 4) == 4
end

local function is_length_wrong(tvb, c)
  local bytes = 28 + 4 * c.ext_words + c.bytes + c.flags % 4 + (has(c, 0x08) and 4 or 0) + 4
  local bounds = not is_path_init(tvb, c) and PAYLOAD[c.op] or {0, 65532}
  return bytes ~= tvb:len() or (c.bytes + c.flags) % 4 ~= 0 or c.bytes < bounds[1] or c.bytes > bounds[2]
end

-- The cause for which a receiver refuses the cell, or nil. `is_crc_right` is a function.
function rules.cause(tvb, c, is_crc_right)
  if tvb:len() < 32 or 32 + 4 * c.ext_words > tvb:len() then return "short" end
  if not is_crc_right() then return "crc" end
  if c.version ~= 1 then return "version" end
  local op, column = rules.op[c.op], c.service == 15 and 8 or c.service + 1
  local letter = op and rules.service[c.service] and op[2]:sub(column, column) or "-"
  if letter == "-" then return "op" end
  if is_position_wrong(c, letter) then return "position" end
  if are_flags_wrong(c) then return "flags" end
  if are_extensions_wrong(tvb, c) then return "extensions" end
  if is_length_wrong(tvb, c) then return "length" end
end

return rules
