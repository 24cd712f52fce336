-- Requests and their replies: where the other one is, and the time between the first request and its first reply.
local use = ...
local registry = use("registry")
local f, field, visit = registry.f, registry.field, registry.context

field("framenum", "request_in", "Request in", base.NONE, frametype.REQUEST)
field("framenum", "reply_in", "Reply in", base.NONE, frametype.RESPONSE)
field("relative_time", "reply_time", "Time from request to reply")
field("uint32", "tries", "Tries of this request")

local exchange, open = {}, {}
function exchange.reset() open = {} end

-- The reply is known where packets are visited twice (Wireshark, or tshark -2).
function exchange.request(tree, key)
  local mine = registry.once(key, function()
    local one = open[key]
    if not one then
      one = {frame = visit.number, seconds = visit.pinfo.rel_ts, tries = 0}
      open[key] = one
    end
    one.tries = one.tries + 1
    return {exchange = one, try = one.tries}
  end)
  if not mine then return end
  local one = mine.exchange
  if one.reply then tree:add(f["reply_in"], one.reply):set_generated() end
  if mine.try > 1 then
    tree:add(f["request_in"], one.frame):set_generated()
    tree:add(f["tries"], mine.try):set_generated()
    registry.note(tree, "repeated", "Try " .. mine.try .. " of the request in " .. one.frame)
  end
end

function exchange.reply(tree, key)
  local mine = registry.once(key, function()
    local one = open[key]
    if not one then return nil end
    local is_first = one.reply == nil
    one.reply = one.reply or visit.number
    return {frame = one.frame, seconds = visit.pinfo.rel_ts - one.seconds, is_first = is_first, tries = one.tries}
  end)
  if not mine then return end
  tree:add(f["request_in"], mine.frame):set_generated()
  if not mine.is_first then return registry.note(tree, "repeated", "The reply was in the capture before") end
  local whole = math.floor(mine.seconds)
  tree:add(f["reply_time"], NSTime.new(whole, math.floor((mine.seconds - whole) * 1e9 + 0.5))):set_generated()
  tree:add(f["tries"], mine.tries):set_generated()
end

return exchange
