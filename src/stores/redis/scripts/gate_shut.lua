-- Arguments behind the consumer: the reason; milliseconds, or nothing.
if shut and till == 0 then return 0 end
local new_till = 0
if ARGV[3] ~= '' then new_till = now + tonumber(ARGV[3]) end
redis.call('HSET', KEYS[1], ARGV[1], struct.pack('>I6I6', now, new_till) .. ARGV[2])
return 1
