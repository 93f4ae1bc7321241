-- For processes that end a record of the consumer and have not attached it.
local function with_ttl(number)
  local field = string.format('%d', number)
  if redis.call('HGET', KEYS[3], field) ~= ARGV[6] then
    redis.call('HSET', KEYS[3], field, ARGV[6])
  end
  return number
end

local known = redis.call('HGET', KEYS[1], ARGV[1])
local number
if known then
  number = struct.unpack('>I4', known)
  if string.sub(known, 5) == ARGV[3] then return with_ttl(number) end
  if ARGV[4] ~= '1' then return 0 end
else
  number = tonumber(ARGV[2])
  while redis.call('HSETNX', KEYS[2], string.format('%d', number), ARGV[1]) == 0 do
    if redis.call('HGET', KEYS[2], string.format('%d', number)) == ARGV[1] then break end
    number = number % tonumber(ARGV[5]) + 1
  end
end
redis.call('HSET', KEYS[1], ARGV[1], struct.pack('>I4', number) .. ARGV[3])
return with_ttl(number)
