local till = struct.pack('>I6', now + tonumber(ARGV[1]))
local answer = {}
for i, key in ipairs(KEYS) do
  local asked = ARGV[i + 1]
  local held = held_by(beginning(key), string.sub(asked, 1, 16))
  if held then
    redis.call('SETRANGE', key, '20', till)
    if #asked > 16 then redis.call('SETRANGE', key, '42', string.sub(asked, 17)) end
  end
  answer[i] = held and '1' or '0'
end
return table.concat(answer)
