local old = redis.call('GETRANGE', KEYS[1], 0, 41)
if old == '' then return 4 end
local format = string.byte(old)
if (format ~= 1 and format ~= 2) or #old ~= 42 then return 3 end
local state = string.sub(old, 2, 2)
