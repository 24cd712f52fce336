-- The protocol, its fields and remarks, and the helpers that every format shares. A format registers its fields here
-- when it is loaded; finish() gives all of them to Wireshark.
local registry = {proto = Proto("splitnic", "splitnic fabric"), f = {}, context = {}}
local f, all = registry.f, {}

-- field("uint8", "flit.type", ...) makes f["flit.type"], which filters know as splitnic.flit.type.
function registry.field(kind, name, ...)
  f[name] = ProtoField[kind]("splitnic." .. name, ...)
  all[#all + 1] = f[name]
end

local function remark(name, text, group, severity)
  return ProtoExpert.new("splitnic." .. name, text, expert.group[group], expert.severity[severity])
end
registry.remarks = {
  bad = remark("bad", "Violates the format", "MALFORMED", "ERROR"),
  refusal = remark("refusal", "A peer refuses", "RESPONSE_CODE", "WARN"),
  nak = remark("nak", "NAK", "SEQUENCE", "WARN"),
  retransmission = remark("retransmission", "Retransmission", "SEQUENCE", "WARN"),
  repeated = remark("repeated", "Was in the capture before", "SEQUENCE", "NOTE"),
  gap = remark("gap", "Something before it is missing", "SEQUENCE", "NOTE"),
  truncated = remark("truncated", "The capture has only the begin", "UNDECODED", "NOTE"),
}
registry.field("string", "error", "Cause for which a receiver refuses it")

-- Adds the fields of a list {name, bytes} in order; returns the offset after them. An empty name leaves bytes out.
function registry.add_all(tree, tvb, at, list)
  for _, one in ipairs(list) do
    if one[1] ~= "" then tree:add(f[one[1]], tvb(at, one[2])) end
    at = at + one[2]
  end
  return at
end

-- The remark stands behind what it is about. `cause` is "format.name", by the names of docs/protocol.
function registry.refuse(tree, cause)
  tree:add(f["error"], cause):set_generated()
  tree:add_proto_expert_info(registry.remarks.bad, "Refused: " .. cause)
end

function registry.note(tree, name, text)
  tree:add_proto_expert_info(registry.remarks[name], text)
end

-- What follows from packets before is worked out at the first visit of a packet, and found again at later ones.
local found = {}
function registry.once(key, work)
  local visit = registry.context
  local place = visit.number .. ":" .. visit.cell .. ":" .. key
  if not visit.is_visited then found[place] = work() end
  return found[place]
end

function registry.reset() found = {} end

function registry.finish()
  local experts = {}
  for _, one in pairs(registry.remarks) do experts[#experts + 1] = one end
  registry.proto.fields = all
  registry.proto.experts = experts
end

return registry
