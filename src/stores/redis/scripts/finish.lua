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

-- The name of the record with this id, as Names::record makes it.
local function record_named(id)
  local mixed = 2166136261
  for i = 1, #id do
    local low = mixed % 256
    mixed = mixed - low + bit.bxor(low, string.byte(id, i))
    mixed = (mixed * 403 + mixed % 256 * 16777216) % 4294967296
  end
  local slot = bit.bxor(mixed % 32, math.floor(mixed / 65536) % 32)
  return prefix .. '{' .. string.sub('RECORD_TAGS', 2 * slot + 1, 2 * slot + 2) .. '}' .. id
end

-- The record that knows of an entry's row, where it waits for a time or a person, or is tried; by
-- entry.
local waiting = {}
local function look_at_record(i, row)
  local known = row and row.record ~= no_record and linked(row.record)
  if not known or known.number ~= row.number then return end
  local old = beginning(record_named(row.record))
  if old == '' then return end
  if string.byte(old) > 2 then error('a newer Semel has written records to this store') end
  local state, till = string.sub(old, 2, 2), struct.unpack('>I6', old, 21)
  if state == 'R' or state == 'C' or state == 'P' then waiting[i] = { till = till, parked = state == 'P' } end
end

-- A row that met its record and did nothing stays for as long as that waits: the clock may have
-- gone back since the row showed, or the record may have been unlocked since it was met.
local function met_only(to, x) return to == 'A' and not (x.parts and x.parts[12]) end

local function without_record(to, x, delay, record)
  local first = x.since and now - x.since or now
  if to == 'R' then
    hold(x, nil, now + delay, false, first)
    return
  end
  if to == 'P' or to == 'X' then bury_ended(x, nil, false, first) end
  local row = acked(x)
  if not row then return end
  if to == 'N' then
    release(row, 0)
  elseif record then
    out_of_sight(row)
    wait(row, record.parked and now or record.till, record.parked)
  else
    remove(row)
  end
end

local extras = {}

-- A payload is kept before the record says so, and goes after it does.
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

-- Messages that leave with it.
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
  -- A replay of its letter needs the journal: lua::kLetExpire ends that.
  if to == 'X' and ending.format == 2 and letter_of(id, ending.print) then ending.ttl = false end
  write(key, ending, kept)
  if x ~= nothing or has_row then let_go(to, x, id, has_row) end
end

-- All is looked at before anything is written: what cannot be read changes nothing. So is what
-- may show once rows have left their lines, and the letter that one who is dead has already.
local leaving = {}
local function may_leave(row)
  if not row or not has(row, LINE) then return end
  local line = line_of(row)
  leaving[line] = leaving[line] or { row = row, count = 0 }
  leaving[line].count = leaving[line].count + 1
end

local function look_for_letter(identity, print)
  local id = identity ~= '' and
             redis.call('HGET', letter_ids, index_field({ identity = identity }, print))
  if id then read_letter(id) end
end

for i, key in ipairs(KEYS) do
  local extra, to, x = ARGV[7 * i + 1], ARGV[7 * i - 4], nothing
  if extra ~= '' then x = cut(extra) end
  extras[i] = x
  may_leave(acked(x))
  if not olds[i] and met_only(to, x) then look_at_record(i, acked(x)) end
  local old, id = olds[i], string.sub(key, -20)
  local holds = old and held_by(old, ARGV[7 * i - 5])
  if holds and (to == 'R' or to == 'P' or (to ~= 'N' and string.byte(old, 3) >= 2)) then
    may_leave(linked(id))
  end
  if (to == 'X' and (holds or not old)) or (to == 'P' and not old) then
    if x.head ~= '' then
      look_for_letter(x.identity, parsed(x.head, x.consumer, 0, '').print)
    elseif old then
      look_for_letter('k' .. id, string.sub(old, 27, 42))
    end
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
    without_record(ARGV[7 * i - 4], extras[i], tonumber(ARGV[7 * i - 2]), waiting[i])
    send(extras[i])
  elseif ended[key] or not held_by(olds[i], ARGV[7 * i - 5]) then
    answer[i] = '0'
  else
    finish(i, key)
    send(extras[i])
    ended[key] = true
  end
end
local acks = 7 * #KEYS + 2
