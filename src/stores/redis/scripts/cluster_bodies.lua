local answer = {}
for i = 2, #ARGV, 2 do
  local row = named(ARGV[i + 1]) or (ARGV[i] ~= '' and linked(ARGV[i]))
  answer[#answer + 1] = row and redis.call('HGET', row.at .. 'b', row.number) or ''
end
return answer
