local consumer, answer = tonumber(ARGV[2]), {}
for i = 3, #ARGV, 4 do
  local row = append(consumer, unpack(ARGV, i, i + 3))
  answer[#answer + 1], answer[#answer + 2] = row.lane, row.number
end
return answer
