-- The row that ack_of() names.
local function named(ack)
  return ack ~= '' and read(struct.unpack('>I4', ack), string.byte(ack, 5), string.sub(ack, 6)) or nil
end
