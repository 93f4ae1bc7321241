-- Rows that no consumer has met yet, oldest due first. Bodies are read in parts, since a head has
-- the size of a payload and not that of its headers.
local most, most_bytes, kAtOnce = tonumber(ARGV[3]), tonumber(ARGV[4]), 64
local answer, count, bytes, full = { now }, 0, 0, false
open_queues('n')
while count < most and not full do
  local some, by_lane, payloads = {}, {}, bytes
  while #some < math.min(most - count, kAtOnce) do
    local number, queue = next_due(most)
    if not number then
      full = true
      break
    end
    if head_of[number] then
      some[#some + 1] = { number, queue.lane }
      payloads = payloads + cut('>I4', head_of[number], 25)
      if payloads <= most_bytes then add_to(by_lane, queue.lane, number) end
    end
  end
  local bodies = fetch('b', by_lane)
  for _, row in ipairs(some) do
    local number, lane = row[1], row[2]
    local body = bodies[number]
    -- The first is given however large it is.
    if body == nil and count == 0 then body = call('HGET', lanes[lane] .. 'b', number) end
    if body == nil or body and bytes > 0 and bytes + #body > most_bytes then
      full = true
      break
    end
    if body then
      count, bytes = count + 1, bytes + #body
      local at = #answer
      answer[at + 1], answer[at + 2], answer[at + 3], answer[at + 4] = lane, number, head_of[number], body
    end
  end
end
return answer
