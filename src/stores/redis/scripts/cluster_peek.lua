local answer = {}
for i, key in ipairs(KEYS) do
  local old = redis.call('GETRANGE', key, '0', '25')
  answer[i] = #old == 26 and string.sub(old, 2, 2) ..
              string.format('%.0f', math.max(struct.unpack('>I6', old, 21) - now, 0)) or ''
end
return answer
