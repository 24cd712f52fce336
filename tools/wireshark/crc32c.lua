-- CRC-32C (docs/protocol/flit.md, P-LINK-2) over a string of bytes.
local bxor, band, rshift = bit32.bxor, bit32.band, bit32.rshift

local table_of = {}
for value = 0, 255 do
  local crc = value
  for _ = 1, 8 do
    crc = bxor(rshift(crc, 1), band(crc, 1) * 0x82F63B78)
  end
  table_of[value] = crc
end

return function(bytes)
  local crc = 0xFFFFFFFF
  for at = 1, #bytes do
    crc = bxor(rshift(crc, 8), table_of[band(bxor(crc, bytes:byte(at)), 0xFF)])
  end
  return bxor(crc, 0xFFFFFFFF)
end
