local name, pid, alive, consumer, window = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local died = redis.call('HGET', prefix .. '{store}died', consumer)
redis.call('SET', prefix .. '{store}alive:' .. name, pid, 'PX', alive)
redis.call('HSET', prefix .. '{store}run:' .. name, consumer, window)
redis.call('HSET', prefix .. '{store}runs', name, pid)
redis.call('HSET', prefix .. '{store}sessions', name, ARGV[8])
if ARGV[7] ~= '1' then return -1 end
-- It is told again until it is acknowledged: the answer may be lost.
local told = prefix .. '{store}told:' .. name
local before = redis.call('HGET', told, consumer)
if not died and not before then return -1 end
local largest = math.max(tonumber(died or '0'), tonumber(before or '0'))
redis.call('HSET', told, consumer, largest)
redis.call('HDEL', prefix .. '{store}died', consumer)
return largest
