#include "stores/redis/held_script.h"

namespace semel::redis {

const char* const kAppendScript = R"lua(
local consumer, answer = tonumber(ARGV[2]), {}
for i = 3, #ARGV, 4 do
  local row = append(consumer, unpack(ARGV, i, i + 3))
  answer[#answer + 1], answer[#answer + 2] = row.lane, row.number
end
return answer
)lua";

const char* const kMergeScript = R"lua(
-- What gives the rows of all lanes that are due, oldest due first. `stay`: those it gave are due
-- still when it goes on.
local function merged(consumer, sets, stay)
  local queues, kAtOnce = {}, 8
  for lane = 0, 15 do
    for _, name in ipairs(sets) do
      queues[#queues + 1] = { lane = lane, name = lane_of(consumer, lane) .. name, offset = 0 }
    end
  end
  local function front(queue)
    if not queue.found or (queue.next > #queue.found and queue.more) then
      queue.found = redis.call('ZRANGEBYSCORE', queue.name, '-inf', now, 'WITHSCORES', 'LIMIT',
                               queue.offset, kAtOnce)
      queue.next, queue.more = 1, #queue.found == 2 * kAtOnce
      if stay then queue.offset = queue.offset + kAtOnce end
    end
    return queue.found[queue.next], tonumber(queue.found[queue.next + 1])
  end
  return function()
    local best, number, score
    for _, queue in ipairs(queues) do
      local its, due_at = front(queue)
      if its and (not best or due_at < score or (due_at == score and its < number)) then
        best, number, score = queue, its, due_at
      end
    end
    if not best then return nil end
    best.next = best.next + 2
    return best.lane, number, best.name, score
  end
end
)lua";

// Rows nobody has met yet, oldest due first.
const char* const kLookScript = R"lua(
local consumer, most, most_bytes = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local next_due, answer, count, bytes = merged(consumer, { 'n' }, true), { now }, 0, 0
while count < most do
  local lane, number = next_due()
  if not lane then break end
  local at = lane_of(consumer, lane)
  local body = redis.call('HGET', at .. 'b', number)
  local head = redis.call('HGET', at .. 'm', number)
  if head and body then
    if bytes > 0 and bytes + #body > most_bytes then break end
    count, bytes = count + 1, bytes + #body
    for _, part in ipairs({ lane, number, head, body }) do answer[#answer + 1] = part end
  end
end
return answer
)lua";

const char* const kTakeScript = R"lua(
local consumer, holder, most, most_bytes = tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local till, in_lines = now + math.max(tonumber(ARGV[6]), 1), ARGV[7] == '1'
local kWithTheFirst = 32

-- The next row named by the caller that still exists.
local named = 8
local function next_named()
  while ARGV[named] do
    local row = read(consumer, tonumber(ARGV[named]), ARGV[named + 1])
    if row then return row end
    named = named + 4
  end
end

-- Moves a fresh row to the lane of its line. False where it is no longer fresh.
local function meet(row, line, its_lane)
  if redis.call('ZREM', row.at .. 'n', row.number) == 0 then return false end
  row.met = true
  if line == '' then return true end
  if its_lane ~= row.lane then
    row.body = redis.call('HGET', row.at .. 'b', row.number)
    redis.call('HDEL', row.at .. 'b', row.number)
    redis.call('HDEL', row.at .. 'm', row.number)
    row.lane, row.at = its_lane, lane_of(consumer, its_lane)
    redis.call('HSET', row.at .. 'b', row.number, row.body)
  end
  row.line = string.sub(line, 2)
  set(row, LINE, true)
  join(row)
  return true
end

local function in_hand(row, number)
  local other = read(consumer, row.lane, number)
  if not other or not has(other, TAKEN) or other.holder ~= holder then return false end
  return tonumber(redis.call('ZSCORE', row.at .. 'd', number) or '0') > now
end

-- What is between the first and the one right before it was in this hand when that was taken, and
-- goes from it only together with all behind it: the two ends tell.
local function waits(row)
  local first = redis.call('ZRANGE', line_of(row), 0, 0)[1]
  if first == row.number then return false end
  local before = redis.call('ZREVRANGEBYSCORE', line_of(row), '(' .. row.place, '-inf', 'LIMIT', 0, 1)[1]
  return not in_hand(row, first) or (before ~= first and not in_hand(row, before))
end

local answer, count, bytes = { now }, 0, 0
local function full() return count >= most or (count > 0 and bytes >= most_bytes) end

local function give(row)
  answer[#answer + 1], answer[#answer + 2] = row.lane, row.number
  answer[#answer + 1] = head_of(row)
  answer[#answer + 1] = row.body or redis.call('HGET', row.at .. 'b', row.number)
  count, bytes = count + 1, bytes + row.bytes
  set(row, TAKEN, true)
  set(row, BEHIND, false)
  row.holder = holder
  save(row)
  if not row.met then redis.call('ZREM', row.at .. 'n', row.number) end
  due(row, till)
end

local function look_at(row)
  if not has(row, LINE) then return give(row) end
  if waits(row) then
    set(row, BEHIND, true)
    set(row, TAKEN, false)
    row.holder = nobody
    save(row)
    redis.call('ZREM', row.at .. 'd', row.number)
    return
  end
  give(row)
  local next = redis.call('ZRANGEBYSCORE', line_of(row), '(' .. row.place, '+inf', 'LIMIT', 0, kWithTheFirst)
  for _, number in ipairs(next) do
    local other = read(consumer, row.lane, number)
    if full() or not other or not has(other, BEHIND) then return end
    give(other)
  end
end

-- A row is no longer due once it was looked at. A later call meets the named rows that remain.
local sets = { 'd' }
if not in_lines then sets[2] = 'n' end
local next_due = merged(consumer, sets, false)
local fresh, lane, number, set_name, due_at
while not full() do
  fresh = fresh or next_named()
  if not lane then lane, number, set_name, due_at = next_due() end
  local older = lane and fresh and (due_at < fresh.ready or (due_at == fresh.ready and number < fresh.number))
  if fresh and not older then
    if meet(fresh, ARGV[named + 2], tonumber(ARGV[named + 3])) then look_at(fresh) end
    named, fresh = named + 4, nil
  elseif lane then
    local row = read(consumer, lane, number)
    if row then look_at(row) else redis.call('ZREM', set_name, number) end
    lane = nil
  else
    break
  end
end
return answer
)lua";

const char* const kHoldBehindScript = R"lua(
local consumer, most = tonumber(ARGV[2]), tonumber(ARGV[3])
local full, answer = {}, {}
local function hold(row, body)
  local bytes = redis.call('HGET', row.at .. 's', row.line)
  if not bytes then return 'F' end
  -- What has found no room lets none of its line by.
  if full[row.line] or tonumber(bytes) + row.bytes > most then
    full[row.line] = true
    return 'U'
  end
  row.ready = now
  set(row, BEHIND, true)
  add(row, body)
  save(row)
  return 'H'
end
for i = 4, #ARGV, 3 do
  answer[#answer + 1] = hold(parsed(ARGV[i + 1], consumer, tonumber(ARGV[i]), ''), ARGV[i + 2])
end
return table.concat(answer)
)lua";

const char* const kChangeScript = R"lua(
local how, time = ARGV[2], tonumber(ARGV[3])
for i = 4, #ARGV, 3 do
  local row = read(ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2])
  if row then
    row.consumer = tonumber(row.consumer)
    if how == 'remove' then
      remove(row)
    elseif how == 'release' then
      release(row, time)
    elseif has(row, TAKEN) and tonumber(redis.call('ZSCORE', row.at .. 'd', row.number) or '0') > now then
      due(row, now + time)
    end
  end
end
return 'OK'
)lua";

const char* const kDepthScript = R"lua(
local rows, first = 0, nil
for lane = 0, 15 do
  local at = lane_of(ARGV[2], lane)
  rows = rows + redis.call('HLEN', at .. 'm') - redis.call('SCARD', at .. 'p')
  for _, set_of in ipairs({ 'd', 'n' }) do
    local score = redis.call('ZRANGE', at .. set_of, 0, 0, 'WITHSCORES')[2]
    if score then first = math.min(first or tonumber(score), tonumber(score)) end
  end
end
if not first then return { rows } end
return { rows, math.max(first - now, 0), first }
)lua";

const char* const kLinesScript = R"lua(
local lines = {}
for lane = 0, 15 do
  for _, line in ipairs(redis.call('HKEYS', lane_of(ARGV[2], lane) .. 's')) do
    lines[#lines + 1] = line
  end
end
return lines
)lua";

}  // namespace semel::redis
