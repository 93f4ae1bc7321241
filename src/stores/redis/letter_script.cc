#include "stores/redis/letter_script.h"

#include "stores/redis/row_script.h"

namespace semel::redis {

// Places are those that letter.h names.
const char* const kLetterScript = R"lua(
local letters, letter_ids = prefix .. '{store}letters', prefix .. '{store}letter-ids'

local function letter_at(id) return prefix .. '{store}letter:' .. id end

local function parsed_letter(head)
  if string.byte(head) ~= 1 then error('a newer Semel has written dead letters to this store') end
  local letter, at = {}, 62
  letter.consumer, letter.replayed, letter.attempts, letter.first, letter.dead =
    struct.unpack('>I4I4I4I6I6', head, 2)
  letter.print, letter.record = string.sub(head, 26, 41), string.sub(head, 42, 61)
  letter.identity, at = sized(head, at)
  letter.key, at = sized(head, at)
  letter.reason, at = sized(head, at)
  letter.error = string.sub(head, at)
  return letter
end

local function read_letter(id)
  local head = redis.call('HGET', letter_at(id), 'm')
  return head and parsed_letter(head)
end

local function save_letter(id, letter)
  local function part(bytes) return struct.pack('>I4', #bytes) .. bytes end
  redis.call('HSET', letter_at(id), 'm',
    struct.pack('>BI4I4I4I6I6', 1, letter.consumer, letter.replayed, letter.attempts, letter.first,
                letter.dead) ..
    letter.print .. letter.record .. part(letter.identity) .. part(letter.key) ..
    part(letter.reason) .. letter.error)
end

-- One without an identity is told from others by its times.
local function index_field(letter, print)
  if letter.identity ~= '' then return letter.identity .. print end
  return struct.pack('>c1I4', 't', letter.consumer) .. print ..
         struct.pack('>I6I6', letter.first, letter.dead)
end

local function insert_letter(letter, body)
  local id = redis.call('INCR', prefix .. '{store}letter')
  local origin, rest = sized(body, 1)
  redis.call('HSET', letter_at(id), 'o', origin, 'b', string.sub(body, rest))
  save_letter(id, letter)
  redis.call('ZADD', letters, id, id)
  redis.call('HSET', letter_ids, index_field(letter, letter.print), id)
  redis.call('HINCRBY', prefix .. '{store}letter-counts', letter.consumer, 1)
  return id
end

-- One that is there already keeps its id and payload; of a new one its id.
local function bury(letter, body)
  local id = letter.identity ~= '' and
             redis.call('HGET', letter_ids, index_field(letter, letter.print))
  local known = id and read_letter(id)
  if not known then return insert_letter(letter, body) end
  for _, field in ipairs({ 'record', 'attempts', 'dead', 'reason', 'error' }) do
    known[field] = letter[field]
  end
  save_letter(id, known)
end

local function letter_of(record, print)
  return redis.call('HGET', letter_ids, 'k' .. record .. print)
end

-- Holds a copy of what a letter keeps; `record`: linked to it.
local function hold_copy(letter, origin, rest, ready, record)
  local headers, at = sized(rest, 1)
  local row = { consumer = letter.consumer, flags = 0, place = 0, attempts = 0, first = letter.first,
                bytes = #rest - at + 1, holder = nobody, print = no_print, record = no_record,
                line = '', key = '' }
  if letter.record ~= no_record and letter.key ~= '' then
    row.key, row.print, row.flags = letter.key, letter.print, KEY + PRINT
    row.lane = home(letter.record)
  end
  add(row, struct.pack('>I4', #origin) .. origin .. rest)
  wait(row, ready, false, record)
  return row
end

local function count_replay(id, letter)
  letter.replayed = letter.replayed + 1
  save_letter(id, letter)
end

-- The same, due now.
local function hold_letter(id, letter, record)
  count_replay(id, letter)
  local kept = redis.call('HMGET', letter_at(id), 'o', 'b')
  hold_copy(letter, kept[1] or '', kept[2] or struct.pack('>I4', 0), now, record)
end

)lua";

const char* const kReopenScript = R"lua(
-- Parked or dead → retrying, due now; false where the record is in no such state. `note`: of giving
-- up, where it is one.
local function reopen(key, note)
  local value = redis.call('GET', key)
  local format = value and string.byte(value)
  if (format ~= 1 and format ~= 2) or #value < 42 then return false end
  local state, flags, attempt, token, first = struct.unpack('>c1BI4I7I6', value, 2)
  if state ~= 'P' and state ~= 'X' then return false end
  local id, print, held = string.sub(key, -20), string.sub(value, 27, 42), false
  if state == 'P' then
    local row = flags >= 2 and linked(id)
    if row then
      redis.call('SREM', row.at .. 'p', row.number)
      wait(row, now, false)
      held = true
    end
  else
    local letter_id = letter_of(id, print)
    local letter = letter_id and read_letter(letter_id)
    if letter then
      hold_letter(letter_id, letter, id)
      held = true
    end
  end
  local rest = string.sub(value, 43)
  if note then format, rest = noted(format, rest, note) end
  flags = flags % 2 + (held and 2 or 0)
  redis.call('SET', key, head(format, 'R', flags, attempt, token, first, now, print) .. rest)
  return true
end
)lua";

const char* const kLetterHeadsScript = R"lua(
local heads = {}
for i = 2, #ARGV do heads[i - 1] = redis.call('HGET', letter_at(ARGV[i]), 'm') end
return heads
)lua";

const char* const kListLettersScript = R"lua(
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
)lua";

