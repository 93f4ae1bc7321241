local count = 0
for i = 2, #ARGV do
  local id = ARGV[i]
  local letter = read_letter(id)
  if letter then
    local field = index_field(letter, letter.print)
    if redis.call('HGET', letter_ids, field) == id then redis.call('HDEL', letter_ids, field) end
    redis.call('ZREM', letters, id)
    redis.call('DEL', letter_at(id))
    redis.call('HINCRBY', prefix .. '{store}letter-counts', letter.consumer, -1)
    count = count + 1
  end
end
return count
