-- Flags are those of rows.lua.
local call, sub, byte, cut = redis.call, string.sub, string.byte, struct.unpack
local lanes, queues = {}, {}
for lane = 0, 15 do lanes[lane] = ARGV[1] .. '{h' .. ARGV[2] .. LANE_NAME end

local function open_queues(set)
  for lane = 0, 15 do
    queues[#queues + 1] = { lane = lane, name = lanes[lane] .. set, set = set, from = '-inf', till = now,
                            seen = 0, more = true, last = false }
  end
end

local function need_readable(head)
  if byte(head) ~= 1 then error('a newer Semel has written messages to this store') end
  if #head < 76 then error('the head of a message is too short') end
end

-- Heads of fresh rows by number. They are due at the time in their heads, and to read that is
-- cheaper than to be told a score. A row that is due at once, at 0, is among the others since its
-- number was drawn.
local head_of, times, at_once, AT_ONCE = {}, {}, {}, '0000000000000'

local function fresh_times(lane, numbers)
  local found = {}
  local heads = #numbers > 0 and call('HMGET', lanes[lane] .. 'm', unpack(numbers)) or found
  for i = 1, #numbers do
    local head, time = heads[i], AT_ONCE
    if head then
      need_readable(head)
      local ready = sub(head, 3, 8)
      time = times[ready]
      if not time then
        time = string.format('%013.0f', (cut('>I6', ready)))
        times[ready] = time
      end
      head_of[numbers[i]] = head
      if time == AT_ONCE then time, at_once[numbers[i]] = numbers[i], true end
    end
    found[i] = time
  end
  return found
end

local function score_times(found)
  local numbers, scores = {}, {}
  for at = 1, #found, 2 do
    local number, score = found[at], found[at + 1]
    if score == '0' then score, at_once[number] = number, true end
    numbers[#numbers + 1] = number
    scores[#scores + 1] = #score == 13 and score or string.format('%013.0f', tonumber(score))
  end
  return numbers, scores
end

-- Each row as text that sorts by when it is due and then by number: 13 digits of each, and a letter
-- for its queue. Up to `safe` nothing can come before what is in the pool; nil: up to its end.
local pool, pool_at, safe = {}, 1, ''

-- Its first rows are those that are due at once. Where it has more rows than one look, the others
-- get a queue of their own: the rows of each are in order.
local function keep_at_once(queue, numbers, due)
  local count = #numbers
  while count > 0 and not at_once[numbers[count]] do count = count - 1 end
  if count == 0 then return end
  for i = #numbers, count + 1, -1 do numbers[i], due[i] = nil, nil end
  queue.from, queue.till = 0, 0
  queues[#queues + 1] = { lane = queue.lane, name = queue.name, set = queue.set, from = '(0', till = now,
                          seen = 0, more = true, last = false }
end

local function fill_pool(most)
  local rest, till = {}, nil
  for i = pool_at, #pool do rest[#rest + 1] = pool[i] end
  for i, queue in ipairs(queues) do
    if queue.more and (not queue.last or queue.last <= safe) then
      local numbers, due
      if queue.set == 'n' then
        numbers = call('ZRANGEBYSCORE', queue.name, queue.from, queue.till, 'LIMIT', queue.seen, most)
        due = fresh_times(queue.lane, numbers)
      else
        numbers, due = score_times(
          call('ZRANGEBYSCORE', queue.name, queue.from, queue.till, 'WITHSCORES', 'LIMIT', queue.seen, most))
      end
      local full = #numbers == most
      if full and queue.from == '-inf' then keep_at_once(queue, numbers, due) end
      local letter, at = string.char(47 + i), #rest
      for k = 1, #numbers do rest[at + k] = due[k] .. numbers[k] .. letter end
      queue.seen, queue.more = queue.seen + #numbers, full and #numbers == most
      queue.last = rest[#rest]
    end
    if queue.more and (not till or queue.last < till) then till = queue.last end
  end
  table.sort(rest)
  pool, pool_at, safe = rest, 1, till
end

-- Its number and queue, and the text; nothing where no more are due.
local function next_due(most)
  while safe and (not pool[pool_at] or pool[pool_at] > safe) do fill_pool(math.ceil(most / 15) + 2) end
  local text = pool[pool_at]
  if not text then return nil end
  pool_at = pool_at + 1
  return sub(text, 14, -2), queues[byte(text, -1) - 47], text
end

-- Reads one of the hashes of each lane, for some numbers of it. The result is by number.
local function fetch(hash, by_lane)
  local found = {}
  for lane, numbers in pairs(by_lane) do
    for i, bytes in ipairs(call('HMGET', lanes[lane] .. hash, unpack(numbers))) do
      found[numbers[i]] = bytes
    end
  end
  return found
end

local function add_to(by_lane, lane, number)
  local numbers = by_lane[lane]
  if numbers then numbers[#numbers + 1] = number else by_lane[lane] = { number } end
end
