-- Numbers are passed as text: the server would print each of them with 17 digits.
local function beginning(key) return redis.call('GETRANGE', key, '0', '57') end

local function head(format, state, flags, attempt, token, first, till, print)
  return struct.pack('>Bc1BI4I7I6I6', format, state, flags, attempt, token, first, till) .. print
end

-- A nonce without the name at its beginning, eight zeros, is any with the same end: see Instance.
local function held_by(old, nonce)
  local begin, stored = string.sub(old, 1, 2), string.sub(old, 43, 58)
  if begin ~= '\001C' and begin ~= '\002C' then return false end
  return stored == nonce or (string.sub(nonce, 1, 8) == '\000\000\000\000\000\000\000\000' and
                             string.sub(stored, 9) == string.sub(nonce, 9))
end
