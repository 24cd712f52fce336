-- Cells (docs/protocol/cell.md): header, extensions, and what their payload holds.
-- A datagram holds several cells, so a field occurs once per cell. splitnic.cell.channel occurs once in every cell
-- (255: the connection's set-up is not in the capture), so lists of -T fields go together.
local use = ...
local registry, crc32c, rules, extensions = use("registry"), use("crc32c"), use("cell_rules"), use("extensions")
local connection, packet, sequence = use("connection"), use("packet"), use("sequence")
local mgmt, smp, terminate, message, frame = use("mgmt"), use("smp"), use("terminate"), use("message"), use("frame")
local f, field, visit = registry.f, registry.field, registry.context

local POS = {[0] = "middle", "last", "first", "only"}
local OP = {}
for op, one in pairs(rules.op) do OP[op] = one[1] end
field("uint8", "cell.version", "Version", base.DEC, nil, 0xF0)
field("uint8", "cell.sl", "Service level", base.DEC, nil, 0x0F)
field("uint8", "cell.pos", "Position", base.DEC, POS, 0xC0)
field("uint8", "cell.op", "Operation", base.HEX, OP, 0x3F)
field("uint8", "cell.flags", "Flags", base.HEX)
field("bool", "cell.flags.ack_request", "A: acknowledgement requested", 8, nil, 0x80)
field("bool", "cell.flags.idata", "I: idata", 8, nil, 0x40)
field("bool", "cell.flags.solicited", "S: solicited", 8, nil, 0x20)
field("bool", "cell.flags.global", "G: global header", 8, nil, 0x10)
field("bool", "cell.flags.packet_crc", "P: packet CRC", 8, nil, 0x08)
field("bool", "cell.flags.retransmission", "R: retransmission", 8, nil, 0x04)
field("uint8", "cell.pad", "Pad bytes", base.DEC, nil, 0x03)
field("uint8", "cell.ext_words", "Extension words")
field("uint16", "cell.dlid", "Destination LID")
field("uint16", "cell.slid", "Source LID")
field("uint32", "cell.service", "Service", base.DEC, rules.service, 0xF0000000)
field("uint32", "cell.stripe", "Stripe", base.DEC, nil, 0x0F000000)
field("uint32", "cell.dqpn", "Destination QP", base.HEX, nil, 0x00FFFFFF)
field("uint32", "cell.sqpn", "Source QP", base.HEX, nil, 0x00FFFFFF)
field("uint32", "cell.psn", "PSN", base.DEC, nil, 0x00FFFFFF)
field("uint16", "cell.csn", "CSN")
field("uint16", "cell.payload_bytes", "Payload bytes")
field("uint16", "cell.partition", "Partition", base.HEX)
field("uint16", "cell.lcn", "LCN")
field("uint8", "cell.channel", "Channel")
field("bytes", "cell.payload", "Payload")
field("uint32", "cell.packet_crc", "Packet CRC", base.HEX)
field("uint32", "cell.crc", "Cell CRC", base.HEX)

local FLAGS = {"ack_request", "idata", "solicited", "global", "packet_crc", "retransmission"}
local cell = {}

local function add_header(tvb, tree, c)
  registry.add_all(tree, tvb, 0, {{"cell.version", 1}, {"cell.pos", 1}})
  tree:add(f["cell.sl"], tvb(0, 1))
  tree:add(f["cell.op"], tvb(1, 1))
  local flags = tree:add(f["cell.flags"], tvb(2, 1), bit32.band(c.flags, 0xFC))
  for _, name in ipairs(FLAGS) do flags:add(f["cell.flags." .. name], tvb(2, 1)) end
  registry.add_all(tree, tvb, 2, {
    {"cell.pad", 1}, {"cell.ext_words", 1}, {"cell.dlid", 2}, {"cell.slid", 2}, {"cell.service", 4}, {"cell.sqpn", 4},
    {"cell.psn", 4}, {"cell.csn", 2}, {"cell.payload_bytes", 2}, {"cell.partition", 2}, {"cell.lcn", 2},
  })
  tree:add(f["cell.stripe"], tvb(8, 4))
  tree:add(f["cell.dqpn"], tvb(8, 4))
  tree:add(f["cell.channel"], tvb(8, 4), c.channel):set_generated()
end

local function header_of(tvb)
  local c = {
    version = tvb(0, 1):bitfield(0, 4), pos = tvb(1, 1):bitfield(0, 2), op = tvb(1, 1):bitfield(2, 6), flags = tvb(2, 1):uint(),
    ext_words = tvb(3, 1):uint(), dlid = tvb(4, 2):uint(), slid = tvb(6, 2):uint(), service = tvb(8, 1):bitfield(0, 4),
    dqpn = tvb(9, 3):uint(), sqpn = tvb(13, 3):uint(), psn = tvb(17, 3):uint(), csn = tvb(20, 2):uint(), bytes = tvb(22, 2):uint(),
    lcn = tvb(26, 2):uint(),
  }
  c.from, c.to = connection.end_of(c.slid, c.sqpn, visit.number), connection.end_of(c.dlid, c.dqpn, visit.number)
  -- Both ends of a pair are on one channel.
  c.channel = c.to and c.to.channel or c.from and c.from.channel or 255
  c.text = (rules.service[c.service] or "?") .. " " .. (OP[c.op] or "?")
  return c
end

local function is_crc_right(tvb, c, covers_head)
  local covered = covers_head and 28 + 4 * c.ext_words or tvb:len() - 4
  if covered > 256 and not visit.checks_long_crcs then return true end
  return crc32c(tvb:raw(0, covered)) == tvb(tvb:len() - 4, 4):uint()
end

-- What a whole packet of Sends or of an RDMA write holds.
local function dissect_packet(tvb, tree, c)
  if c.op == 2 then return (c.channel ~= 0 or connection.has_one_channel(c)) and frame.of_write(tvb, tree, c) end
  return message.dissect(tvb, tree, c)
end

local function dissect_payload(tvb, tree, c)
  if c.op == 0x18 then
    -- Queue pair 0: a datagram of the path (docs/protocol/path.md).
    if c.dqpn == 0 and c.sqpn == 0 then return use("flit").of_path(tvb, tree) or mgmt.dissect(tvb, tree, c) end
    -- Queue pair 2: subnet management.
    if c.dqpn == 2 and c.sqpn == 2 then return smp.dissect(tvb, tree) end
    return mgmt.dissect(tvb, tree, c)
  end
  if c.op == 0x12 then return terminate.dissect(tvb, tree) end
  local is_packet = c.op <= 2 and c.service <= 1
  if not is_packet then return nil end
  local whole = packet.take(tvb, tree, c)
  return whole and dissect_packet(whole, tree, c)
end

-- Dissects a whole cell; is_head_covered: its CRC covers the head only. Returns the text for the info column.
function cell.dissect(tvb, parent, is_head_covered)
  if tvb:len() < 28 then
    registry.refuse(parent, "cell.short")
    return "cell?"
  end
  local c = header_of(tvb)
  local tree = parent:add(tvb(), "Cell: " .. c.text .. " " .. POS[c.pos])
  add_header(tvb, tree, c)
  local cause = rules.cause(tvb, c, function() return is_crc_right(tvb, c, is_head_covered) end)
  if cause then
    registry.refuse(tree, "cell." .. cause)
    return c.text .. "?"
  end
  extensions.dissect(tvb, tree, c)
  local at = 28 + 4 * c.ext_words
  sequence.check(tree, c)
  if c.bytes > 0 then tree:add(f["cell.payload"], tvb(at, c.bytes)) end
  local text = dissect_payload(c.bytes > 0 and tvb(at, c.bytes):tvb() or nil, tree, c)
  if bit32.btest(c.flags, 0x08) then tree:add(f["cell.packet_crc"], tvb(at + c.bytes + c.flags % 4, 4)) end
  tree:add(f["cell.crc"], tvb(tvb:len() - 4, 4))
  return text or c.text
end

return cell
