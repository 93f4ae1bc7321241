local call, sub, cut = redis.call, string.sub, struct.unpack
local ttl, till = ARGV[1], struct.pack('>I6', now)
