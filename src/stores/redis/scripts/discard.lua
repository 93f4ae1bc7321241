local count = 0
for i = 2, #ARGV do
  if discard_letter(ARGV[i]) then count = count + 1 end
end
return count
