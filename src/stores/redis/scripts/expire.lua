local function in_hand(letter, key)
  if key == letters or letter.record == no_record then return false end
  if string.sub(key, -20) ~= letter.record then return true end
  local old = beginning(key)
  if old == '' or string.find('CRP', string.sub(old, 2, 2), 1, true) == nil then return false end
  return letter.print == no_print or letter.print == string.sub(old, 27, 42)
end
local remove, answer = ARGV[2] == '1', {}
for i = 3, #ARGV, 2 do
  local id, key = ARGV[i], KEYS[(i - 1) / 2]
  local letter = read_letter(id)
  local past = letter and letter.dead + tonumber(ARGV[i + 1]) <= now
  if past and remove then past = not in_hand(letter, key) and discard_letter(id) end
  answer[#answer + 1] = past and '1' or '0'
end
return table.concat(answer)
