local how, time = ARGV[2], tonumber(ARGV[3])
for i = 4, #ARGV, 3 do
  local row = read(ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2])
  if row then
    row.consumer = tonumber(row.consumer)
    if how == 'remove' then
      remove(row)
    elseif how == 'release' then
      release(row, time)
    elseif has(row, TAKEN) and tonumber(redis.call('ZSCORE', row.at .. 'd', row.number) or '0') > now then
      due(row, now + time)
    end
  end
end
return 'OK'
