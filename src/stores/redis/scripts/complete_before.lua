local call, sub, cut = redis.call, string.sub, struct.unpack
-- See held_by in records.lua.
local NO_NAME = string.rep('\000', 8)
local ttl, till = ARGV[1], struct.pack('>I6', now)
