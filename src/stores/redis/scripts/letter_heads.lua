local heads = {}
for i = 2, #ARGV do heads[i - 1] = redis.call('HGET', letter_at(ARGV[i]), 'm') end
return heads
