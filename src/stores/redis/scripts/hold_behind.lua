local consumer, most = tonumber(ARGV[2]), tonumber(ARGV[3])
local full, answer = {}, {}
local function hold(row, body)
  local bytes = redis.call('HGET', row.at .. 's', row.line)
  if not bytes then return 'F' end
  -- A row that has found no room lets none of its line by.
  if full[row.line] or tonumber(bytes) + row.bytes > most then
    full[row.line] = true
    return 'U'
  end
  row.ready = 0
  set(row, BEHIND, true)
  add(row, body)
  save(row)
  return 'H'
end
for i = 4, #ARGV, 3 do
  answer[#answer + 1] = hold(parsed(ARGV[i + 1], consumer, tonumber(ARGV[i]), ''), ARGV[i + 2])
end
return table.concat(answer)
