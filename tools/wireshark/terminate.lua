-- TERMINATE (docs/protocol/terminate.md).
local use = ...
local registry = use("registry")
local f, field = registry.f, registry.field

local CAUSE = {
  ["0/0/0"] = "local catastrophic", ["0/1/0"] = "invalid tag", ["0/1/1"] = "bounds", ["0/1/2"] = "access",
  ["0/1/3"] = "tag of another protection domain", ["0/1/4"] = "address wraps", ["0/2/6"] = "operation not accepted",
  ["0/2/7"] = "rules of the stream", ["1/2/2"] = "read request queue full", ["1/2/3"] = "MSN of a read request",
  ["1/2/5"] = "longer than the receive",
}
field("uint8", "terminate.layer", "Layer", base.DEC, nil, 0xF0)
field("uint8", "terminate.type", "Type", base.DEC, nil, 0x0F)
field("uint8", "terminate.code", "Code")
field("string", "terminate.check", "Failing check")
field("uint32", "terminate.tag", "Tag", base.HEX)
field("uint64", "terminate.address", "Address", base.HEX)
field("uint32", "terminate.length", "Length")
field("bytes", "terminate.header", "Offending MAC header")

local function dissect(tvb, parent)
  local tree = parent:add(tvb(), "TERMINATE")
  local cause = CAUSE[tvb(0, 1):bitfield(0, 4) .. "/" .. tvb(0, 1):bitfield(4, 4) .. "/" .. tvb(1, 1):uint()]
  local check = tvb(2, 1):uint()
  tree:add(f["terminate.layer"], tvb(0, 1))
  tree:add(f["terminate.type"], tvb(0, 1))
  tree:add(f["terminate.code"], tvb(1, 1))
  if check ~= 0 then tree:add(f["terminate.check"], tvb(2, 1)) end
  registry.add_all(tree, tvb, 4, {
    {"terminate.tag", 4}, {"terminate.address", 8}, {"terminate.length", 4}, {"terminate.header", 28},
  })
  if not cause or check ~= 0 and (check < 0x61 or check > 0x67) then
    registry.refuse(tree, "terminate")
    return "TERMINATE?"
  end
  registry.note(tree, "refusal", "TERMINATE: " .. cause)
  return "TERMINATE " .. cause
end

return {dissect = dissect}
