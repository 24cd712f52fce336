-- What the set-up of connections fixed: the channel and owner of each queue pair, the idata forms, and the pools that an
-- owner has advertised. A side is {caps, pools}, without caps until its CONNECT; an end is {channel, side, peer, since}.
local connection = {}
-- "LID:QPN" -> the ends that the queue pair has been, the newest last, because numbers are used again.
local ends, connections = {}, {}

function connection.reset() ends, connections = {}, {} end

-- The queue pair of a LID as of a packet, or nil if its CONNECT is not in the capture.
function connection.end_of(lid, qpn, number)
  local list = ends[lid .. ":" .. qpn] or {}
  for i = #list, 1, -1 do
    if list[i].since <= number then return list[i] end
  end
end

-- CONNECT_REQ and CONNECT_REP of a transaction describe the active and the passive side: {channel, qpn} per pair.
-- `number` is that of the packet.
function connection.describe(number, transaction, role, lid, pairs_of_side, caps)
  local sides = connections[transaction]
  if not sides then
    sides = {active = {pools = {}}, passive = {pools = {}}}
    connections[transaction] = sides
  end
  local side, peer = sides[role], role == "active" and sides.passive or sides.active
  if side.caps then return end  -- the message is repeated
  side.caps = caps
  for _, one in ipairs(pairs_of_side) do
    local key = lid .. ":" .. one.qpn
    ends[key] = ends[key] or {}
    table.insert(ends[key], {channel = one.channel, side = side, peer = peer, since = number})
  end
end

-- "A", "B" or "none" for idata of the cell, which goes into pools of its receiver (P-CH-6).
function connection.idata_form(c)
  local owner = c.to and c.to.side or c.from and c.from.peer
  local writer = c.from and c.from.side or c.to and c.to.peer
  local wanted = owner and owner.caps and owner.caps.idata_form_in or 0
  local possible = writer and writer.caps and writer.caps.idata_form_out or 0
  if wanted == 0 and possible <= 1 then return "A" end
  return wanted == 1 and possible == 1 and "B" or "none"
end

-- The owner of the pools that the sender, or the receiver, of a cell has.
function connection.sender(c) return c.from and c.from.side or c.to and c.to.peer end
function connection.receiver(c) return c.to and c.to.side or c.from and c.from.peer end

-- Whether channel 0 carries RDMA writes too (P-CH-19).
function connection.has_one_channel(c)
  local side = connection.sender(c)
  return side ~= nil and side.caps ~= nil and side.caps.channels == 1
end

-- The element of one of `side`'s pools that an address lies in, or nil: pool reference, element index, the offset in it.
function connection.element_at(side, address)
  for ref, pool in pairs(side and side.pools or {}) do
    if address >= pool.address and address < pool.stop then
      local offset = (address - pool.address):tonumber()
      return ref, math.floor(offset / pool.element_size), offset % pool.element_size
    end
  end
end

return connection
