-- `till` is 0 if only a person opens the gate. A gate whose time is past counts as open.
local kept = redis.call('HGET', KEYS[1], ARGV[1])
local since, till = 0, 0
if kept then since, till = struct.unpack('>I6I6', kept) end
local shut = kept and (till == 0 or till > now)
