local lines = {}
for lane = 0, 15 do
  local at = lane_of(ARGV[2], lane)
  for _, line in ipairs(redis.call('HKEYS', at .. 's')) do
    local first = redis.call('ZRANGE', at .. 'l' .. line, 0, 0)[1]
    local row = first and read(ARGV[2], lane, first)
    if row and has(row, PARKED) then
      -- An older Semel parked it in its place.
      leave_line(row)
      save(row)
    end
    if redis.call('HEXISTS', at .. 's', line) == 1 then lines[#lines + 1] = line end
  end
end
return lines
