-- The part of proto3 that the protocol needs. A schema maps field numbers to {name, kind}: int, bool, fixed64, bytes, text,
-- mac, packed (varints), or the schema of a message inside.
local use = ...
local registry = use("registry")
local f = registry.f

local WIRE = {int = 0, bool = 0, fixed64 = 1}
local protobuf = {}

-- Returns the number and the offset behind it, or nil.
local function varint(tvb, at)
  local value, factor = 0, 1
  for index = 0, 9 do
    if at + index >= tvb:len() then return nil end
    local byte = tvb(at + index, 1):uint()
    value, factor = value + byte % 128 * factor, factor * 128
    if byte < 128 then return value, at + index + 1 end
  end
end

-- Returns number, wire type, value (a number or nil), the offset and length of the value, and the offset behind it; or nil.
local function take(tvb, at)
  local tag, value_at = varint(tvb, at)
  if not tag or tag < 8 then return nil end
  local number, wire, value, stop = math.floor(tag / 8), tag % 8, nil, nil
  if wire == 0 then
    value, stop = varint(tvb, value_at)
  elseif wire == 1 or wire == 5 then
    stop = value_at + (wire == 1 and 8 or 4)
  elseif wire == 2 then
    local length
    length, value_at = varint(tvb, value_at)
    stop = length and value_at + length
  end
  if not stop or stop > tvb:len() then return nil end
  return number, wire, value, value_at, stop
end

local function add_packed(tvb, at, stop, tree, name, values)
  values[name] = values[name] or {}
  while at < stop do
    local value, behind = varint(tvb, at)
    if not value or behind > stop then return "protobuf" end
    tree:add(f[name], tvb(at, behind - at), value % 2 ^ 32)
    at = behind
  end
end

local function add_value(tvb, tree, one, value, at, stop, values)
  local name, kind = one[1], one[2]
  local range = stop > at and tvb(at, stop - at) or nil
  if type(kind) == "table" then
    if not range then return nil end
    return protobuf.walk(range:tvb(), tree:add(range, name), kind, {})
  elseif kind == "int" or kind == "packed" then
    values[name] = value % 2 ^ 32
    tree:add(f[name], range, values[name])
  elseif kind == "bool" then
    tree:add(f[name], range, value ~= 0)
  elseif kind == "fixed64" then
    tree:add_le(f[name], range)
  elseif kind == "mac" and range and range:len() ~= 6 then
    return nil  -- the receiver of the value refuses it
  elseif range then
    tree:add(f[name], range)
  end
end

-- Adds the fields of a message. Returns the cause for which a receiver refuses it, or nil; `values` gets the numbers.
function protobuf.walk(tvb, tree, schema, values)
  local at = 0
  while at < tvb:len() do
    local number, wire, value, value_at, stop = take(tvb, at)
    if not number then return "protobuf" end
    local one, cause = schema[number], nil
    if one and one[2] == "packed" and wire == 2 then
      cause = add_packed(tvb, value_at, stop, tree, one[1], values)
    elseif one and wire ~= (one[2] == "packed" and 0 or WIRE[one[2]] or 2) then
      cause = "type"
    elseif one then
      cause = add_value(tvb, tree, one, value, value_at, stop, values)
    end
    if cause then return cause end
    at = stop
  end
end

-- The same, with the remark on a message that is refused. Returns the numbers of the message by the names of their fields.
function protobuf.dissect(tvb, parent, schema)
  local tree, values = parent:add(tvb(), "Protobuf"), {}
  local cause = protobuf.walk(tvb, tree, schema, values)
  if cause then registry.refuse(tree, "protobuf." .. cause) end
  return values
end

return protobuf
