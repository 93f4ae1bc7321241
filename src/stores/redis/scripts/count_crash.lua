if string.sub(beginning(KEYS[1]), 2, 2) == 'D' then return 0 end
local count = redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return count
