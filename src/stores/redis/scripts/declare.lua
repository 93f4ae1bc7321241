-- From here on, all that the instance held is free.
local name = ARGV[2]
if is_another(name, ARGV[3]) then return { 0 } end
-- Its sign came after the look at it.
if redis.call('PTTL', prefix .. '{store}alive:' .. name) > tonumber(ARGV[4]) then return { 0 } end
redis.call('ZADD', prefix .. '{store}gone', now, name)
local answer = { 1 }
for _, consumer in ipairs(tell(name)) do answer[#answer + 1] = consumer end
return answer
