local name, alive = ARGV[2], ARGV[3]
local kRemembered, kTold = 86400000, 63
local gone, runs, sessions = prefix .. '{store}gone', prefix .. '{store}runs', prefix .. '{store}sessions'
local answer = { 'known', '' }
if name ~= '' then
  local pid = redis.call('HGET', runs, name)
  if not pid or redis.call('ZSCORE', gone, name) then
    answer[1] = 'unknown'
  else
    redis.call('SET', prefix .. '{store}alive:' .. name, pid, 'PX', alive)
    redis.call('HSET', sessions, name, ARGV[4])
    redis.call('HDEL', prefix .. '{store}run:' .. name, 'told')
  end
end
redis.call('ZREMRANGEBYSCORE', gone, '-inf', now - kRemembered)
answer[2] = table.concat(redis.call('ZREVRANGE', gone, 0, kTold))
for _, other in ipairs(redis.call('HKEYS', runs)) do
  if other ~= name then
    answer[#answer + 1] = other
    answer[#answer + 1] = redis.call('HGET', sessions, other) or ''
    answer[#answer + 1] = redis.call('PTTL', prefix .. '{store}alive:' .. other)
  end
end
return answer
