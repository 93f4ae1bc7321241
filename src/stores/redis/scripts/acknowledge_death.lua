return redis.call('HDEL', prefix .. '{store}told:' .. ARGV[2], ARGV[3])
