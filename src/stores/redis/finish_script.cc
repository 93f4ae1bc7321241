#include "stores/redis/finish_script.h"

namespace semel::redis {

const char* const kPlainFinishScript = R"lua(
-- What a claimed record becomes. `key`: the text of its key behind its size; `text`: the same where
-- the record keeps it.
local function decided(i, name, old)
  local to, how, delay, ttl, ending = unpack(ARGV, 7 * i - 4, 7 * i)
  local flags, attempt, token, first = struct.unpack('>BI4I7I6', old, 3)
  local tail = string.sub(redis.call('GET', name), 59)
  local text_end = 4 + struct.unpack('>I4', tail)
  local note, before, entries = journal_parts(string.byte(old), string.sub(tail, text_end + 1))
  local e = { to = to, token = token, first = first, till = now, print = string.sub(old, 27, 42),
              unknown = flags % 2, flags = flags, has_row = flags >= 2, key = string.sub(tail, 1, text_end) }
  e.text = e.key
  how = tonumber(how)
  if how % 2 == 1 then e.unknown = 1 end
  if how >= 4 then
    local at = behind(ending, 1)
    note, ending = string.sub(ending, 5, at - 1), string.sub(ending, at)
  end
  if to == 'N' then
    attempt = math.max(attempt - 1, 0)
    ending = before
    e.undone = attempt == 0 and e.unknown == 0 and ending == ''
  elseif to == 'R' then
    e.till = now + tonumber(delay)
    if how % 4 >= 2 then attempt = math.max(attempt - 1, 0) end
  elseif to == 'D' then
    e.unknown, e.text, note, entries = 0, '', '', ''
  elseif to == 'X' then
    note = ''
  end
  e.attempt = attempt
  e.format, e.rest = with_journal(note, ending, entries)
  e.ttl = ttl ~= '' and (to == 'D' or to == 'X') and ttl
  return e
end

-- `kept`: a row is held for it from now on; or the flags that say so.
local function write(name, e, kept)
  if e.undone then
    redis.call('DEL', name)
    return
  end
  local flags, state = e.unknown + (kept and (tonumber(kept) or 2) or 0), e.to == 'N' and 'R' or e.to
  local value = head(e.format, state, flags, e.attempt, e.token, e.first, e.till, e.print) .. e.text .. e.rest
  if e.ttl then redis.call('SET', name, value, 'PX', e.ttl) else redis.call('SET', name, value) end
end

local olds, answer, ended = {}, {}, {}
for i, name in ipairs(KEYS) do
  if ARGV[7 * i - 5] ~= '' then olds[i] = beginning(name) end
end
)lua";

const char* const kKeepScript = R"lua(
-- What a Finish says beside its record.
local function cut(bytes)
  local parts, at = {}, 1
  while at <= #bytes do parts[#parts + 1], at = sized(bytes, at) end
  local x = { head = parts[4], body = parts[5], attempts = tonumber(parts[6]),
              since = tonumber(parts[7]), reason = parts[8], error = parts[9],
              identity = parts[10], record = parts[11] }
  if parts[1] ~= '' then
    x.ack = struct.unpack('>I4', parts[1])
    x.ack_lane, x.ack_number = string.byte(parts[1], 5), string.sub(parts[1], 6)
  end
  x.parts = parts
  if parts[2] ~= '' then x.consumer = tonumber(parts[2]) end
  if parts[3] ~= '' then x.lane = tonumber(parts[3]) end
  return x
end

local nothing = { head = '', attempts = 0, reason = '', error = '' }

local function acked(x) return x.ack and read(x.ack, x.ack_lane, x.ack_number) end

-- The row that comes back: the one it came from, the one of an earlier try, or a new one.
local function hold(x, id, ready, parked, first, text, print)
  local given = x.head ~= '' and parsed(x.head, x.consumer, x.lane, '')
  local earlier = id and linked(id)
  local row = acked(x)
  if earlier and (not given or given.print == earlier.print) then
    if not row then
      row = earlier
    elseif row.lane ~= earlier.lane or row.number ~= earlier.number then
      remove(earlier)
    end
  end
  if row then
    renumber(row)
  elseif given then
    row = given
    add(row, x.body)
  else
    return false
  end
  if not id and given then text, print = given.key, has(given, PRINT) and given.print end
  row.attempts = x.attempts
  if row.first == 0 then row.first = first end
  if text and text ~= '' then
    row.key = text
    set(row, KEY, true)
    if print then
      row.print = print
      set(row, PRINT, true)
    end
  end
  wait(row, ready, parked, id)
  return true
