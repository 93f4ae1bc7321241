local answer = {}
for i = 2, #ARGV, 6 do
  local id, till, first, text, print, extra = unpack(ARGV, i, i + 5)
  local x, kept = extra ~= '' and cut(extra) or nothing, false
  if id ~= '' then
    kept = hold(x, id, tonumber(till), false, tonumber(first), text, print) and linked(id).number
  else
    hold(x, nil, now + tonumber(till), false, x.since and now - x.since or now)
  end
  answer[#answer + 1] = kept or ''
end
return answer
