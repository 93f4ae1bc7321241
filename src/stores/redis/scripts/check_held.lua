local answer = {}
for i, key in ipairs(KEYS) do
  local flags = string.byte(redis.call('GETRANGE', key, 2, 2)) or 0
  answer[i] = flags >= 2 and not linked(string.sub(key, -20)) and 'H' or '-'
end
return table.concat(answer)
