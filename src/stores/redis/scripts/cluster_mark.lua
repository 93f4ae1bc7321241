local answer = {}
for i, key in ipairs(KEYS) do
  local old = beginning(key)
  answer[i] = ''
  if held_by(old, ARGV[3 * i - 2]) then
    local flags, tail = string.byte(old, 3), redis.call('GETRANGE', key, '58', '-1')
    if ARGV[3 * i - 1] == '1' and flags < 4 then
      redis.call('SETRANGE', key, '2', string.char(flags + 4))
    end
    answer[i] = struct.pack('>I6', now + tonumber(ARGV[3 * i])) .. string.sub(old, 15, 20) ..
                string.char(flags >= 2 and 1 or 0) .. string.sub(old, 27, 42) ..
                string.sub(tail, 5, 4 + struct.unpack('>I4', tail))
  end
end
return answer
