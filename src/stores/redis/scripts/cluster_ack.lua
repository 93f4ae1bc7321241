local answer = {}
for i = 2, #ARGV do
  local row = named(ARGV[i])
  local found = row and row.record ~= no_record and linked(row.record)
  answer[i - 1] = ''
  if found and found.number == row.number then
    answer[i - 1] = row.record
  elseif row then
    remove(row)
  end
end
return answer
