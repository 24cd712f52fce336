-- Frames (docs/protocol/data.md): the virtio-net header, and Ethernet for Wireshark's own dissectors.
local use = ...
local registry, connection = use("registry"), use("connection")
local f, field, visit = registry.f, registry.field, registry.context

field("uint8", "vnet.flags", "Flags", base.HEX)
field("uint8", "vnet.gso_type", "Segmentation", base.DEC, {[0] = "none", "TCP over IPv4", [4] = "TCP over IPv6", [5] = "UDP"}, 0x7F)
field("bool", "vnet.ecn", "Segmentation with ECN", 8, nil, 0x80)
field("uint16", "vnet.hdr_len", "Length of headers")
field("uint16", "vnet.gso_size", "Bytes per segment")
field("uint16", "vnet.csum_start", "Checksum from")
field("uint16", "vnet.csum_offset", "Checksum at")
field("uint32", "frame.pool", "Pool")
field("uint32", "frame.element", "Element")

local VNET = {{"hdr_len", 2}, {"gso_size", 2}, {"csum_start", 2}, {"csum_offset", 2}}
local GSO = {[0] = true, [1] = true, [4] = true, [5] = true}
local ethernet = Dissector.get("eth_withoutfcs")
local frame = {}

-- Inner protocols write the columns of the packet; what they wrote is the text of the frame. A malformed frame is remarked by
-- Wireshark itself, and ends nothing here.
local function dissect_ethernet(tvb)
  local columns = visit.pinfo.cols
  columns.info:clear_fence()
  columns.protocol:clear_fence()
  columns.info = ""
  columns.protocol = ""
  pcall(ethernet.call, ethernet, tvb, visit.pinfo, visit.root)
  return "[" .. tostring(columns.protocol) .. "] " .. tostring(columns.info)
end

function frame.dissect(tvb, parent)
  if tvb:len() < 12 + 14 then return nil end
  local tree, at = parent:add(tvb(0, 12), "Frame of " .. tvb:len() - 12 .. " bytes"), 2
  tree:add(f["vnet.flags"], tvb(0, 1))
  tree:add(f["vnet.gso_type"], tvb(1, 1))
  tree:add(f["vnet.ecn"], tvb(1, 1))
  for _, one in ipairs(VNET) do
    tree:add_le(f["vnet." .. one[1]], tvb(at, one[2]))
    at = at + one[2]
  end
  return dissect_ethernet(tvb(12):tvb())
end

-- A write of a connection that is not in the capture may be anything.
local function looks_like(tvb)
  return tvb:len() >= 26 and tvb(0, 1):uint() <= 3 and GSO[tvb(1, 1):uint() % 128] and tvb(10, 2):uint() == 0
end

-- The element that the address of the write names, and whether idata names the same one.
local function add_element(tree, c)
  local owner = connection.receiver(c)
  local ref, element = connection.element_at(owner, c.va)
  if not ref then return end
  tree:add(f["frame.pool"], ref):set_generated()
  tree:add(f["frame.element"], element):set_generated()
  local named = c.idata
  if not named then return end
  if named.offset then named.pool, named.element = ref, named.offset / owner.pools[ref].element_size end
  if named.pool ~= ref or named.element ~= element then
    registry.note(tree, "refusal", "idata names another element than the address of the write")
  end
end

-- A whole packet of RDMA writes.
function frame.of_write(tvb, tree, c)
  if c.channel == 255 and not looks_like(tvb) then return nil end
  if c.va then add_element(tree, c) end
  return frame.dissect(tvb, tree)
end

return frame
