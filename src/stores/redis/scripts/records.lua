-- Numbers are passed as text: the server would print each of them with 17 digits.
local function beginning(key) return redis.call('GETRANGE', key, '0', '57') end

local function head(format, state, flags, attempt, token, first, till, print)
  return struct.pack('>Bc1BI4I7I6I6', format, state, flags, attempt, token, first, till) .. print
end

local function held_by(old, nonce)
  local begin = string.sub(old, 1, 2)
  return (begin == '\001C' or begin == '\002C') and string.sub(old, 43, 58) == nonce
end
