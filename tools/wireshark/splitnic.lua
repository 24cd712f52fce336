-- Wireshark dissector of the splitnic fabric (docs/wireshark.md); the formats are those of docs/protocol, names are
-- spelt as there. It reads files of --capture (link type USER0), and UDP ports 7471 to 7478 (other ports: from the
-- first INIT on). It loads the other files of its folder: to have it in Wireshark always, write one line
--   dofile("/usr/share/splitnic/wireshark/splitnic.lua")
-- into a file of Wireshark's folder for plugins, as the package does.
--   tshark -X lua_script:tools/wireshark/splitnic.lua -r F.pcapng -Y icmp

local folder = debug.getinfo(1, "S").source:match("^@(.*[/\\])") or ""
local loaded = {}
local function use(name)
  if loaded[name] == nil then loaded[name] = assert(loadfile(folder .. name .. ".lua"))(use) end
  return loaded[name]
end

local registry = use("registry")
local proto, f, visit = registry.proto, registry.f, registry.context
local flit, session, link_init = use("flit"), use("session"), use("link_init")
local stateful = {registry, use("connection"), use("packet"), use("sequence"), use("exchange"),
                  use("lane")}
registry.finish()

proto.prefs.long_crc = Pref.bool("Check long CRCs", false, "Check CRCs that cover more than 256 bytes, which takes time")

function proto.init()
  for _, one in ipairs(stateful) do one.reset() end
end

-- "3 x IDLE, CONNECT_REQ": each text once, in the order of the datagram.
local function summary(texts)
  local order, times = {}, {}
  for _, text in ipairs(texts) do
    if not times[text] then order[#order + 1] = text end
    times[text] = (times[text] or 0) + 1
  end
  for i, text in ipairs(order) do
    if times[text] > 1 then order[i] = times[text] .. " x " .. text end
  end
  return table.concat(order, ", ")
end

-- The flits of a datagram; returns where the filler begins. Over UDP the kernel may hand several datagrams of one call to
-- a capture as one: then the next one begins where the filler ends.
local function walk(tvb, top, texts)
  local at, filler = 0, 0
  while tvb:len() - at >= 16 do
    if tvb(at, 4):uint() ~= 0 then
      local used, text = flit.dissect(tvb, at, top)
      texts[#texts + 1] = text
      if not used then return at end
      at = at + used
      filler = at
    else
      at = visit.is_udp and flit.next_one(tvb, at) or nil
      if not at then break end
    end
  end
  return filler
end

function proto.dissector(tvb, pinfo, tree)
  visit.pinfo, visit.root, visit.number, visit.is_visited, visit.cell = pinfo, tree, pinfo.number, pinfo.visited, 0
  visit.is_udp = pinfo.dst_port > 0  -- records of --capture have no ports
  visit.source = tostring(pinfo.src) .. ":" .. pinfo.src_port  -- inner protocols change these
  visit.checks_long_crcs = proto.prefs.long_crc
  local top, texts, at = tree:add(proto, tvb()), {}, 0
  if tvb:len() > 0 and tvb(0, 1):uint() >= 0x80 then
    texts[1] = session.dissect(tvb, top)
    at = tvb:len()
  else
    at = walk(tvb, top, texts)
  end
  if at < tvb:len() then top:add(f["filler"], tvb(at)) end
  -- An inner protocol may have locked its text.
  pinfo.cols.info:clear_fence()
  pinfo.cols.protocol:clear_fence()
  pinfo.cols.protocol = "splitnic"
  pinfo.cols.info = summary(texts)
  return tvb:len()
end

local function is_known(port) return port >= 7471 and port <= 7478 end

-- UDP: ports 7471 to 7478, one per queue, with a flit or session datagram that fits; or anywhere an INIT, which claims
-- the conversation.
local function looks_like(tvb, pinfo, tree)
  if tvb:len() < 16 then return false end
  local is_init = link_init.begins(tvb)
  if not is_init then
    if not is_known(pinfo.src_port) and not is_known(pinfo.dst_port) then return false end
    if not flit.begins(tvb, 0) and not session.begins(tvb) then return false end
  else
    pinfo.conversation = proto
  end
  proto.dissector(tvb, pinfo, tree)
  return true
end
proto:register_heuristic("udp", looks_like)
DissectorTable.get("wtap_encap"):add(wtap.USER0, proto)
