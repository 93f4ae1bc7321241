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

-- `t` counts the writes: a letter that was written once belongs to the finish that wrote it.
local function save_letter(id, letter)
  redis.call('HINCRBY', letter_at(id), 't', 1)
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

local function discard_letter(id)
  local letter = read_letter(id)
  if not letter then return false end
  local field = index_field(letter, letter.print)
  if redis.call('HGET', letter_ids, field) == id then redis.call('HDEL', letter_ids, field) end
  redis.call('ZREM', letters, id)
  redis.call('DEL', letter_at(id))
  redis.call('HINCRBY', prefix .. '{store}letter-counts', letter.consumer, -1)
  return true
end

local function letter_of(record, print)
  return redis.call('HGET', letter_ids, 'k' .. record .. print)
end

-- The same without the broker's time: what a person lets run again has no age.
local function ageless(origin)
  if origin == '' then return origin end
  local at = 1
  for _ = 1, 4 do
    local _, next = sized(origin, at)
    at = next
  end
  local flags = string.byte(origin, at)
  if flags % 4 < 2 then return origin end
  return string.sub(origin, 1, at - 1) .. string.char(flags - 2) .. string.sub(origin, at + 1)
end

-- Holds a copy of what a letter keeps; `record`: linked to it.
local function hold_copy(letter, origin, rest, ready, record)
  origin = ageless(origin)
  local headers, at = sized(rest, 1)
  local row = { consumer = letter.consumer, flags = 0, place = 0, attempts = 0, first = letter.first,
                bytes = #rest - at + 1, holder = nobody, print = no_print, record = no_record,
                line = '', key = '' }
  if letter.record ~= no_record and letter.key ~= '' then
    row.key, row.print, row.flags = letter.key, letter.print, KEY + PRINT
    row.lane = home(letter.record)
  end
  add(row, struct.pack('>I4', #origin) .. origin .. rest)
  wait(row, ready, false, record, true)
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
