-- Only the state and the token that the caller saw; nothing: any does.
if ARGV[2] ~= '' and ARGV[2] ~= state then return 0 end
if ARGV[3] ~= '' and ARGV[3] ~= string.sub(old, 8, 14) then return 0 end
