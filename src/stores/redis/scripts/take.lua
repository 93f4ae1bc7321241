-- It reads everything before it writes anything, so that a value that cannot be read changes
-- nothing. The first write needs memory, so that a full server changes nothing either.
local take, most, most_bytes, in_lines = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[7] == '1'
local instance, lost = sub(take, 1, 5), {}
for at = 1, #ARGV[8], 8 do lost[sub(ARGV[8], at, at + 7)] = true end
local nobody, kWithTheFirst, kMostLookedAt = string.rep('\000', 8), 32, 16 * 256
local no_record = string.rep('\000', 20)
local rows, lines, touched, given, count, bytes, looked_at = {}, {}, {}, {}, 0, 0, 0
local function text_of(number) return string.format('%.0f', number) end
local till = text_of(now + math.max(tonumber(ARGV[6]), 1))

local function add_row(lane, number, head)
  need_readable(head)
  rows[number] = {
    number = number, lane = lane, head = head, flags = byte(head, 2), bytes = cut('>I4', head, 25),
    index = false, given = false, waits = false, touched = false, line = false, unmet = false,
    from = false, place = false, place_text = false, before = false,
  }
end

local function read(by_lane)
  for lane, numbers in pairs(by_lane) do
    for i, head in ipairs(call('HMGET', lanes[lane] .. 'm', unpack(numbers))) do
      if head and not rows[numbers[i]] then add_row(lane, numbers[i], head) end
    end
  end
end

local function full() return count >= most or (count > 0 and bytes >= most_bytes) end

