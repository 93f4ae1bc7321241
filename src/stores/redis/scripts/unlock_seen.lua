return reopen(KEYS[1]) and 1 or 0
