-- Cells that are cut into flits (the full profile, docs/protocol/flit.md, P-LINK-21, P-LINK-22): put together by LSN, which grows
-- by one per DATA flit of a direction, over all lanes. Retransmissions have the numbers that their flits had. And fragments of the
-- speed profile (P-LINK-42), which count in their order only.
local use = ...
local registry = use("registry")
local f, field, visit = registry.f, registry.field, registry.context

field("bytes", "flit.payload", "Part of a cell")
field("framenum", "flit.part_in", "A flit of this cell in", base.NONE)
field("uint32", "flit.parts", "Flits of this cell")
field("uint16", "flit.cell", "Number of the cell")
field("uint32", "flit.before", "Bytes of the cell before this fragment")

-- Flits that are kept behind the newest of a direction, and those of the longest cell over 16 lanes.
local KEPT, LONGEST = 4096, 16 * 550

local lane, directions = {}, {}
local current = {}  -- the direction of a packet: the number of the packet and its flits
local interface = Field.new("frame.interface_id")
-- Also for `ready` of INIT, which begins new numbers.
function lane.reset() directions, current = {}, {} end

-- The flits of the direction that the packet has. The search for a field takes longer the more of the packet is decoded.
local function flits_of_direction()
  if current.number ~= visit.number then
    local info = interface()
    local key = table.concat({info and info.value or "", visit.pinfo.p2p_dir, visit.source}, " ")
    directions[key] = directions[key] or {}
    current = {number = visit.number, flits = directions[key]}
  end
  return current.flits
end

-- The flits of the cell that the flit with `lsn` belongs to, in order, or nil while one of them is missing.
local function parts_of(flits, lsn)
  local own, parts = flits[lsn], {}
  local at = lsn
  for _ = 1, LONGEST do
    local one = flits[at]
    if not one then return nil end
    if one.lane == own.lane then
      table.insert(parts, 1, one)
      if one.is_first then break end
    end
    at = (at - 1) % 65536
  end
  at = lsn
  for _ = 1, LONGEST do
    local one = flits[at]
    if not one then return nil end
    if one.lane == own.lane then
      if at ~= lsn then parts[#parts + 1] = one end
      if one.is_last then return parts[1].is_first and parts or nil end
    end
    at = (at + 1) % 65536
  end
end

-- A flit that comes again may complete its cell, where one of another lane was missing before. Numbers are used again after 65536.
local function put(one)
  local flits = flits_of_direction()
  local old = flits[one.lsn]
  if not old or old.bytes ~= one.bytes then
    flits[one.lsn], flits[(one.lsn - KEPT) % 65536] = one, nil
  elseif old.is_done then
    return nil
  end
  if one.is_first and one.is_last then return nil end
  local parts = parts_of(flits, one.lsn)
  if not parts then return nil end
  local whole, frames = {}, {}
  for i, part in ipairs(parts) do
    whole[i], frames[i], part.is_done = part.bytes, part.frame, true
  end
  return {bytes = table.concat(whole), frames = frames}
end

-- One cell of a direction at a time; what comes twice changes nothing.
local function put_fragment(one)
  local state = flits_of_direction()
  local cell = state.cut
  local is_of_cell = cell and cell.number == one.number and cell.lane == one.lane
  if is_of_cell and one.before < cell.bytes then return nil end
  if one.is_first then cell, is_of_cell = {number = one.number, lane = one.lane, bytes = 0, parts = {}, frames = {}}, true end
  if not is_of_cell or cell.bytes ~= one.before then
    state.cut = nil
    return nil
  end
  cell.parts[#cell.parts + 1], cell.frames[#cell.frames + 1], cell.bytes = one.bytes, one.frame, cell.bytes + #one.bytes
  state.cut = not one.is_last and cell or nil
  return one.is_last and {bytes = table.concat(cell.parts), frames = cell.frames} or nil
end

local function show(tvb, tree, whole)
  tree:add(f["flit.payload"], tvb())
  if not whole then return nil end
  local sub = tree:add(f["flit.parts"], #whole.frames):set_generated()
  for _, frame in ipairs(whole.frames) do sub:add(f["flit.part_in"], frame):set_generated() end
  return ByteArray.new(whole.bytes, true):tvb("Cell of " .. #whole.frames .. " flits")
end

-- The cell that a flit of the full profile completes as a Tvb, or nil. `tvb` is the flit's payload, `number` that of its lane.
function lane.take(tvb, tree, number, lsn, is_first, is_last)
  local whole = registry.once("lane", function()
    return put({lane = number, lsn = lsn, is_first = is_first, is_last = is_last, bytes = tvb:raw(), frame = visit.number})
  end)
  if is_first and is_last then return tvb end
  return show(tvb, tree, whole)
end

-- The same for a fragment: of the cell with this number, of which `before` bytes came before.
function lane.take_fragment(tvb, tree, number, cell, before, is_first, is_last)
  tree:add(f["flit.cell"], cell):set_generated()
  tree:add(f["flit.before"], before):set_generated()
  return show(tvb, tree, registry.once("lane", function()
    return put_fragment({lane = number, number = cell, before = before, is_first = is_first, is_last = is_last, bytes = tvb:raw(), frame = visit.number})
  end))
end

return lane
