-- A row that is due at once has waited since its number was drawn; others of its set may have waited for longer.
local rows, first, since = 0, nil, nil
for lane = 0, 15 do
  local at = lane_of(ARGV[2], lane)
  rows = rows + redis.call('HLEN', at .. 'm') - redis.call('SCARD', at .. 'p')
  for _, set_of in ipairs({ 'd', 'n' }) do
    local number, score = unpack(redis.call('ZRANGE', at .. set_of, 0, 0, 'WITHSCORES'))
    if score then
      score = tonumber(score)
      local from = score > 0 and score or tonumber(number)
      first, since = math.min(first or score, score), math.min(since or from, from)
      local timed = score == 0 and redis.call('ZRANGEBYSCORE', at .. set_of, '(0', now, 'WITHSCORES', 'LIMIT', 0, 1)[2]
      if timed then since = math.min(since, tonumber(timed)) end
    end
  end
end
if not first then return { rows } end
return { rows, math.max(first - now, 0), since }
