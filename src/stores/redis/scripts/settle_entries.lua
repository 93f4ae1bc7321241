-- Acknowledges entries of streams together with the records that were just written. From ARGV[acks]
-- on: the run id of this server; then for each group the run id of the server that has it, stream,
-- group, how many entries; and of each its id and the number of its answer, 0 where it has none.
local at, here = acks + 1, ARGV[acks]
while here and ARGV[at] do
  local server, stream, group, count = unpack(ARGV, at, at + 3)
  local ids, numbers = {}, {}
  for i = at + 4, at + 2 + 2 * tonumber(count), 2 do
    local number = tonumber(ARGV[i + 1])
    if server == here and (answer[number] or '1') == '1' then
      ids[#ids + 1], numbers[#numbers + 1] = ARGV[i], number
    end
  end
  at = at + 4 + 2 * tonumber(count)
  -- Where the server refuses, or does not have all of them pending, the records stand all the same,
  -- and the source acknowledges.
  if #ids > 0 and redis.pcall('XACK', stream, group, unpack(ids)) == #ids then
    for _, number in ipairs(numbers) do
      if answer[number] then answer[number] = 'S' end
    end
  end
end
return table.concat(answer)
