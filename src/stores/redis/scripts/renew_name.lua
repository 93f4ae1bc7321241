-- A server that lost the name gets it again.
local there = redis.call('GET', KEYS[1])
local nonce = tonumber(ARGV[1])
if there and string.sub(there, 1, nonce) ~= string.sub(ARGV[2], 1, nonce) then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
