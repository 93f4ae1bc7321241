local run = prefix .. '{store}run:' .. ARGV[2]
redis.call('HDEL', run, ARGV[3], 'told')
redis.call('HDEL', prefix .. '{store}told:' .. ARGV[2], ARGV[3])
if redis.call('HLEN', run) == 0 then
  redis.call('HDEL', prefix .. '{store}runs', ARGV[2])
  redis.call('HDEL', prefix .. '{store}sessions', ARGV[2])
  redis.call('DEL', prefix .. '{store}alive:' .. ARGV[2])
end
return 'OK'
