local kScanned, kMostBytes = 256, 4194304
local most, consumer, reason, whole = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6] == '1'
local ids = redis.call('ZRANGEBYSCORE', letters, '(' .. ARGV[2], '+inf', 'LIMIT', 0, kScanned)
local answer, count, bytes = { #ids == kScanned and ids[#ids] or '' }, 0, 0
for _, id in ipairs(ids) do
  if count >= most or bytes > kMostBytes then break end
  local head = redis.call('HGET', letter_at(id), 'm')
  local letter = head and parsed_letter(head)
  if letter and (not consumer or letter.consumer == consumer) and
     (reason == '' or letter.reason == string.sub(reason, 2)) then
    local origin = redis.call('HGET', letter_at(id), 'o')
    local content = whole and redis.call('HGET', letter_at(id), 'b') or ''
    for _, part in ipairs({ id, head, origin, content }) do answer[#answer + 1] = part end
    count, bytes = count + 1, bytes + #content
    if bytes > kMostBytes then answer[1] = id end
  end
end
return answer
