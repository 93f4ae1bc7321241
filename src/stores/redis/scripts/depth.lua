local rows, first = 0, nil
for lane = 0, 15 do
  local at = lane_of(ARGV[2], lane)
  rows = rows + redis.call('HLEN', at .. 'm') - redis.call('SCARD', at .. 'p')
  for _, set_of in ipairs({ 'd', 'n' }) do
    local score = redis.call('ZRANGE', at .. set_of, 0, 0, 'WITHSCORES')[2]
    if score then first = math.min(first or tonumber(score), tonumber(score)) end
  end
end
if not first then return { rows } end
return { rows, math.max(first - now, 0), first }
