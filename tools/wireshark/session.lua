-- The session of a keyed link (docs/protocol/session.md): its four datagrams, whose content is sealed.
local use = ...
local registry, exchange = use("registry"), use("exchange")
local f, field = registry.f, registry.field

local KIND = {[0x81] = "INITIATION", [0x82] = "RESPONSE", [0x83] = "COOKIE", [0x84] = "DATA"}
local LENGTH = {[0x81] = 160, [0x82] = 108, [0x83] = 52}
field("uint8", "session.type", "Type", base.HEX, KIND)
field("uint8", "session.version", "Version")
field("uint8", "session.flags", "Flags", base.HEX)
field("uint32", "session.sender_index", "Index of the sender", base.HEX)
field("uint32", "session.receiver_index", "Index of the receiver", base.HEX)
field("uint64", "session.counter", "Counter")
field("bytes", "session.ephemeral", "Ephemeral public key")
field("bytes", "session.static", "Public key, sealed")
field("bytes", "session.payload", "Payload, sealed")
field("bytes", "session.mac1", "mac1")
field("bytes", "session.mac2", "mac2")
field("bytes", "session.nonce", "Nonce")
field("bytes", "session.cookie", "Cookie, sealed")
field("bytes", "session.tag", "Tag")

local SENDER, RECEIVER = {"session.sender_index", 4}, {"session.receiver_index", 4}
local BODY = {
  [0x81] = {SENDER, {"session.ephemeral", 32}, {"session.static", 48}, {"session.payload", 40}, {"session.mac1", 16}, {"session.mac2", 16}},
  [0x82] = {SENDER, RECEIVER, {"session.ephemeral", 32}, {"session.payload", 32}, {"session.mac1", 16}, {"session.mac2", 16}},
  [0x83] = {RECEIVER, {"session.nonce", 12}, {"session.cookie", 32}},
}

local session = {}

-- Whether a datagram has the form of one of the four.
function session.begins(tvb)
  local kind, bytes = tvb(0, 1):uint(), tvb:reported_len()
  if not KIND[kind] or bytes < 16 or tvb(2, 2):uint() ~= 0 then return false end
  if kind == 0x84 then return bytes >= 32 and tvb(1, 1):uint() <= 1 end
  return bytes == LENGTH[kind] and tvb(1, 1):uint() == 1
end

local function dissect_data(tvb, tree)
  registry.add_all(tree, tvb, 1, {{"session.flags", 1}, {"", 2}, RECEIVER, {"session.counter", 8}})
  local bytes = tvb:len() - 32
  if bytes > 0 then tree:add(f["session.payload"], tvb(16, bytes)) end
  if bytes >= 0 then tree:add(f["session.tag"], tvb(16 + bytes, 16)) end
  return "sealed datagram of " .. math.max(bytes, 0) .. " bytes"
end

function session.dissect(tvb, tree)
  local kind = tvb(0, 1):uint()
  tree:add(f["session.type"], tvb(0, 1))
  if tvb:len() < 16 or not session.begins(tvb) then
    registry.refuse(tree, "session.format")
    return "session?"
  end
  if tvb:reported_len() > tvb:len() then
    registry.note(tree, "truncated", "The capture has only the begin of the datagram")
    return KIND[kind]
  end
  if kind == 0x84 then return dissect_data(tvb, tree) end
  registry.add_all(tree, tvb, 1, {{"session.version", 1}, {"", 2}})
  registry.add_all(tree, tvb, 4, BODY[kind])
  if kind == 0x81 then exchange.request(tree, "session " .. tvb(4, 4):uint()) end
  if kind == 0x82 then exchange.reply(tree, "session " .. tvb(8, 4):uint()) end
  return KIND[kind]
end

return session
