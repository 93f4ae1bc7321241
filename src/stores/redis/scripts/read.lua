return { redis.call('GET', KEYS[1]), now }
