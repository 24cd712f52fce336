-- The extensions of a cell (docs/protocol/cell.md), with the acknowledgement (docs/protocol/ack.md) and idata
-- (docs/protocol/data.md).
local use = ...
local registry, rules, connection = use("registry"), use("cell_rules"), use("connection")
local f, field = registry.f, registry.field

field("bytes", "cell.gnh", "Global network header")
field("uint16", "cell.gnh.class", "Traffic class", base.HEX, nil, 0x0FF0)
field("uint16", "cell.gnh.length", "Payload length")
field("uint8", "cell.gnh.next_header", "Next header")
field("uint8", "cell.gnh.hop_limit", "Hop limit")
field("ipv6", "cell.gnh.source", "Source")
field("ipv6", "cell.gnh.destination", "Destination")
field("uint32", "cell.ee", "EE context", base.HEX, nil, 0x00FFFFFF)
field("uint32", "cell.stream", "Byte stream number")
field("uint64", "cell.va", "Virtual address", base.HEX)
field("uint32", "cell.mh", "Memory handle", base.HEX)
field("uint32", "cell.length", "Length of the packet")
field("uint32", "cell.read.msn", "Read MSN")
field("uint32", "cell.read.sink_handle", "Read sink tag", base.HEX)
field("uint64", "cell.read.sink_offset", "Read sink offset", base.HEX)
field("uint8", "cell.atomic.op", "Fetch operation", base.DEC, {"compare_swap", "fetch_add", "swap"})
field("uint64", "cell.atomic.operand1", "Operand 1", base.HEX)
field("uint64", "cell.atomic.operand2", "Operand 2", base.HEX)
field("uint32", "cell.idata", "idata", base.HEX)
field("uint32", "idata.pool", "Pool", base.DEC, nil, 0xFF000000)
field("uint32", "idata.element", "Element", base.DEC, nil, 0x00FF0000)
field("uint32", "idata.offset", "Offset")
field("uint32", "idata.size", "Bytes stored")
field("uint32", "cell.dereg", "Tag to deregister", base.HEX)
field("uint8", "ack.code", "Code", base.HEX, rules.ack_code)
field("uint24", "ack.msn", "Completed packets")
field("uint16", "ack.credits", "Receive credits")
field("uint16", "ack.detail", "Detail")
field("uint16", "ack.cumulative", "Cumulative LCN")
field("uint8", "ack.bitmap_words", "Bitmap words")
field("uint8", "ack.hold", "Held back, 10 us")
field("bytes", "ack.bitmap", "Bitmap")
field("uint16", "ack.arrived", "Arrived LCN")

local FIELDS = {
  ee = {{"cell.ee", 4}}, stream = {{"cell.stream", 4}},
  va_mh = {{"cell.va", 8}, {"cell.mh", 4}, {"cell.length", 4}},
  read = {{"cell.read.msn", 4}, {"cell.read.sink_handle", 4}, {"cell.read.sink_offset", 8}},
  atomic = {{"cell.atomic.op", 1}, {"", 3}, {"cell.atomic.operand1", 8}, {"cell.atomic.operand2", 8}},
  dereg = {{"cell.dereg", 4}},
}

local GNH = {{"cell.gnh.class", 2}, {"", 2}, {"cell.gnh.length", 2}, {"cell.gnh.next_header", 1}, {"cell.gnh.hop_limit", 1},
             {"cell.gnh.source", 16}, {"cell.gnh.destination", 16}}
local function add_gnh(tvb, at, tree) registry.add_all(tree:add(f["cell.gnh"], tvb(at, 40)), tvb, at, GNH) end

-- The receiver chooses form A or B; c.idata gets the place in its pools.
local function add_idata(range, parent, c)
  local tree, value = parent:add(f["cell.idata"], range), range:uint()
  local size = value % 65536
  c.idata = {size = size == 0 and 65536 or size}
  if connection.idata_form(c) == "B" then
    c.idata.offset = math.floor(value / 65536) * 64
    tree:add(f["idata.offset"], range, c.idata.offset)
  else
    c.idata.pool, c.idata.element = range:bitfield(0, 8), range:bitfield(8, 8)
    tree:add(f["idata.pool"], range)
    tree:add(f["idata.element"], range)
  end
  tree:add(f["idata.size"], range, c.idata.size)
end

local function add_bitmap(tvb, at, words, cumulative, tree)
  local map = tree:add(f["ack.bitmap"], tvb(at, 4 * words))
  for i = 0, 32 * words - 1 do
    local byte = tvb(at + math.floor(i / 8), 1)
    if byte:bitfield(i % 8, 1) == 1 then map:add(f["ack.arrived"], byte, (cumulative + 2 + i) % 65536) end
  end
end

local function add_ack(tvb, at, bytes, tree, c)
  local code = tvb(at, 1):uint()
  registry.add_all(tree, tvb, at, {{"ack.code", 1}, {"ack.msn", 3}, {"ack.credits", 2}, {"ack.detail", 2}})
  if bytes >= 12 then
    local cumulative, words = tvb(at + 8, 2):uint(), tvb(at + 10, 1):uint()
    registry.add_all(tree, tvb, at + 8, {{"ack.cumulative", 2}, {"ack.bitmap_words", 1}, {"ack.hold", 1}})
    if words > 0 then add_bitmap(tvb, at + 12, words, cumulative, tree) end
  end
  if c.op == 0x11 then
    c.text = c.text .. " " .. rules.ack_code[code]
    registry.note(tree, "nak", string.format("NAK of PSN %d: %s", c.psn, rules.ack_code[code]))
  end
end

local extensions = {}

-- REQUIRES: rules.cause() found nothing. Sets c.va, c.length and c.idata where the cell has them.
function extensions.dissect(tvb, tree, c)
  local at, stop = 28, 28 + 4 * c.ext_words
  for _, one in ipairs(rules.extensions(c)) do
    local name, bytes = one[1], one[2]
    if name == "ack" then
      add_ack(tvb, at, stop - at, tree, c)
    elseif name == "idata" then
      add_idata(tvb(at, 4), tree, c)
    elseif name == "gnh" then
      add_gnh(tvb, at, tree)
    else
      registry.add_all(tree, tvb, at, FIELDS[name])
    end
    if name == "va_mh" then c.va, c.length = tvb(at, 8):uint64(), tvb(at + 12, 4):uint() end
    at = at + bytes
  end
end

return extensions
