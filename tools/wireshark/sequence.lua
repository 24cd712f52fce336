-- Remarks on the order of cells: retransmissions, cells that came before, and gaps. On RC each request cell has the next
-- LCN (P-CELL-18), on UC each packet the next PSN.
local use = ...
local registry = use("registry")

local sequence, newest = {}, {}
function sequence.reset() newest = {} end

local function remark_of(c, number, size)
  local key = c.slid .. ":" .. c.sqpn .. ">" .. c.dlid .. ":" .. c.dqpn
  local last = newest[key]
  local ahead = last and (number - last) % size or 1
  local is_newer = ahead > 0 and ahead < size / 2
  if is_newer then newest[key] = number end
  if bit32.btest(c.flags, 0x04) then return {"retransmission", "Retransmission of PSN " .. c.psn .. ", CSN " .. c.csn} end
  if is_newer and ahead > 1 then return {"gap", ahead - 1 .. (size == 65536 and " cells" or " packets") .. " before it are missing"} end
  if not is_newer and size == 65536 then return {"repeated", "LCN " .. number .. " is not newer than " .. last} end
end

function sequence.check(tree, c)
  local is_request = c.op <= 3 or c.op == 5
  if not is_request or c.service > 1 then return end
  local remark = registry.once("sequence", function()
    if c.service == 0 then return remark_of(c, c.lcn, 65536) end
    return remark_of(c, c.psn, 0x1000000)
  end)
  if remark then registry.note(tree, remark[1], remark[2]) end
end

return sequence
