for i, key in ipairs(KEYS) do
  local old = beginning(key)
  local is_kept = string.sub(old, 1, 2) == '\002X' and string.sub(old, 27, 42) == ARGV[2 * i - 1]
  if is_kept and redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, ARGV[2 * i]) end
end
return 'OK'
