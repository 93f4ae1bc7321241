#include "stores/redis/take_script.h"

namespace semel::redis {

// Places in a row's head are those that held_rows.h names, flags those of kRowScript.
const char* const kDueScript = R"lua(
local call, sub, byte, cut = redis.call, string.sub, string.byte, struct.unpack
local lanes, queues = {}, {}
for lane = 0, 15 do lanes[lane] = ARGV[1] .. '{h' .. ARGV[2] .. %LANE% end

local function open_queues(set)
  for lane = 0, 15 do
    queues[#queues + 1] = { lane = lane, name = lanes[lane] .. set, set = set, seen = 0, more = true, last = false }
  end
end

local function need_readable(head)
  if byte(head) ~= 1 then error('a newer Semel has written messages to this store') end
  if #head < 76 then error('the head of a message is too short') end
end

-- Heads of fresh rows by number. They are due at the time in their heads, and to read that is
-- cheaper than to be told a score.
local head_of, times = {}, {}

local function fresh_times(lane, numbers)
  local found = {}
  local heads = #numbers > 0 and call('HMGET', lanes[lane] .. 'm', unpack(numbers)) or found
  for i = 1, #numbers do
    local head, time = heads[i], '0000000000000'
    if head then
      need_readable(head)
      local ready = sub(head, 3, 8)
      time = times[ready]
      if not time then
        time = string.format('%013.0f', (cut('>I6', ready)))
        times[ready] = time
      end
      head_of[numbers[i]] = head
    end
    found[i] = time
  end
  return found
end

local function score_times(found)
  local numbers, scores = {}, {}
  for at = 1, #found, 2 do
    numbers[#numbers + 1] = found[at]
    scores[#scores + 1] = #found[at + 1] == 13 and found[at + 1] or string.format('%013.0f', tonumber(found[at + 1]))
  end
  return numbers, scores
end

-- Each row as text that sorts by when it is due and then by number: 13 digits of each, and a letter
-- for its queue. Up to `safe` nothing can come before what is in the pool; nil: up to its end.
local pool, pool_at, safe = {}, 1, ''

local function fill_pool(most)
  local rest, till = {}, nil
  for i = pool_at, #pool do rest[#rest + 1] = pool[i] end
  for i, queue in ipairs(queues) do
    if queue.more and (not queue.last or queue.last <= safe) then
      local numbers, due
      if queue.set == 'n' then
        numbers = call('ZRANGEBYSCORE', queue.name, '-inf', now, 'LIMIT', queue.seen, most)
        due = fresh_times(queue.lane, numbers)
      else
        numbers, due = score_times(
          call('ZRANGEBYSCORE', queue.name, '-inf', now, 'WITHSCORES', 'LIMIT', queue.seen, most))
      end
      local letter, at = string.char(47 + i), #rest
      for k = 1, #numbers do rest[at + k] = due[k] .. numbers[k] .. letter end
      queue.seen, queue.more = queue.seen + #numbers, #numbers == most
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
)lua";

// Rows nobody has met yet, oldest due first. Bodies are read in parts, for a head tells the size of
// a payload and not that of its headers.
const char* const kLookScript = R"lua(
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
)lua";

// All is read before anything is written, so that what cannot be read changes nothing; the first
// thing that is written needs memory, so that a full server changes nothing either.
const char* const kTakeScript = R"lua(
local holder, most, most_bytes, in_lines = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[7] == '1'
local nobody, kWithTheFirst, kMostLookedAt = string.rep('\000', 8), 32, 16 * 256
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

local function in_hand(lane, number)
  if not rows[number] then read({ [lane] = { number } }) end
  local row = rows[number]
  if row and row.mine == nil then
    row.mine = row.flags % 4 >= 2 and sub(row.head, 29, 36) == holder and
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
local named_at, named, fresh_ones, stale = 8, {}, {}, {}
for i = 8, #ARGV, 4 do add_to(named, tonumber(ARGV[i]), ARGV[i + 1]) end
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
  if fresh and not (number and due < string.format('%013.0f', (cut('>I6', fresh.head, 3))) .. name) then
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

local to_send, moved = {}, {}
for _, row in ipairs(given) do
  if not row.index then add_to(to_send, row.lane, row.number) end
end
for _, row in ipairs(touched) do
  if row.line and row.index and row.from ~= row.lane then add_to(moved, row.from, row.number) end
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
    flags, hand = flags + 2, holder
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
)lua";

}  // namespace semel::redis
