redis.call('HDEL', KEYS[1], ARGV[1])
return shut and 1 or 0
