-- Packets of several cells: their payload in the order of CSN, once all cells are in the capture.
local use = ...
local registry = use("registry")
local f, field, visit = registry.f, registry.field, registry.context

field("framenum", "packet.cell_in", "A cell of this packet in", base.NONE)
field("uint32", "packet.cells", "Cells of this packet")

-- Packets of a flow that are remembered behind the newest: those whose cells may be retransmitted.
local KEPT = 4096

local packet, flows = {}, {}
function packet.reset() flows = {} end

-- The record of the packet that the cell belongs to. PSN wraps: one that the flow has left behind is forgotten.
local function record_of(c)
  local key = c.slid .. ":" .. c.sqpn .. ">" .. c.dlid .. ":" .. c.dqpn
  local flow = flows[key]
  if not flow then
    flow = {newest = c.psn, packets = {}}
    flows[key] = flow
  end
  local ahead = (c.psn - flow.newest) % 0x1000000
  if ahead > KEPT and ahead < 0x800000 then flow.packets = {} end
  if ahead < 0x800000 then
    for step = 1, math.min(ahead, KEPT) do flow.packets[(flow.newest - KEPT + step) % 0x1000000] = nil end
    flow.newest = c.psn
  end
  local record = flow.packets[c.psn]
  if not record then
    record = {cells = {}, frames = {}, count = 0}
    flow.packets[c.psn] = record
  end
  return record
end

local function put(record, c, bytes)
  if record.is_complete or record.cells[c.csn] then return nil end
  record.cells[c.csn], record.frames[c.csn] = bytes, visit.number
  record.count = record.count + 1
  if c.csn == 0 then record.va = c.va end
  if c.idata then record.idata = c.idata end
  if c.pos == 1 then record.last = c.csn end
  if record.last and record.count == record.last + 1 then
    record.is_complete = true
    local whole = {
      bytes = table.concat(record.cells, "", 0, record.last), frames = record.frames, last = record.last, va = record.va,
      idata = record.idata,
    }
    record.cells, record.frames = {}, {}
    return whole
  end
end

-- The packet that the cell completes as a Tvb, or nil. `tvb` is nil for a cell without payload. An address and idata of other
-- cells of the packet become the cell's.
function packet.take(tvb, tree, c)
  if c.pos == 3 then return tvb end
  local whole = registry.once("packet", function() return put(record_of(c), c, tvb and tvb:raw() or "") end)
  if not whole then return nil end
  c.va, c.idata = whole.va, whole.idata
  local reassembled = ByteArray.new(whole.bytes, true):tvb("Packet of " .. whole.last + 1 .. " cells")
  local sub = tree:add(f["packet.cells"], whole.last + 1):set_generated()
  for csn = 0, whole.last do sub:add(f["packet.cell_in"], whole.frames[csn]):set_generated() end
  return #whole.bytes > 0 and reassembled or nil
end

return packet
