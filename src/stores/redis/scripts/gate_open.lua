if kept and till ~= 0 then redis.call('HDEL', KEYS[1], ARGV[1]) end
return 1
