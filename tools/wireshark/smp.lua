-- SMPs: subnet management between two switches of a cable, and between a switch and a node (docs/protocol/subnet.md).
local use = ...
local registry, exchange = use("registry"), use("exchange")
local f, field = registry.f, registry.field

local METHOD = {"GET", "SET", "REPLY", "TRAP"}
local ATTRIBUTE = {"NODE", "TABLE", "MANAGER", "LIDS", "PORT", "POLICY", "LOAD"}
local STATUS = {[0] = "done", "refused", "stale", "bad"}
local STATE = {[0] = "down", "up", "held", "unset"}
local STAGE = {[0] = "none", "clear", "set"}
field("uint8", "smp.format", "Format")
field("uint8", "smp.method", "Method", base.DEC, METHOD)
field("uint8", "smp.attribute", "Attribute", base.DEC, ATTRIBUTE)
field("uint8", "smp.status", "Status", base.DEC, STATUS)
field("uint16", "smp.manager", "LID of the manager")
field("uint8", "smp.priority", "Priority of the manager")
field("uint64", "smp.transaction", "Transaction", base.HEX)
field("uint8", "smp.hops", "Hops")
field("uint8", "smp.hop", "Hop")
field("uint16", "smp.body_bytes", "Bytes of body")
field("bytes", "smp.route", "Route")
field("uint16", "smp.node.lid", "LID of the switch")
field("uint8", "smp.node.ports", "Ports")
field("uint8", "smp.node.name_bytes", "Bytes of the name")
field("uint32", "smp.node.changes", "Changes")
field("uint64", "smp.node.eui64", "EUI-64 of the switch", base.HEX)
field("uint32", "smp.node.check", "Check", base.HEX)
field("string", "smp.node.name", "Name")
field("uint8", "smp.port", "Port")
field("uint8", "smp.port.state", "State", base.DEC, STATE)
field("uint16", "smp.port.lid", "LID of the peer")
field("uint64", "smp.port.eui64", "EUI-64 of the peer", base.HEX)
field("uint8", "smp.table.input", "Input")
field("uint8", "smp.table.block", "Block")
field("uint8", "smp.table.stage", "Stage", base.DEC, STAGE)
field("uint8", "smp.table.parts", "Parts")
field("uint32", "smp.table.changes", "Changes")
field("uint32", "smp.table.check", "Check", base.HEX)
field("bytes", "smp.table.ports", "Ports of the LIDs")
field("uint16", "smp.lids.first", "First node")
field("uint16", "smp.lids.count", "Nodes")
field("uint32", "smp.lids.check", "Check", base.HEX)
field("uint16", "smp.lid", "LID of the port of a node")
field("uint8", "smp.lmc", "LMC")
field("uint16", "smp.policy.first", "Place of the part")
field("uint16", "smp.policy.count", "Bytes of the policy")
field("uint32", "smp.policy.check", "Check", base.HEX)
field("bytes", "smp.policy.data", "Part of the policy")
field("bytes", "smp.policy.lanes", "Lanes of the service levels")
field("uint8", "smp.policy.port", "Port with keys")
field("uint16", "smp.policy.key", "Key", base.HEX)
field("uint8", "smp.load.port", "Port")
field("uint64", "smp.load.cells", "Cells forwarded out of the port")

local SET, REPLY, TRAP = 2, 3, 4
local NODE, TABLE, LIDS, PORT, POLICY, LOAD = 1, 2, 4, 5, 6, 7
local NODE_BYTES, PORT_BYTES, TABLE_BYTES, BLOCK = 20, 12, 12, 256
local LIDS_BYTES, ENTRY_BYTES, ENTRIES = 8, 4, 64
local POLICY_BYTES, PART, POLICY_MAX, LEVELS = 8, 256, 1105, 16
local COUNT_BYTES = 9

-- A name begins with no dot, and has letters, digits and "._-".
local function is_node(tvb, at)
  local size = tvb:len() - at
  if size < NODE_BYTES then return false end
  local count, name_bytes = tvb(at + 2, 1):uint(), tvb(at + 3, 1):uint()
  if count > 32 or size ~= NODE_BYTES + name_bytes + PORT_BYTES * count or name_bytes == 0 or name_bytes > 64 then return false end
  if not tvb:raw(at + NODE_BYTES, name_bytes):match("^[%w_-][%w._-]*$") then return false end
  local last = 0
  for port = at + NODE_BYTES + name_bytes, tvb:len() - 1, PORT_BYTES do
    local number = tvb(port, 1):uint()
    if number <= last or number > 32 or not STATE[tvb(port + 1, 1):uint()] then return false end
    last = number
  end
  return true
end

