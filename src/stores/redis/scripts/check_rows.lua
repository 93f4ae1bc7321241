-- A row behind another one is found when that one goes.
local answer = {}
local function check(row)
  if redis.call('HEXISTS', row.at .. 'b', row.number) == 0 then return 'B' end
  if has(row, BEHIND) then
    local first = redis.call('ZRANGE', line_of(row), 0, 0)[1]
    return first and first ~= row.number and '-' or 'N'
  end
  local found = redis.call('ZSCORE', row.at .. 'd', row.number) or
                redis.call('ZSCORE', row.at .. 'n', row.number) or
                redis.call('SISMEMBER', row.at .. 'p', row.number) == 1
  return found and '-' or 'N'
end
for i = 4, #ARGV do
  local row = read(tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[i])
  answer[#answer + 1] = row and check(row) or '-'
end
return table.concat(answer)
