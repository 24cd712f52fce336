-- Push-push messages (docs/protocol/message.md, pools.md, data.md, cfgutil.md).
local use = ...
local registry, connection, exchange = use("registry"), use("connection"), use("exchange")
local frame, cfgutil, protobuf = use("frame"), use("cfgutil"), use("protobuf")
local f, field = registry.f, registry.field

local FUNCTION = {
  "BufferRecvPool", "BufferRecvPoolGet", "BufferRecvPoolUpdate", "BufferPoolFlushRequest", "BufferPoolFlushReply", "SendData",
  "BufferRDMAIndicate", "CfgUtilRequest", "CfgUtilReply",
}
local LEAST = {44, 20, 24, 16, 12, 20, 28, 20, 24}
field("uint16", "message.function", "Function", base.DEC, FUNCTION)
field("string", "message", "Message")
field("uint16", "message.version", "Version")
field("uint64", "message.context", "Transaction Context", base.HEX)
field("uint32", "message.pool", "Pool")
field("uint32", "message.elements", "Elements")
field("uint32", "message.element_size", "Element size")
field("uint32", "message.handle", "Memory handle", base.HEX)
field("uint64", "message.address", "Address", base.HEX)
field("uint64", "message.pool_context", "Pool context", base.HEX)
field("uint32", "message.packet_size", "Packet size")
field("uint32", "message.packets", "Packets")
field("uint32", "message.first", "First element")
field("uint32", "message.count", "Elements of the range (update: 0 for all)")
field("uint32", "message.stored", "Bytes stored")
field("uint32", "message.size", "Data size")
field("bytes", "message.data", "Data")
field("uint32", "cfg.code", "Code", base.HEX, cfgutil.code)
field("uint32", "cfg.status", "Status", base.DEC, cfgutil.status)

local RECORD = {
  [1] = {{"message.pool", 4}, {"message.elements", 4}, {"message.element_size", 4}, {"message.handle", 4},
         {"message.address", 8}, {"message.pool_context", 8}},
  [3] = {{"message.pool", 4}, {"message.first", 4}, {"message.count", 4}},
  [4] = {{"message.pool", 4}},
  [7] = {{"message.pool", 4}, {"message.first", 4}, {"message.count", 4}, {"message.stored", 4}},
}
local RECORD_BYTES = {[1] = 32, [3] = 12, [4] = 4, [7] = 16}
-- Messages with data: where its size stands.
local SIZE_AT = {[6] = 12, [8] = 16, [9] = 20}

-- Whether elements x size bytes from the address on stay below 2^48 bytes and 2^64.
local function is_pool_wrong(tvb, at)
  local bytes = tvb(at + 4, 4):uint() * tvb(at + 8, 4):uint()
  if bytes == 0 or bytes > 2 ^ 48 then return true end
  local low = tvb(at + 20, 4):uint() + bytes % 2 ^ 32
  return tvb(at + 16, 4):uint() + math.floor(bytes / 2 ^ 32) + math.floor(low / 2 ^ 32) >= 2 ^ 32
end

local function is_record_wrong(tvb, kind, at)
  if kind == 1 then return is_pool_wrong(tvb, at) end
  return kind == 7 and (tvb(at + 8, 4):uint() == 0 or tvb(at + 12, 4):uint() == 0)
end

local function cause_of_fields(tvb, kind)
  if RECORD[kind] then
    if (tvb:len() - 12) % RECORD_BYTES[kind] ~= 0 then return "align" end
    for at = 12, tvb:len() - 1, RECORD_BYTES[kind] do
      if is_record_wrong(tvb, kind, at) then return "range" end
    end
  elseif kind == 2 then
    if tvb:len() ~= 20 then return "align" end
    if tvb(12, 4):uint() == 0 or tvb(16, 4):uint() == 0 then return "range" end
  elseif kind == 5 then
    if tvb:len() ~= 12 then return "align" end
  else
    local size = tvb(SIZE_AT[kind], 4):uint()
    if kind == 6 and size == 0 then return "range" end
    if tvb:len() ~= SIZE_AT[kind] + 4 + size + -size % 4 then return "align" end
  end
end

