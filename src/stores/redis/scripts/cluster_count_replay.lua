local letter = read_letter(ARGV[2])
if letter then count_replay(ARGV[2], letter) end
return 'OK'
