-- Flits (docs/protocol/flit.md).
local use = ...
local registry, crc32c = use("registry"), use("crc32c")
local f, field, visit = registry.f, registry.field, registry.context
local link_init, cell, lane = use("link_init"), use("cell"), use("lane")

local FLIT = {[0] = "DATA", "LACK", "LNAK", "CREDIT", "INIT", "IDLE"}
field("uint8", "flit.type", "Flit type", base.DEC, FLIT, 0xF0)
field("uint8", "flit.lane", "Lane", base.DEC, nil, 0x0F)
field("bool", "flit.sof", "First of a cell", 8, nil, 0x80)
field("bool", "flit.eof", "Last of a cell", 8, nil, 0x40)
field("bool", "flit.header_crc", "CRC covers the header only", 8, nil, 0x20)
field("bool", "flit.cell_crc_head", "Cell CRC covers the head only", 8, nil, 0x10)
field("uint16", "flit.size", "Size")
field("uint16", "flit.lsn", "Link sequence number")
field("uint16", "flit.ack", "Acknowledged link sequence number")
field("uint32", "flit.credit_lane", "Credit lane", base.DEC, nil, 0xF0000000)
field("uint32", "flit.credit_limit", "Credit limit", base.DEC, nil, 0x00FFFFFF)
field("uint32", "flit.crc", "Flit CRC", base.HEX)
field("bytes", "filler", "Filler")

local flit = {}

local function dissect_header(tvb, at, tree)
  tree:add(f["flit.type"], tvb(at, 1))
  tree:add(f["flit.lane"], tvb(at, 1))
  for _, name in ipairs({"sof", "eof", "header_crc", "cell_crc_head"}) do
    tree:add(f["flit." .. name], tvb(at + 1, 1))
  end
  registry.add_all(tree, tvb, at + 2, {{"flit.size", 2}, {"flit.lsn", 2}, {"flit.ack", 2}, {"flit.credit_lane", 4}, {"flit.crc", 4}})
  tree:add(f["flit.credit_limit"], tvb(at + 8, 4))
end

local function is_crc_right(tvb, at, size, covers_header)
  local covered = tvb:raw(at, 12)
  if not covers_header then covered = covered .. tvb:raw(at + 16, size) end
  return crc32c(covered) == tvb(at + 12, 4):uint()
end

local function is_crc_wrong(tvb, at, size, covers_header)
  local is_long = not covers_header and size > 256
  return (visit.checks_long_crcs or not is_long) and not is_crc_right(tvb, at, size, covers_header)
end

-- A cell is shown in the flit that completes it.
local function dissect_data(tvb, number, lsn, ack, ctl, tree)
  local is_full_profile, is_first, is_last, whole = not bit32.btest(ctl, 0x20), bit32.btest(ctl, 0x80), bit32.btest(ctl, 0x40), tvb
  if is_full_profile then
    whole = lane.take(tvb, tree, number, lsn, is_first, is_last)
  elseif not (is_first and is_last) then
    whole = lane.take_fragment(tvb, tree, number, lsn, 4 * ack, is_first, is_last)
  end
  return whole and cell.dissect(whole, tree, bit32.btest(ctl, 0x10)) or "DATA (part of a cell)"
end

-- Dissects the flit at `at`. Returns its length and its text for the info column; nil and the text if the walk over the
-- datagram ends with it.
function flit.dissect(tvb, at, top)
  local kind, ctl, size = tvb(at, 1):bitfield(0, 4), tvb(at + 1, 1):uint(), tvb(at + 2, 2):uint()
  local name = FLIT[kind] or "flit?"
  local has_all = 16 + size <= tvb:len() - at
  local tree = top:add(tvb(at, has_all and 16 + size or tvb:len() - at), "Flit: " .. name)
  dissect_header(tvb, at, tree)
  if not has_all then
    if tvb:reported_len() > tvb:len() then
      registry.note(tree, "truncated", "The capture has only the begin of the datagram")
    else
      registry.refuse(tree, "flit.size")
    end
    return nil, name .. "?"
  end
  if is_crc_wrong(tvb, at, size, bit32.btest(ctl, 0x20)) then
    registry.refuse(tree, "flit.crc")
    return nil, name .. "?"
  end
  if kind > 5 then
    registry.refuse(tree, "flit.type")
  elseif (size > 0) ~= (kind == 0 or kind == 4) then
    registry.refuse(tree, "flit.payload")
  elseif size > 0 then
    local payload = tvb(at + 16, size):tvb()
    if kind == 4 then
      name = link_init.dissect(payload, tree)
      if name == "INIT ready" then lane.reset() end
    else
      name = dissect_data(payload, tvb(at, 1):bitfield(4, 4), tvb(at + 4, 2):uint(), tvb(at + 6, 2):uint(), ctl, tree)
    end
    visit.cell = visit.cell + 1
  elseif kind == 2 then
    registry.note(tree, "nak", "LNAK: flits are retransmitted")
  end
  return 16 + size, name
end

-- The datagram of a control cell (docs/protocol/path.md), an INIT or IDLE; nil if it is something else.
function flit.of_path(tvb, parent)
  local kind = tvb and tvb:len() >= 16 and tvb(0, 1):bitfield(0, 4)
  if kind ~= 4 and kind ~= 5 then return nil end
  local used, text = flit.dissect(tvb, 0, parent)
  if used and used < tvb:len() then parent:add(f["filler"], tvb(used)) end
  return "path: " .. text
end

-- Whether a flit may begin at `at`.
function flit.begins(tvb, at)
  local kind, size = tvb(at, 1):bitfield(0, 4), tvb(at + 2, 2):uint()
  return kind <= 5 and 16 + size <= tvb:reported_len() - at and (kind == 0 or kind == 4) == (size > 0)
end

-- The next place behind `at` where a flit with a right CRC begins, or nil.
function flit.next_one(tvb, at)
  for place = at + 4, tvb:len() - 16, 4 do
    local size = tvb(place + 2, 2):uint()
    if flit.begins(tvb, place) and 16 + size <= tvb:len() - place and
       is_crc_right(tvb, place, size, bit32.btest(tvb(place + 1, 1):uint(), 0x20)) then
      return place
    end
  end
end

return flit
