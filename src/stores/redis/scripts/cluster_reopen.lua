local value = redis.call('GET', KEYS[1])
if not value or string.sub(value, 1, 42) ~= ARGV[1] then return 0 end
local flags, attempt, token, first = struct.unpack('>BI4I7I6', value, 3)
flags = flags % 2 + (ARGV[2] == '1' and 2 or 0)
local format, rest = string.byte(value), string.sub(value, 43)
if ARGV[3] then format, rest = noted(format, rest, ARGV[3]) end
redis.call('SET', KEYS[1], head(format, 'R', flags, attempt, token, first, now,
                                string.sub(value, 27, 42)) .. rest)
return 1
