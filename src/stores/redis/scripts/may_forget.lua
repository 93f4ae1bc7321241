if ARGV[2] ~= '' and ARGV[2] ~= state then return 0 end
if ARGV[3] ~= '' and ARGV[3] ~= string.sub(old, 8, 14) then return 0 end
if state == 'C' and struct.unpack('>I6', old, 21) > now then return 2 end
