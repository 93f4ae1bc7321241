return reopen(KEYS[1], ARGV[2]) and 1 or 0
