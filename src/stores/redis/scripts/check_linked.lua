local answer = {}
for i = 2, #ARGV do answer[i - 1] = linked(ARGV[i]) and '-' or 'H' end
return table.concat(answer)
