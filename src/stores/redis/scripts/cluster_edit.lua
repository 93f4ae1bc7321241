local id, before, print, seen, content = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local letter = read_letter(id)
if not letter then return 'missing' end
if not is_as_seen(id, letter, before, seen) then return 'moved' end
local twin = letter.identity ~= '' and redis.call('HGET', letter_ids, index_field(letter, print))
if twin and twin ~= id then return 'twin' end
if not content then return 'yes' end
save_edit(id, letter, print, content)
return 'yes'
