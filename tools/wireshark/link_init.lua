-- INIT (docs/protocol/init.md).
local use = ...
local registry, exchange = use("registry"), use("exchange")
local f, field = registry.f, registry.field

local STEP = {"hello", "challenge", "answer", "ready", "refuse", "bye", "probe", "probe_reply"}
local PROFILE = {[0] = "full", "speed", "shm"}
local REASON = {[0] = "none", "version", "profile", "mcp", "identity", "busy", "duplicate"}
field("uint8", "init.format", "Format")
field("uint8", "init.step", "Step", base.DEC, STEP)
field("uint8", "init.profile", "Profile", base.DEC, PROFILE)
field("uint8", "init.cell_crc", "Cell CRC covers", base.DEC, {[0] = "whole cell", "head only"})
field("uint32", "init.program_version", "Program version", base.HEX)
field("uint16", "init.lanes", "Lanes", base.HEX)
field("uint16", "init.mcp", "Largest MCP")
field("uint16", "init.flit_payload", "Largest flit payload")
field("uint8", "init.port", "Port number")
field("uint8", "init.reason", "Reason", base.DEC, REASON)
field("uint24", "init.initial_credit", "First credit limit")
field("uint8", "init.payload_crc", "Payload CRC", base.DEC, {[0] = "required", "omitted", "omitted if proven"})
field("bytes", "init.proof", "Proof, 56 bits")
field("uint32", "init.receive_buffer", "Receive buffer")
field("uint64", "init.eui64", "EUI-64", base.HEX)
field("uint64", "init.instance", "Instance", base.HEX)
field("uint64", "init.peer_instance", "Instance of the receiver", base.HEX)
field("uint64", "init.nonce", "Nonce", base.HEX)
field("uint64", "init.echo", "Echo", base.HEX)
field("uint16", "init.lid", "LID")
field("uint16", "init.offered_lid", "Offered LID")

local link_init = {}

local function cause_of(tvb)
  if tvb:len() ~= 72 then return "length" end
  if tvb(0, 1):uint() ~= 1 then return "format" end
  local step, profile, reason = tvb(1, 1):uint(), tvb(2, 1):uint(), tvb(15, 1):uint()
  if not STEP[step] or not PROFILE[profile] or tvb(3, 1):uint() > 1 or not REASON[reason] or (reason ~= 0) ~= (step == 5) or
     profile == 1 and tvb(16, 1):uint() > 2 then
    return "step"
  end
  local mcp = tvb(10, 2):uint()
  if tvb(8, 2):uint() == 0 or mcp < 4 or mcp % 4 ~= 0 or tvb(12, 2):uint() < 120 or tvb(32, 8):uint64() == UInt64(0) then
    return "value"
  end
end

-- The reply to hello, to the third step, and to probe echoes the nonce.
local function add_times(tvb, tree, step)
  local nonce, echo = tostring(tvb(48, 8):bytes()), tostring(tvb(56, 8):bytes())
  if step == 1 or step == 3 or step == 7 then exchange.request(tree, "init " .. nonce) end
  if step == 2 or step == 4 or step == 5 or step == 8 then exchange.reply(tree, "init " .. echo) end
end

function link_init.dissect(tvb, parent)
  local step = tvb:len() > 1 and tvb(1, 1):uint() or 0
  local name = "INIT " .. (STEP[step] or "?")
  local tree = parent:add(tvb(), name)
  local cause = cause_of(tvb)
  if cause ~= "length" then
    local profile = tvb(2, 1):uint()
    registry.add_all(tree, tvb, 0, {
      {"init.format", 1}, {"init.step", 1}, {"init.profile", 1}, {"init.cell_crc", 1}, {"init.program_version", 4},
      {"init.lanes", 2}, {"init.mcp", 2}, {"init.flit_payload", 2}, {"init.port", 1}, {"init.reason", 1},
      {profile == 1 and "init.payload_crc" or "", 1}, {profile == 0 and "init.initial_credit" or "", 3},
      {"init.receive_buffer", 4}, {"init.eui64", 8}, {"init.instance", 8}, {"init.peer_instance", 8}, {"init.nonce", 8},
      {"init.echo", 8}, {"init.lid", 2}, {"init.offered_lid", 2},
    })
    if profile == 1 then
      local proof = tvb(17, 3):bytes()
      proof:append(tvb(68, 4):bytes())
      tree:add(f["init.proof"], proof:tvb("Proof of INIT")())
    end
  end
  if cause then
    registry.refuse(tree, "init." .. cause)
    return name .. "?"
  end
  if step == 5 then registry.note(tree, "refusal", "INIT is refused: " .. REASON[tvb(15, 1):uint()]) end
  add_times(tvb, tree, step)
  return name
end

-- Whether a datagram begins with an INIT, on whatever port.
function link_init.begins(tvb)
  return tvb:len() >= 88 and tvb(0, 1):bitfield(0, 4) == 4 and tvb(2, 2):uint() == 72 and tvb(16, 1):uint() == 1 and
         STEP[tvb(17, 1):uint()] ~= nil
end

return link_init
