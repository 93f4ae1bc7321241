local consumer, lane, lost = tonumber(ARGV[2]), tonumber(ARGV[3]), {}
for at = 1, #ARGV[5], 8 do lost[string.sub(ARGV[5], at, at + 7)] = true end
local found = redis.call('ZSCAN', lane_of(consumer, lane) .. 'd', ARGV[4], 'COUNT', 500)
for i = 1, #found[2], 2 do
  local row = tonumber(found[2][i + 1]) > now and read(consumer, lane, found[2][i])
  if row and has(row, TAKEN) and lost[row.holder] then release(row, 0) end
end
return found[1]
