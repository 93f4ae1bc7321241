local answer = {}
for i = 2, #ARGV, 6 do
  local id, first, text, print, body, extra = unpack(ARGV, i, i + 5)
  local x, new = cut(extra), false
  local letter = { replayed = 0, attempts = x.attempts, dead = now, reason = x.reason,
                   error = x.error }
  letter.first = tonumber(first) or (x.since and now - x.since) or now
  if x.head ~= '' then
    local given = parsed(x.head, x.consumer, 0, '')
    letter.consumer, letter.print, letter.key = x.consumer, given.print, given.key
    letter.record, letter.identity = x.record ~= '' and x.record or no_record, x.identity
    new = bury(letter, x.body)
  elseif body ~= '' then
    letter.consumer, letter.print, letter.key = consumer_of(id), print, text
    letter.record, letter.identity = id, 'k' .. id
    new = bury(letter, body)
  end
  answer[#answer + 1] = new and string.format('%d', new) or ''
end
return answer