local function is_table(tvb, at, method)
  local size = tvb:len() - at
  if size ~= TABLE_BYTES and size ~= TABLE_BYTES + BLOCK then return false end
  local stage, parts = tvb(at + 2, 1):uint(), tvb(at + 3, 1):uint()
  if tvb(at, 1):uint() > 32 or tvb(at + 1, 1):uint() > 191 or not STAGE[stage] or parts > 192 then return false end
  local sets = stage ~= 0 and parts ~= 0
  return method == REPLY or (sets == (method == SET) and sets == (size > TABLE_BYTES))
end

local function is_entry(tvb, at)
  local lid, lmc = tvb(at, 2):uint(), tvb(at + 2, 1):uint()
  return lid > 0 and lid <= 0xBFFF and lmc <= 7 and lid % 2 ^ lmc == 0
end

local function are_lids(tvb, at, method)
  local count = (tvb:len() - at - LIDS_BYTES) / ENTRY_BYTES
  if count < 0 or count % 1 ~= 0 or count > ENTRIES or (count > 0) ~= (method == SET) then return false end
  if count > 0 and tvb(at, 2):uint() + count > tvb(at + 2, 2):uint() then return false end
  for entry = at + LIDS_BYTES, tvb:len() - 1, ENTRY_BYTES do
    if not is_entry(tvb, entry) then return false end
  end
  return true
end

local function is_policy_part(tvb, at, method)
  local size = tvb:len() - at - POLICY_BYTES
  if size < 0 or (size > 0) ~= (method == SET) then return false end
  local first, count = tvb(at, 2):uint(), tvb(at + 2, 2):uint()
  return count <= POLICY_MAX and (size == 0 or (first % PART == 0 and size == math.min(PART, count - first)))
end

local function is_load(tvb, at)
  if (tvb:len() - at) % COUNT_BYTES ~= 0 then return false end
  local last = 0
  for port = at, tvb:len() - 1, COUNT_BYTES do
    local number = tvb(port, 1):uint()
    if number <= last or number > 32 then return false end
    last = number
  end
  return true
end

-- "node", "table", "lids", "policy", "load", "port" or nothing: the body that this SMP has to have.
local function body_of(method, attribute, status)
  if attribute == TABLE and method ~= TRAP then return "table" end
  if attribute == LIDS and method ~= TRAP then return "lids" end
  if attribute == POLICY and method ~= TRAP then return "policy" end
  if attribute == PORT and (method == SET or method == REPLY) then return "port" end
  if method ~= REPLY or status ~= 0 then return nil end
  return attribute == NODE and "node" or attribute == LOAD and "load" or nil
end

local function cause_of(tvb)
  if tvb:len() < 20 then return "short" end
  local method, attribute, status = tvb(1, 1):uint(), tvb(2, 1):uint(), tvb(3, 1):uint()
  if tvb(0, 1):uint() ~= 1 or not METHOD[method] or not ATTRIBUTE[attribute] or not STATUS[status] then return "format" end
  if status ~= 0 and method ~= REPLY then return "format" end
  local hops, at = tvb(16, 1):uint(), 20 + tvb(16, 1):uint()
  if hops > 64 or tvb(17, 1):uint() > hops then return "route" end
  if tvb:len() < at then return "short" end
  if tvb:len() ~= at + tvb(18, 2):uint() then return "length" end
  for i = 20, at - 1 do
    local port = tvb(i, 1):uint()
    if port == 0 or port > 32 then return "route" end
  end
  local body = body_of(method, attribute, status)
  local is_right = body == "node" and is_node(tvb, at) or body == "table" and is_table(tvb, at, method)
    or body == "lids" and are_lids(tvb, at, method) or body == "policy" and is_policy_part(tvb, at, method)
    or body == "load" and is_load(tvb, at) or body == "port" and tvb:len() == at + ENTRY_BYTES
  if not is_right and (body or tvb:len() > at) then return "body" end
end

local function dissect_node(tvb, at, tree)
  local count, name_bytes = tvb(at + 2, 1):uint(), tvb(at + 3, 1):uint()
  at = registry.add_all(tree, tvb, at, {
    {"smp.node.lid", 2}, {"smp.node.ports", 1}, {"smp.node.name_bytes", 1}, {"smp.node.changes", 4}, {"smp.node.eui64", 8},
    {"smp.node.check", 4}, {"smp.node.name", name_bytes},
  })
  for _ = 1, count do
    local port = tree:add(tvb(at, PORT_BYTES), string.format("Port %d: %s", tvb(at, 1):uint(), STATE[tvb(at + 1, 1):uint()]))
    at = registry.add_all(port, tvb, at, {{"smp.port", 1}, {"smp.port.state", 1}, {"smp.port.lid", 2}, {"smp.port.eui64", 8}})
  end
end