const char* const kReplayScript = R"lua(
local function replay(id, key)
  local letter = read_letter(id)
  if not letter then return 'M' end
  if letter.record ~= no_record then
    if string.sub(key, -20) ~= letter.record then return 'A' end
    local old = beginning(key)
    if old ~= '' then
      if letter.print ~= no_print and letter.print ~= string.sub(old, 27, 42) then return 'C' end
      if string.sub(old, 2, 2) == 'D' then return 'D' end
      if reopen(key) then return 'Y' end
    end
  end
  -- No record, or one on its way: a copy of its own passes through the record like any other.
  hold_letter(id, letter)
  return 'Y'
end
local answer = {}
for i, key in ipairs(KEYS) do answer[i] = replay(ARGV[i + 1], key) end
return table.concat(answer)
)lua";

const char* const kDiscardScript = R"lua(
local count = 0
for i = 2, #ARGV do
  local id = ARGV[i]
  local letter = read_letter(id)
  if letter then
    local field = index_field(letter, letter.print)
    if redis.call('HGET', letter_ids, field) == id then redis.call('HDEL', letter_ids, field) end
    redis.call('ZREM', letters, id)
    redis.call('DEL', letter_at(id))
    redis.call('HINCRBY', prefix .. '{store}letter-counts', letter.consumer, -1)
    count = count + 1
  end
end
return count
)lua";

const char* const kEditScript = R"lua(
local key, id, before, print, content = KEYS[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local letter = read_letter(id)
if not letter then return 'missing' end
if letter.print ~= before then return 'moved' end
local old = ''
if letter.record ~= no_record then
  if string.sub(key, -20) ~= letter.record then return 'again' end
  old = beginning(key)
end
if old ~= '' then
  local state = string.sub(old, 2, 2)
  if state == 'D' then return 'completed' end
  if before ~= no_print and before ~= string.sub(old, 27, 42) then return 'conflict' end
  if state ~= 'X' then return 'busy' end
  if string.byte(old, 3) % 2 == 1 then return 'unknown' end
end
local twin = letter.identity ~= '' and redis.call('HGET', letter_ids, index_field(letter, print))
if twin and twin ~= id then return 'twin' end
redis.call('HSET', letter_ids, index_field(letter, print), id)
if print ~= before then redis.call('HDEL', letter_ids, index_field(letter, before)) end
letter.print = print
save_letter(id, letter)
redis.call('HSET', letter_at(id), 'b', content)
if old ~= '' then redis.call('SETRANGE', key, 26, print) end
return 'yes'
)lua";

const char* const kAddScript = R"lua(
local added = 0
for i = 2, #ARGV, 2 do
  local letter = parsed_letter(ARGV[i])
  if not redis.call('HGET', letter_ids, index_field(letter, letter.print)) then
    insert_letter(letter, ARGV[i + 1])
    added = added + 1
  end
end
return added
)lua";

const char* const kUnlockScript = "return reopen(KEYS[1], ARGV[2]) and 1 or 0";

}  // namespace semel::redis
