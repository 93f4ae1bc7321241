local key, id, before, print, seen, content =
  KEYS[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local letter = read_letter(id)
if not letter then return 'missing' end
if not is_as_seen(id, letter, before, seen) then return 'moved' end
local old = ''
if letter.record ~= no_record then
  if string.sub(key, -20) ~= letter.record then return 'again' end
  old = beginning(key)
end
if old ~= '' then
  local state = string.sub(old, 2, 2)
  if state == 'D' then return 'completed' end
  if before ~= no_print and before ~= string.sub(old, 27, 42) then return 'conflict' end
  if state ~= 'X' then return 'busy' end
  if string.byte(old, 3) % 2 == 1 then return 'unknown' end
end
local twin = letter.identity ~= '' and redis.call('HGET', letter_ids, index_field(letter, print))
if twin and twin ~= id then return 'twin' end
save_edit(id, letter, print, content)
if old ~= '' then redis.call('SETRANGE', key, 26, print) end
return 'yes'
