local row = string.byte(old, 3) >= 2 and linked(id)
if row then remove(row) end
