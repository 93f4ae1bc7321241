local id, before, print, content = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local letter = read_letter(id)
if not letter then return 'missing' end
if letter.print ~= before then return 'moved' end
local twin = letter.identity ~= '' and redis.call('HGET', letter_ids, index_field(letter, print))
if twin and twin ~= id then return 'twin' end
if not content then return 'yes' end
redis.call('HSET', letter_ids, index_field(letter, print), id)
if print ~= before then redis.call('HDEL', letter_ids, index_field(letter, before)) end
letter.print = print
save_letter(id, letter)
redis.call('HSET', letter_at(id), 'b', content)
return 'yes'
