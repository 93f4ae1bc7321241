-- A token is the time in microseconds, moved on by an epoch for each run of the server; it is above
-- the last token, the record's token and the token that the caller has seen.
--
-- All that is the same for every record is done here, once: on a Cluster each call of the bundle
-- has a key or two.
local call, pack, sub, decoded = redis.call, struct.pack, string.sub, struct.unpack
local lease, seen_token, life = tonumber(ARGV[1]), tonumber(ARGV[3]), ARGV[4]
-- The ends of all records that are made here differ by token and print alone.
local made_head = '\001C\000\000\000\000\001'
local made_times = pack('>I6I6', now, now + lease)
local set_repl, nobody, everybody = redis.set_repl, redis.REPL_NONE, redis.REPL_ALL
