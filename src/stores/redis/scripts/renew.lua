local till = struct.pack('>I6', now + tonumber(ARGV[1]))
local answer = {}
for i, key in ipairs(KEYS) do
  local held = held_by(beginning(key), ARGV[i + 1])
  if held then redis.call('SETRANGE', key, '20', till) end
  answer[i] = held and '1' or '0'
end
return table.concat(answer)
