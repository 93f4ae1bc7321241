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
end

-- One that is there already keeps its id and payload.
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

-- Holds what a letter keeps, due now; `record`: linked to it.
local function hold_letter(id, letter, record)
  letter.replayed = letter.replayed + 1
  save_letter(id, letter)
  local kept = redis.call('HMGET', letter_at(id), 'o', 'b')
  local origin, rest = kept[1] or '', kept[2] or struct.pack('>I4', 0)
  local headers, at = sized(rest, 1)
  local row = { consumer = letter.consumer, flags = 0, place = 0, attempts = 0, first = letter.first,
                bytes = #rest - at + 1, holder = nobody, print = no_print, record = no_record,
                line = '', key = '' }
  if letter.record ~= no_record and letter.key ~= '' then
    row.key, row.print, row.flags = letter.key, letter.print, KEY + PRINT
    row.lane = home(letter.record)
  end
  add(row, struct.pack('>I4', #origin) .. origin .. rest)
  wait(row, now, false, record)
end

-- Parked or dead → retrying, due now; false where the record is in no such state.
local function reopen(key)
  local value = redis.call('GET', key)
  if not value or #value < 42 or string.byte(value) ~= 1 then return false end
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
  local value_now = head('R', flags % 2 + (held and 2 or 0), attempt, token, first, now, print)
  redis.call('SET', key, value_now .. string.sub(value, 43))
  return true
end
)lua";

}  // namespace semel::redis
