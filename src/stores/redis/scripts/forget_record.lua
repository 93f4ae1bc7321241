local id = string.sub(KEYS[1], -20)
redis.call('DEL', KEYS[1], string.sub(KEYS[1], 1, -21) .. 'crash:' .. id)
