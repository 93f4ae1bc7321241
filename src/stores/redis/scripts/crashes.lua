if #ARGV == 0 then
  if string.sub(beginning(KEYS[1]), 2, 2) == 'D' then return false end
  return tonumber(redis.call('GET', KEYS[2]) or 0)
end
local kept = tonumber(redis.call('GET', KEYS[2]) or 0)
if kept < tonumber(ARGV[1]) or kept > tonumber(ARGV[2]) then return kept end
if ARGV[3] == '0' then
  redis.call('DEL', KEYS[2])
else
  redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
end
return tonumber(ARGV[3])
