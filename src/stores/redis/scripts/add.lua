local added = 0
for i = 2, #ARGV, 2 do
  local letter = parsed_letter(ARGV[i])
  if not redis.call('HGET', letter_ids, index_field(letter, letter.print)) then
    insert_letter(letter, ARGV[i + 1])
    added = added + 1
  end
end
return added
