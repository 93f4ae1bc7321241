local record, print, original = ARGV[2], ARGV[3], ARGV[4]
local id = letter_of(record, print)
if id and redis.call('HGET', letter_at(id), 'e') == original then return 1 end
return 0
