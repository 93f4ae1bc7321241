#include "stores/redis/take_script.h"

namespace semel::redis {

// Places in a row's head are those that held_rows.h names, flags those of kRowScript.
const char* const kDueScript = R"lua(
local call, sub, byte, cut = redis.call, string.sub, string.byte, struct.unpack
local lanes, queues = {}, {}
for lane = 0, 15 do lanes[lane] = ARGV[1] .. '{h' .. ARGV[2] .. %LANE% end

local function open_queues(set)
  for lane = 0, 15 do
    queues[#queues + 1] = { lane = lane, name = lanes[lane] .. set, set = set, seen = 0, more = true }
  end
end

-- Each row as text that sorts by when it is due and then by number: 13 digits of each, and a letter
-- for its queue. Up to `safe` nothing can come before what is in the pool; nil: up to its end.
local pool, pool_at, safe = {}, 1, ''

local function fill_pool(most)
  local rest, till = {}, nil
  for i = pool_at, #pool do rest[#rest + 1] = pool[i] end
  for i, queue in ipairs(queues) do
    if queue.more and (not queue.last or queue.last <= safe) then
      local found = call('ZRANGEBYSCORE', queue.name, '-inf', now, 'WITHSCORES', 'LIMIT', queue.seen, most)
      local letter = string.char(47 + i)
      for at = 1, #found, 2 do
        local time = found[at + 1]
        if #time ~= 13 then time = string.format('%013.0f', tonumber(time)) end
        rest[#rest + 1] = time .. found[at] .. letter
      end
      queue.seen, queue.more = queue.seen + #found / 2, #found == 2 * most
      queue.last = rest[#rest]
    end
    if queue.more and (not till or queue.last < till) then till = queue.last end
  end
  table.sort(rest)
  pool, pool_at, safe = rest, 1, till
end

-- Its number and queue, and the text; nothing where no more are due.
local function next_due(most)
  while safe and (not pool[pool_at] or pool[pool_at] > safe) do fill_pool(math.ceil(most / 10) + 2) end
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

local function need_readable(head)
  if byte(head) ~= 1 then error('a newer Semel has written messages to this store') end
  if #head < 76 then error('the head of a message is too short') end
end
)lua";

// Rows nobody has met yet, oldest due first. Bodies are read in parts, for a head tells the size of
// a payload and not that of its headers.
const char* const kLookScript = R"lua(
local most, most_bytes, kAtOnce = tonumber(ARGV[3]), tonumber(ARGV[4]), 64
local answer, count, bytes, full = { now }, 0, 0, false
open_queues('n')
while count < most and not full do
  local some, by_lane = {}, {}
  while #some < math.min(most - count, kAtOnce) do
    local number, queue = next_due(most)
    if not number then
      full = true
      break
    end
    some[#some + 1] = { number, queue.lane }
    add_to(by_lane, queue.lane, number)
  end
  local heads, payloads = fetch('m', by_lane), bytes
  by_lane = {}
  for i, row in ipairs(some) do
    local head = heads[row[1]]
    if head then
      need_readable(head)
      payloads = payloads + cut('>I4', head, 25)
      if payloads > most_bytes then break end
      add_to(by_lane, row[2], row[1])
    end
  end
  local bodies = fetch('b', by_lane)
  for _, row in ipairs(some) do
    local number, lane = unpack(row)
    local body = bodies[number]
    -- The first is given however large it is.
    if body == nil and heads[number] and count == 0 then body = call('HGET', lanes[lane] .. 'b', number) end
    if body == nil and heads[number] or body and bytes > 0 and bytes + #body > most_bytes then
      full = true
      break
    end
    if body then
      count, bytes = count + 1, bytes + #body
      local at = #answer
      answer[at + 1], answer[at + 2], answer[at + 3], answer[at + 4] = lane, number, heads[number], body
    end
  end
end
return answer
)lua";

// All is read before anything is written, so that what cannot be read changes nothing; the first
// thing that is written needs memory, so that a full server changes nothing either.
const char* const kTakeScript = R"lua(
local holder, most, most_bytes, in_lines = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[7] == '1'
local till, nobody, kWithTheFirst = now + math.max(tonumber(ARGV[6]), 1), string.rep('\000', 8), 32
local rows, lines, touched, given, count, bytes = {}, {}, {}, {}, 0, 0
local function text_of(number) return string.format('%.0f', number) end

local function read(by_lane)
  for lane, numbers in pairs(by_lane) do
    for i, head in ipairs(call('HMGET', lanes[lane] .. 'm', unpack(numbers))) do
      local number = numbers[i]
      if head and not rows[number] then
        need_readable(head)
        rows[number] = { number = number, lane = lane, head = head, flags = byte(head, 2) }
      end
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
  given[#given + 1] = row
  count, bytes = count + 1, bytes + cut('>I4', row.head, 25)
end

local function line_of(lane, name)
  local key = lanes[lane] .. 'l' .. name
  local line = lines[key]
  if not line then
    line = { key = key, lane = lane, name = name, joins = {}, waiting = {}, bytes = 0 }
    line.first = call('ZRANGE', key, '0', '0')[1]
    lines[key] = line
  end
  return line
end

-- Puts a fresh row at the end of its line, in the lane of that. False where it is no longer fresh.
local function meet(row, index, name, lane)
  if not call('ZSCORE', lanes[row.lane] .. 'n', row.number) then return false end
  row.unmet, row.from, row.index = row.lane, row.lane, index
  if name == '' then return true end
  local line = line_of(lane, sub(name, 2))
  if not line.last then
    local last = line.first and call('ZREVRANGE', line.key, '0', '0', 'WITHSCORES') or {}
    line.last, line.place = last[1], tonumber(last[2] or '0')
  end
  row.lane, row.line, row.before = lane, line, line.last
  row.place = math.max(tonumber(row.number), line.place + 1)
  line.first, line.last, line.place = line.first or row.number, row.number, row.place
  line.joins[#line.joins + 1], line.joins[#line.joins + 2] = text_of(row.place), row.number
  line.bytes = line.bytes + cut('>I4', row.head, 25)
  return true
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
  if not row.index then
    before = call('ZREVRANGEBYSCORE', row.line.key, '(' .. text_of(row.place), '-inf', 'LIMIT', '0', '1')[1]
  end
  return not in_hand(row.lane, first) or (before and before ~= first and not in_hand(row.lane, before))
end

-- Gives the rows behind one that was given, as far as they wait for nothing else.
local function give_behind(row)
  local behind = call('ZRANGEBYSCORE', row.line.key, '(' .. text_of(row.place), '+inf',
                      'LIMIT', '0', kWithTheFirst)
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
    row.place = cut('>I6', row.head, 9)
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

-- The rows named by the caller, and then all that are due, oldest first.
local named_at, by_lane, stale = 8, {}, {}
for i = 8, #ARGV, 4 do add_to(by_lane, tonumber(ARGV[i]), ARGV[i + 1]) end
read(by_lane)
open_queues('d')
if not in_lines then open_queues('n') end

local function read_due(number, queue)
  local some = { [queue.lane] = { number } }
  for at = pool_at, math.min(#pool, pool_at + most - count) do
    add_to(some, queues[byte(pool[at], -1) - 47].lane, sub(pool[at], 14, -2))
  end
  read(some)
end

local number, queue, due
while not full() do
  local fresh = rows[ARGV[named_at + 1]]
  while ARGV[named_at] and not fresh do
    named_at = named_at + 4
    fresh = rows[ARGV[named_at + 1]]
  end
  if not number then number, queue, due = next_due(most) end
  if fresh and not (number and due < string.format('%013.0f', (cut('>I6', fresh.head, 3))) .. fresh.number) then
    if meet(fresh, named_at, ARGV[named_at + 2], tonumber(ARGV[named_at + 3])) then look_at(fresh) end
    named_at = named_at + 4
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
  else
    break
  end
end

by_lane = {}
for _, row in ipairs(given) do
  if not row.index then add_to(by_lane, row.lane, row.number) end
end
local bodies, moved = fetch('b', by_lane), {}
for _, row in ipairs(touched) do
  if row.line and row.index and row.from ~= row.lane then add_to(moved, row.from, row.number) end
end
local moved_bodies = fetch('b', moved)

-- From here on it is written.
local heads, new_bodies, dues, hidden, met = {}, {}, {}, {}, {}
for _, row in ipairs(touched) do
  local old, flags, lane = row.head, row.flags, row.lane
  if flags % 4 >= 2 then flags = flags - 2 end
  if flags % 8 >= 4 then flags = flags - 4 end
  flags = flags + (row.given and 2 or 4)
  local joins = row.line and row.index
  if joins and flags % 64 < 32 then flags = flags + 32 end
  local head = '\001' .. string.char(flags) .. sub(old, 3, 8)
  if joins then
    head = head .. struct.pack('>I6', row.place) .. sub(old, 15, 28) .. (row.given and holder or nobody) ..
           sub(old, 37, 72) .. struct.pack('>I4', #row.line.name) .. row.line.name ..
           sub(old, 77 + cut('>I4', old, 73))
  else
    head = head .. sub(old, 9, 28) .. (row.given and holder or nobody) .. sub(old, 37)
  end
  add_to(heads, lane, row.number)
  add_to(heads, lane, head)
  if moved_bodies[row.number] then
    add_to(new_bodies, lane, row.number)
    add_to(new_bodies, lane, moved_bodies[row.number])
  end
  if row.given then
    add_to(dues, lane, text_of(till))
    add_to(dues, lane, row.number)
  elseif not row.index then
    add_to(hidden, lane, row.number)
  end
  if row.unmet then add_to(met, row.unmet, row.number) end
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
for key, line in pairs(lines) do
  if #line.joins > 0 then
    write('ZADD', { [key] = line.joins })
    call('HINCRBY', lanes[line.lane] .. 's', line.name, text_of(line.bytes))
  end
end
write('ZREM', met, 'n')
write('HDEL', moved, 'm')
write('HDEL', moved, 'b')
write('ZREM', hidden, 'd')
write('ZREM', stale)

local answer = { now }
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
