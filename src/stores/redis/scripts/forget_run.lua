if is_another(ARGV[2], ARGV[3]) then return 0 end
return forget_run(ARGV[2])
