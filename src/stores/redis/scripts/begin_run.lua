local name, pid, alive, consumer, window = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local run, told = prefix .. '{store}run:' .. name, prefix .. '{store}told:' .. name
local died = redis.call('HGET', prefix .. '{store}died', consumer)
redis.call('SET', prefix .. '{store}alive:' .. name, pid, 'PX', alive)
redis.call('HSET', prefix .. '{store}runs', name, pid)
redis.call('HSET', prefix .. '{store}sessions', name, ARGV[8])
redis.call('HSET', run, consumer, window)
if ARGV[7] ~= '1' then return -1 end
-- It is told again until it is acknowledged: the answer may be lost.
local before = redis.call('HGET', told, consumer)
if not died and not before then return -1 end
local largest = math.max(tonumber(died or '0'), tonumber(before or '0'))
redis.call('HSET', told, consumer, largest)
-- The next process hears of what this one has heard and may not have handled.
redis.call('HSET', run, consumer, string.format('%.0f', math.max(largest, tonumber(window))))
redis.call('HDEL', prefix .. '{store}died', consumer)
return largest
