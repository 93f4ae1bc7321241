-- A letter that was written again belongs to another finish too, whose record is settled by it.
for i = 2, #ARGV do
  if redis.call('HGET', letter_at(ARGV[i]), 't') == '1' then discard_letter(ARGV[i]) end
end
return 'OK'
