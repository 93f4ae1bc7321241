local name, pid, alive, consumer, window = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local died = redis.call('HGET', prefix .. '{store}died', consumer)
redis.call('SET', prefix .. '{store}alive:' .. name, pid, 'PX', alive)
redis.call('HSET', prefix .. '{store}run:' .. name, consumer, window)
redis.call('HSET', prefix .. '{store}runs', name, pid)
redis.call('HSET', prefix .. '{store}sessions', name, ARGV[8])
if ARGV[7] ~= '1' or not died then return -1 end
redis.call('HDEL', prefix .. '{store}died', consumer)
return tonumber(died)