end
)lua";

const char* const kFinishScript = R"lua(
local function bury_ended(x, id, has_row, first, text, print)
  local letter = { replayed = 0, attempts = x.attempts, first = first, dead = now,
                   reason = x.reason, error = x.error }
  if x.head ~= '' then
    local given = parsed(x.head, x.consumer, 0, '')
    letter.consumer, letter.print, letter.key = x.consumer, given.print, given.key
    letter.record, letter.identity = x.record ~= '' and x.record or no_record, x.identity
    return bury(letter, x.body)
  end
  -- Without the message, what is held for it is what can be kept.
  local row = acked(x) or (has_row and linked(id))
  if not row or not id then return end
  letter.consumer, letter.print, letter.key = consumer_of(id), print, text
  letter.record, letter.identity = id, 'k' .. id
  bury(letter, redis.call('HGET', row.at .. 'b', row.number))
end

local function without_record(to, x, delay)
  local first = x.since and now - x.since or now
  if to == 'R' then
    hold(x, nil, now + delay, false, first)
    return
  end
  if to == 'P' or to == 'X' then bury_ended(x, nil, false, first) end
  local row = acked(x)
  if not row then return end
  if to == 'N' then release(row, 0) else remove(row) end
end

local extras = {}

-- What is kept is kept before the record says so, and goes after it does.
local function keep(to, x, id, has_row, till, first, text, print)
  if to == 'R' or to == 'P' then return hold(x, id, till, to == 'P', first, text, print) end
  if to == 'X' and x ~= nothing then bury_ended(x, id, has_row, first, text, print) end
  return has_row and to == 'N'
end

local function let_go(to, x, id, has_row)
  local row = acked(x)
  if to == 'N' then
    if row then release(row, 0) end
  elseif to == 'D' or to == 'X' then
    if row then remove(row) end
    if has_row then remove_rows_of(id) end
  end
end

-- What leaves with it.
local function send(x)
  for at = 12, #(x.parts or {}), 5 do
    local consumer, lane, delay, head, body = unpack(x.parts, at, at + 4)
    append(tonumber(consumer), lane, delay, head, body)
  end
end

local function finish(i, key)
  local x, ending = extras[i], decided(i, key, olds[i])
  local id, to, has_row = string.sub(key, -20), ending.to, ending.has_row
  local kept = false
  if x ~= nothing or has_row then
    kept = keep(to, x, id, has_row, ending.till, ending.first, string.sub(ending.key, 5), ending.print)
  end
  write(key, ending, kept)
  if x ~= nothing or has_row then let_go(to, x, id, has_row) end
end

-- All is looked at before anything is written: what cannot be read changes nothing. So is what
-- may show once rows have left their lines.
local leaving = {}
for i in ipairs(KEYS) do
  local extra = ARGV[7 * i + 1]
  extras[i] = extra ~= '' and cut(extra) or nothing
  local row = acked(extras[i])
  if row and has(row, LINE) then
    local line = line_of(row)
    leaving[line] = leaving[line] or { row = row, count = 0 }
    leaving[line].count = leaving[line].count + 1
  end
end
for line, rows in pairs(leaving) do
  for _, number in ipairs(redis.call('ZRANGE', line, 0, rows.count)) do
    read(rows.row.consumer, rows.row.lane, number)
  end
end
for i, key in ipairs(KEYS) do
  answer[i] = '1'
  if not olds[i] then
    without_record(ARGV[7 * i - 4], extras[i], tonumber(ARGV[7 * i - 2]))
    send(extras[i])
  elseif ended[key] or not held_by(olds[i], ARGV[7 * i - 5]) then
    answer[i] = '0'
  else
    finish(i, key)
    send(extras[i])
    ended[key] = true
  end
end
return table.concat(answer)
)lua";

}  // namespace semel::redis
