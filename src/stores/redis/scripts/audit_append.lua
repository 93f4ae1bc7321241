-- Arguments: the request; the entry. No entry goes, so their number is the last one's id.
local id = redis.call('HGET', KEYS[3], ARGV[1])
if id then return tonumber(id) end
id = redis.call('HLEN', KEYS[1]) + 1
redis.call('HSET', KEYS[1], id, struct.pack('>I6', now) .. ARGV[2])
redis.call('HSET', KEYS[3], ARGV[1], id)
return id