local function dissect_table(tvb, at, tree)
  registry.add_all(tree, tvb, at, {
    {"smp.table.input", 1}, {"smp.table.block", 1}, {"smp.table.stage", 1}, {"smp.table.parts", 1}, {"smp.table.changes", 4}, {"smp.table.check", 4},
  })
  if tvb:len() > at + TABLE_BYTES then tree:add(f["smp.table.ports"], tvb(at + TABLE_BYTES)) end
end

local function dissect_entries(tvb, at, tree)
  for entry = at, tvb:len() - 1, ENTRY_BYTES do
    registry.add_all(tree, tvb, entry, {{"smp.lid", 2}, {"smp.lmc", 1}, {"", 1}})
  end
end

local function dissect_lids(tvb, at, tree)
  dissect_entries(tvb, registry.add_all(tree, tvb, at, {{"smp.lids.first", 2}, {"smp.lids.count", 2}, {"smp.lids.check", 4}}), tree)
end

local NO_PARTITIONS = 255

-- The offsets of the ports in a whole policy; nothing if its counts do not lead to its end.
local function ports_of(tvb, at)
  local ports, size = {}, tvb:len()
  if size - at <= LEVELS then return end
  local count = tvb(at + LEVELS, 1):uint()
  at = at + LEVELS + 1
  for i = 1, count == NO_PARTITIONS and 0 or count do
    if size - at < 2 then return end
    ports[i], at = at, at + 2 + 2 * tvb(at + 1, 1):uint()
  end
  return at == size and ports or nil
end

-- The contents of a policy are shown where one part has all of it.
local function dissect_policy(tvb, at, tree)
  local count = tvb(at + 2, 2):uint()
  at = registry.add_all(tree, tvb, at, {{"smp.policy.first", 2}, {"smp.policy.count", 2}, {"smp.policy.check", 4}})
  if tvb:len() == at then return end
  tree:add(f["smp.policy.data"], tvb(at))
  local ports = tvb:len() - at == count and ports_of(tvb, at)
  if not ports then return end
  tree:add(f["smp.policy.lanes"], tvb(at, LEVELS))
  for _, place in ipairs(ports) do
    local keys = tvb(place + 1, 1):uint()
    local port = tree:add(tvb(place, 2 + 2 * keys), string.format("Port %d: %d keys", tvb(place, 1):uint(), keys))
    port:add(f["smp.policy.port"], tvb(place, 1))
    for key = 1, keys do port:add(f["smp.policy.key"], tvb(place + 2 * key, 2)) end
  end
end

local function dissect_load(tvb, at, tree)
  for port = at, tvb:len() - 1, COUNT_BYTES do
    registry.add_all(tree, tvb, port, {{"smp.load.port", 1}, {"smp.load.cells", 8}})
  end
end

local smp = {}

function smp.dissect(tvb, parent)
  if not tvb then return registry.refuse(parent, "smp.short") end
  local cause = cause_of(tvb)
  local tree = parent:add(tvb(), "SMP")
  if tvb:len() >= 20 then
    registry.add_all(tree, tvb, 0, {
      {"smp.format", 1}, {"smp.method", 1}, {"smp.attribute", 1}, {"smp.status", 1}, {"smp.manager", 2}, {"smp.priority", 1}, {"", 1},
      {"smp.transaction", 8}, {"smp.hops", 1}, {"smp.hop", 1}, {"smp.body_bytes", 2},
    })
  end
  if cause then
    registry.refuse(tree, "smp." .. cause)
    return "SMP?"
  end
  local method, attribute, status = tvb(1, 1):uint(), tvb(2, 1):uint(), tvb(3, 1):uint()
  local hops, text = tvb(16, 1):uint(), METHOD[method] .. " " .. ATTRIBUTE[attribute]
  tree:append_text(" " .. text)
  if hops > 0 then tree:add(f["smp.route"], tvb(20, hops)) end
  local body = body_of(method, attribute, status)
  if body == "node" then dissect_node(tvb, 20 + hops, tree) end
  if body == "table" then dissect_table(tvb, 20 + hops, tree) end
  if body == "lids" then dissect_lids(tvb, 20 + hops, tree) end
  if body == "policy" then dissect_policy(tvb, 20 + hops, tree) end
  if body == "load" then dissect_load(tvb, 20 + hops, tree) end
  if body == "port" then dissect_entries(tvb, 20 + hops, tree) end
  if status ~= 0 then registry.note(tree, "refusal", "The reply is: " .. STATUS[status]) end
  -- An SMP is sent on by each switch of its way: it is one request on each of them.
  local key = string.format("smp %d %s", attribute, tostring(tvb(8, 8):bytes()))
  if method < REPLY then exchange.request(tree, key) end
  if method == REPLY then exchange.reply(tree, key) end
  return text
end

return smp
