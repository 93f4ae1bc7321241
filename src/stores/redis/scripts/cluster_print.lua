if redis.call('GETRANGE', KEYS[1], '0', '41') ~= ARGV[1] then return 0 end
redis.call('SETRANGE', KEYS[1], '26', ARGV[2])
return 1