local function touch(row)
  if not row.touched then touched[#touched + 1], row.touched = row, true end
end

local function give(row)
  touch(row)
  row.given, row.waits, row.mine = true, false, true
  count, bytes = count + 1, bytes + row.bytes
  given[count] = row
end

local function line_of(lane, name)
  local line = lines[name]
  if not line then
    local key = lanes[lane] .. 'l' .. name
    line = { key = key, lane = lane, name = name, joins = {}, waiting = {}, bytes = 0 }
    line.first = call('ZRANGE', key, '0', '0')[1]
    lines[name] = line
  end
  return line
end

-- Puts a fresh row at the end of its line, in the lane of that.
local function meet(row, index, name, lane)
  row.unmet, row.from, row.index = row.lane, row.lane, index
  if name == '' then return end
  local line = line_of(lane, sub(name, 2))
  if not line.last then
    local last = line.first and call('ZREVRANGE', line.key, '0', '0', 'WITHSCORES') or {}
    line.last, line.place = last[1], tonumber(last[2] or '0')
  end
  local number = row.number
  row.lane, row.line, row.before = lane, line, line.last
  row.place, row.place_text = tonumber(number), number
  if row.place <= line.place then
    row.place = line.place + 1
    row.place_text = text_of(row.place)
  end
  line.first, line.last, line.place = line.first or number, number, row.place
  local joins = line.joins
  local at = #joins
  joins[at + 1], joins[at + 2] = row.place_text, number
  line.bytes = line.bytes + row.bytes
end

-- Not one whose taker has never heard of it.
local function in_hand(lane, number)
  if not rows[number] then read({ [lane] = { number } }) end
  local row = rows[number]
  if row and row.mine == nil then
    local by = sub(row.head, 29, 36)
    row.mine = row.flags % 4 >= 2 and sub(by, 1, 5) == instance and not lost[by] and
               tonumber(call('ZSCORE', lanes[lane] .. 'd', number) or '0') > now
  end
  return row and row.mine
end

-- Rows between the first and the one right before were in this hand when that one was taken, and
-- leave it only together with all behind them: the two ends tell.
local function waits(row)
  local first, before = row.line.first, row.before
  if first == row.number then return false end
  if not in_hand(row.lane, first) then return true end
  if not row.index then
    before = call('ZREVRANGEBYSCORE', row.line.key, '(' .. row.place_text, '-inf', 'LIMIT', '0', '1')[1]
  end
  return before and before ~= first and not in_hand(row.lane, before)
end

-- Gives the rows behind one that was given, as far as they wait for nothing else.
local function give_behind(row)
  local behind = call('ZRANGEBYSCORE', row.line.key, '(' .. row.place_text, '+inf', 'LIMIT', '0', kWithTheFirst)
  if #behind > 0 then read({ [row.lane] = behind }) end
  for _, number in ipairs(behind) do
    local other = rows[number]
    if full() or not other or other.given or not (other.waits or other.flags % 8 >= 4) then return end
    give(other)
  end
  if #behind == kWithTheFirst then return end
  for _, other in ipairs(row.line.waiting) do
    if full() or other.given then return end
    give(other)
  end
end

local function look_at(row)
  if not row.line then
    if row.flags % 64 < 32 then return give(row) end
    row.place_text = text_of((cut('>I6', row.head, 9)))
    row.line = line_of(row.lane, sub(row.head, 77, 76 + cut('>I4', row.head, 73)))
  end
  if waits(row) then
    touch(row)
    row.waits, row.mine = true, false
    if row.index then row.line.waiting[#row.line.waiting + 1] = row end
    return
  end
  give(row)
  -- Behind one that has just joined is nothing yet.
  if not row.index then give_behind(row) end
end

-- The rows named by the caller, as far as nobody has met them since, and then all that are due,
-- oldest first. The named ones of a lane are the first there, but for what has come or gone.
local named_at, named, fresh_ones, stale = 9, {}, {}, {}
for i = 9, #ARGV, 4 do add_to(named, tonumber(ARGV[i]), ARGV[i + 1]) end
for lane, numbers in pairs(named) do
  local set = lanes[lane] .. 'n'
  for _, number in ipairs(call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', '0', #numbers)) do
    fresh_ones[number] = true
  end
  for _, number in ipairs(numbers) do
    if not fresh_ones[number] then fresh_ones[number] = call('ZSCORE', set, number) end
  end
end
read(named)
open_queues('d')
if not in_lines then open_queues('n') end

local function due_text(head, number)
  local ready = cut('>I6', head, 3)
  return (ready > 0 and string.format('%013.0f', ready) or number) .. number
end

local function read_due(number, queue)
  local some = {}
  if head_of[number] then return add_row(queue.lane, number, head_of[number]) end
  add_to(some, queue.lane, number)
  for at = pool_at, math.min(#pool, pool_at + math.max(most - count, looked_at)) do
    local other = sub(pool[at], 14, -2)
    if not head_of[other] then add_to(some, queues[byte(pool[at], -1) - 47].lane, other) end
  end
  read(some)
end

-- A call ends after so many. Each row that was looked at is due no more, so the next call goes on
-- behind them.
local number, queue, due
while not full() and looked_at < kMostLookedAt do
  local name = ARGV[named_at + 1]
  local fresh = rows[name]
  while name and not (fresh and fresh_ones[name]) do
    named_at = named_at + 4
    name = ARGV[named_at + 1]
    fresh = rows[name]
  end
  if not number then number, queue, due = next_due(math.max(most, looked_at)) end
  if fresh and not (number and due < due_text(fresh.head, name)) then
    meet(fresh, named_at, ARGV[named_at + 2], tonumber(ARGV[named_at + 3]))
    look_at(fresh)
    named_at = named_at + 4
    looked_at = looked_at + 1
  elseif number then
    if not rows[number] then read_due(number, queue) end
    local row = rows[number]
    if not row then
      add_to(stale, queue.name, number)
    elseif not row.touched then
      if queue.set == 'n' then row.unmet = row.lane end
      look_at(row)
    end
    number = nil
    looked_at = looked_at + 1
  else
    break
  end
end

local to_send, moved, links = {}, {}, {}
for _, row in ipairs(given) do
  if not row.index then add_to(to_send, row.lane, row.number) end
end
for _, row in ipairs(touched) do
  if row.line and row.index and row.from ~= row.lane then
    add_to(moved, row.from, row.number)
    -- Its record finds it in its new lane.
    local id = sub(row.head, 53, 72)
    local index = lanes[byte(id, 20) % 16] .. 'o'
    if id ~= no_record and call('HGET', index, id) == string.char(row.from) .. row.number then
      add_to(links, index, id)
      add_to(links, index, string.char(row.lane) .. row.number)
    end
  end
end
local bodies, moved_bodies = fetch('b', to_send), fetch('b', moved)

-- From here on it is written.
local heads, new_bodies, dues, hidden, met = {}, {}, {}, {}, {}
for _, row in ipairs(touched) do
  local old, flags, lane, number = row.head, row.flags, row.lane, row.number
  if flags % 4 >= 2 then flags = flags - 2 end
  if flags % 8 >= 4 then flags = flags - 4 end
  local hand = nobody
  if row.given then
    flags, hand = flags + 2, take
    local those = dues[lane]
    if not those then
      those = {}
      dues[lane] = those
    end
    local at = #those
    those[at + 1], those[at + 2] = till, number
  else
    flags = flags + 4
    if not row.index then add_to(hidden, lane, number) end
  end
  local head
  if row.line and row.index then
    if flags % 64 < 32 then flags = flags + 32 end
    local name = row.line.name
    head = struct.pack('>BBc6I6c14c8c36I4', 1, flags, sub(old, 3, 8), row.place, sub(old, 15, 28), hand,
                       sub(old, 37, 72), #name) .. name .. sub(old, 77 + cut('>I4', old, 73))
  else
    head = '\001' .. string.char(flags) .. sub(old, 3, 28) .. hand .. sub(old, 37)
  end
  local those = heads[lane]
  if not those then
    those = {}
    heads[lane] = those
  end
  local at = #those
  those[at + 1], those[at + 2] = number, head
  local body = moved_bodies[number]
  if body then
    add_to(new_bodies, lane, number)
    add_to(new_bodies, lane, body)
  end
  if row.unmet then add_to(met, row.unmet, number) end
end

-- In parts, for a command has room for some thousands of words.
local function write(command, all, behind)
  for lane, words in pairs(all) do
    local name = behind and lanes[lane] .. behind or lane
    for at = 1, #words, 1000 do call(command, name, unpack(words, at, math.min(#words, at + 999))) end
  end
end
write('HSET', heads, 'm')
write('HSET', new_bodies, 'b')
write('HSET', links)
write('ZADD', dues, 'd')
for name, line in pairs(lines) do
  if #line.joins > 0 then
    write('ZADD', { [line.key] = line.joins })
    call('HINCRBY', lanes[line.lane] .. 's', name, text_of(line.bytes))
  end
end
write('ZREM', met, 'n')
write('HDEL', moved, 'm')
write('HDEL', moved, 'b')
write('ZREM', hidden, 'd')
write('ZREM', stale)

local answer = { now, looked_at == kMostLookedAt and 1 or 0 }
for _, row in ipairs(given) do
  local at = #answer
  if row.index then
    answer[at + 1] = 0 - row.index
  else
    answer[at + 1], answer[at + 2], answer[at + 3] = row.lane, row.number, row.head
    answer[at + 4] = bodies[row.number] or ''
  end
end
return answer
