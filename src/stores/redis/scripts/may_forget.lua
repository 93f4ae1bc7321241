if state == 'C' and struct.unpack('>I6', old, 21) > now then return 2 end
