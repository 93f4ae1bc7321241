-- Whatever shows or hides a row leaves alone what is not in the hand of the caller, whose names stand
-- one behind the other.
local how, time, mine = ARGV[2], tonumber(ARGV[3]), {}
for at = 1, #ARGV[4], 5 do mine[string.sub(ARGV[4], at, at + 4)] = true end
for i = 5, #ARGV, 3 do
  local row = read(ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2])
  if row then
    row.consumer = tonumber(row.consumer)
    if how == 'remove' then
      remove(row)
    elseif not has(row, TAKEN) or not mine[string.sub(row.holder, 1, 5)] then
      -- Another has it, or nobody.
    elseif how == 'release' then
      release(row, time)
    elseif tonumber(redis.call('ZSCORE', row.at .. 'd', row.number) or '0') > now then
      due(row, now + time)
    end
  end
end
return 'OK'
