-- Headers and payload as whoever edits it saw them.
local function is_as_seen(id, letter, before, seen)
  local content = redis.call('HGET', letter_at(id), 'b') or struct.pack('>I4', 0)
  return letter.print == before and content == seen
end

-- `e`: its fingerprint before it was first edited.
local function save_edit(id, letter, print, content)
  local before = letter.print
  redis.call('HSET', letter_ids, index_field(letter, print), id)
  if print ~= before then redis.call('HDEL', letter_ids, index_field(letter, before)) end
  letter.print = print
  save_letter(id, letter)
  redis.call('HSETNX', letter_at(id), 'e', before)
  redis.call('HSET', letter_at(id), 'b', content)
end
