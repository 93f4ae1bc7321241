-- The log and the replicas get the new entry alone, and not the whole record again.
local key = KEYS[1]
local old = beginning(key)
if not held_by(old, ARGV[1]) then return 0 end
local value = redis.call('GET', key)
if string.byte(old) == 2 then
  redis.call('SETRANGE', key, string.format('%d', #value), ARGV[2])
  return 1
end
local text = behind(value, 59)
local _, all = with_journal('', string.sub(value, text), ARGV[2])
redis.call('SET', key, '\002' .. string.sub(value, 2, text - 1) .. all)
return 1
