-- The instance keeps what it holds until its time is over: nobody knows whether it is gone.
local name, kForgotten = ARGV[2], 86400000
if is_another(name, ARGV[3]) then return 0 end
local told = redis.call('HGET', prefix .. '{store}run:' .. name, 'told')
if told and tonumber(told) + kForgotten < now then return forget_run(name) end
tell(name)
return 0
