local lines = {}
for lane = 0, 15 do
  for _, line in ipairs(redis.call('HKEYS', lane_of(ARGV[2], lane) .. 's')) do
    lines[#lines + 1] = line
  end
end
return lines