local function cause_of(tvb)
  if tvb:len() < 12 then return "short" end
  local kind = tvb(0, 2):uint()
  if not FUNCTION[kind] then return "function" end
  if tvb(2, 2):uint() ~= 1 then return "version" end
  if tvb:len() < LEAST[kind] then return "short" end
  return cause_of_fields(tvb, kind)
end

-- The owner's new pools, for the elements that writes name.
local function keep_pools(tvb, c)
  local owner = connection.sender(c)
  if not owner then return end
  registry.once("pools", function()
    for at = 12, tvb:len() - 1, 32 do
      local elements, size, address = tvb(at + 4, 4):uint(), tvb(at + 8, 4):uint(), tvb(at + 16, 8):uint64()
      owner.pools[tvb(at, 4):uint()] = {address = address, stop = address + UInt64.new(elements) * UInt64.new(size), element_size = size}
    end
  end)
end

local function dissect_records(tvb, tree, kind)
  for at = 12, tvb:len() - 1, RECORD_BYTES[kind] do
    local sub = tree:add(tvb(at, RECORD_BYTES[kind]), "Pool " .. tvb(at, 4):uint())
    registry.add_all(sub, tvb, at, RECORD[kind])
  end
end

-- Request and reply have the same context and opposite directions.
local function add_times(tree, kind, context, c)
  local there, back = c.slid .. ":" .. c.sqpn .. " " .. context, c.dlid .. ":" .. c.dqpn .. " " .. context
  if kind == 4 then exchange.request(tree, "flush " .. there) end
  if kind == 5 then exchange.reply(tree, "flush " .. back) end
  if kind == 8 then exchange.request(tree, "cfg " .. there) end
  if kind == 9 then exchange.reply(tree, "cfg " .. back) end
end

local function dissect_cfgutil(tvb, tree, kind, data)
  local code = tvb(12, 4):uint()
  local name = (kind == 8 and "CfgUtilRequest " or "CfgUtilReply ") .. (cfgutil.code[code] or "?")
  tree:add(f["cfg.code"], tvb(12, 4))
  if kind == 9 then
    local status = tvb(16, 4):uint()
    tree:add(f["cfg.status"], tvb(16, 4))
    if status ~= 0 then
      name = name .. " " .. (cfgutil.status[status] or "?")
      registry.note(tree, "refusal", "The request has status " .. (cfgutil.status[status] or status))
    end
  end
  local schema = cfgutil.data[(cfgutil.code[code] or "") .. (kind == 8 and " request" or " reply")]
  if schema and data then protobuf.dissect(data, tree, schema) end
  return name
end

local function dissect_body(tvb, tree, kind, c)
  if RECORD[kind] then
    dissect_records(tvb, tree, kind)
    if kind == 1 then keep_pools(tvb, c) end
  elseif kind == 2 then
    registry.add_all(tree, tvb, 12, {{"message.packet_size", 4}, {"message.packets", 4}})
  elseif SIZE_AT[kind] then
    local size = tvb(SIZE_AT[kind], 4):uint()
    tree:add(f["message.size"], tvb(SIZE_AT[kind], 4))
    local data = size > 0 and tvb(SIZE_AT[kind] + 4, size) or nil
    if data then tree:add(f["message.data"], data) end
    if kind == 6 then return frame.dissect(data:tvb(), tree) end
    return dissect_cfgutil(tvb, tree, kind, data and data:tvb())
  end
end

-- A whole Send. One of a connection that is not in the capture may be anything.
local function dissect(tvb, parent, c)
  local is_known = tvb:len() >= 12 and FUNCTION[tvb(0, 2):uint()] and tvb(2, 2):uint() == 1
  if c.channel == 255 and not is_known then return nil end
  local kind = tvb:len() >= 2 and tvb(0, 2):uint() or 0
  local name = FUNCTION[kind] or "message"
  local tree, cause = parent:add(tvb(), name), cause_of(tvb)
  if tvb:len() >= 12 then
    registry.add_all(tree, tvb, 0, {{"message.function", 2}, {"message.version", 2}, {"message.context", 8}})
  end
  if FUNCTION[kind] then tree:add(f["message"], tvb(0, 2), name) end
  if cause then
    registry.refuse(tree, "message." .. cause)
    return name .. "?"
  end
  add_times(tree, kind, tostring(tvb(4, 8):bytes()), c)
  return dissect_body(tvb, tree, kind, c) or name
end

return {dissect = dissect}
