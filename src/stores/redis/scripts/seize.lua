if state ~= 'P' and (state ~= 'C' or struct.unpack('>I6', old, 21) > now) then return 0 end
local value = redis.call('GET', KEYS[1])
local flags, attempt, token, first = struct.unpack('>BI4I7I6', value, 3)
redis.call('SET', KEYS[1], head(format, 'C', flags - flags % 2, attempt, token, first,
                                now + tonumber(ARGV[4]), string.sub(value, 27, 42)) ..
                           ARGV[5] .. string.sub(value, state == 'C' and 59 or 43))
return 1
