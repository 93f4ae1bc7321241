-- Arguments: the id that is too high, or nothing; how many at most.
local high = redis.call('HLEN', KEYS[1])
if ARGV[1] ~= '' then high = math.min(high, tonumber(ARGV[1]) - 1) end
local found = {}
for id = high, math.max(1, high - tonumber(ARGV[2]) + 1), -1 do
  local entry = redis.call('HGET', KEYS[1], id)
  local ended = redis.call('HGET', KEYS[2], id)
  found[#found + 1] = {id, entry, ended}
end
return found
