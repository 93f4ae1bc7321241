-- The keys of a lane have the braces of its name, so that they are on its node.
local prefix = ARGV[1]
local nobody, no_print, no_record = string.rep('\000', 8), string.rep('\000', 16), string.rep('\000', 20)
local SUSPECT, TAKEN, BEHIND, PARKED, KEY, LINE, PRINT = 1, 2, 4, 8, 16, 32, 64

local function has(row, flag) return math.floor(row.flags / flag) % 2 == 1 end

local function set(row, flag, on)
  on = on and true or false
  if has(row, flag) ~= on then row.flags = row.flags + (on and flag or -flag) end
end

local function lane_of(consumer, lane) return prefix .. '{h' .. consumer .. LANE_NAME end
local function home(id) return string.byte(id, 20) % 16 end
local function consumer_of(id) return math.floor(struct.unpack('>I4', id) / 4) end

local function sized(bytes, at)
  local size = struct.unpack('>I4', bytes, at)
  return string.sub(bytes, at + 4, at + 3 + size), at + 4 + size
end

local function parsed(head, consumer, lane, number)
  if string.byte(head) ~= 1 then error('a newer Semel has written messages to this store') end
  local row = { consumer = consumer, lane = lane, number = number,
                at = lane and lane_of(consumer, lane) }
  row.flags, row.ready, row.place, row.attempts, row.first, row.bytes =
    struct.unpack('>BI6I6I4I6I4', head, 2)
  row.holder, row.print = string.sub(head, 29, 36), string.sub(head, 37, 52)
  row.record = string.sub(head, 53, 72)
  local rest
  row.line, rest = sized(head, 73)
  row.key = string.sub(head, rest)
  return row
end

local function read(consumer, lane, number)
  local head = redis.call('HGET', lane_of(consumer, lane) .. 'm', number)
  return head and parsed(head, consumer, lane, number)
end

local function head_of(row)
  return struct.pack('>BBI6I6I4I6I4', 1, row.flags, row.ready, row.place, row.attempts, row.first,
                     row.bytes) .. row.holder .. row.print .. row.record ..
         struct.pack('>I4', #row.line) .. row.line .. row.key
end

local function save(row) redis.call('HSET', row.at .. 'm', row.number, head_of(row)) end

local function due(row, at) redis.call('ZADD', row.at .. 'd', at, row.number) end

local function line_of(row) return row.at .. 'l' .. row.line end

-- A number of the consumer, above all it had: by the clock, so that one of a row that is long gone,
-- before a FLUSHALL too, is not given again.
local function draw(consumer)
  local key = prefix .. '{h' .. consumer .. '}last'
  local number = math.max(tonumber(redis.call('GET', key) or '0') + 1, now)
  number = string.format('%013.0f', number)
  redis.call('SET', key, number)
  return number
end

-- At the end of the line.
local function join(row)
  local last = redis.call('ZREVRANGE', line_of(row), 0, 0, 'WITHSCORES')
  row.place = tonumber(row.number)
  if last[2] then row.place = math.max(row.place, tonumber(last[2]) + 1) end
  redis.call('ZADD', line_of(row), row.place, row.number)
  redis.call('HINCRBY', row.at .. 's', row.line, row.bytes)
end

local leave_line

-- The first of those it leaves shows.
local function leave(row)
  redis.call('ZREM', line_of(row), row.number)
  local first = redis.call('ZRANGE', line_of(row), 0, 0)[1]
  if not first then
    redis.call('HDEL', row.at .. 's', row.line)
    return
  end
  redis.call('HINCRBY', row.at .. 's', row.line, 0 - row.bytes)
  local other = read(row.consumer, row.lane, first)
  if other and has(other, PARKED) then
    -- An older Semel parked it in its place.
    leave_line(other)
    save(other)
  elseif other and has(other, BEHIND) then
    set(other, BEHIND, false)
    save(other)
    due(other, other.ready)
  end
end

-- The row is in no line until it is met anew; `save` writes that.
leave_line = function(row)
  if not has(row, LINE) then return end
  leave(row)
  set(row, LINE, false)
  row.line, row.place = '', 0
end

local function index_of(consumer, id) return lane_of(consumer, home(id)) .. 'o' end

-- The row that is held for a record, where there is one.
local function linked(id)
  local consumer = consumer_of(id)
  local at = redis.call('HGET', index_of(consumer, id), id)
  return at and read(consumer, string.byte(at), string.sub(at, 2))
end

local function link(row, id)
  row.record = id
  redis.call('HSET', index_of(row.consumer, id), id, string.char(row.lane) .. row.number)
end

local function out_of_sight(row)
  redis.call('ZREM', row.at .. 'd', row.number)
  row.unmet = redis.call('ZREM', row.at .. 'n', row.number) == 1
  if has(row, PARKED) then redis.call('SREM', row.at .. 'p', row.number) end
end

local function remove(row)
  out_of_sight(row)
  redis.call('HDEL', row.at .. 'm', row.number)
  redis.call('HDEL', row.at .. 'b', row.number)
  if row.record ~= no_record then
    local index = index_of(row.consumer, row.record)
    if redis.call('HGET', index, row.record) == string.char(row.lane) .. row.number then
      redis.call('HDEL', index, row.record)
    end
  end
  if has(row, LINE) then leave(row) end
end

local function remove_rows_of(id)
  local row = linked(id)
  if row then remove(row) end
end

-- A row that is not kept yet; its head is written by `save`.
local function add(row, body)
  row.number = draw(row.consumer)
  row.lane = row.lane or tonumber(row.number) % 16
  row.at = lane_of(row.consumer, row.lane)
  redis.call('HSET', row.at .. 'b', row.number, body)
  if has(row, LINE) then join(row) end
end

-- One that nobody has met. Without a delay it is due at once, at 0: whatever the clock says later.
local function append(consumer, lane, delay, head, body)
  local row = parsed(head, consumer, lane ~= '' and tonumber(lane) or nil, '')
  delay = tonumber(delay)
  row.ready = delay > 0 and now + delay or 0
  add(row, body)
  save(row)
  redis.call('ZADD', row.at .. 'n', row.ready, row.number)
  return row
end

-- Under a number of its own, for what was taken under the old one may still be ended by it. It
-- keeps its place in the line.
local function renumber(row)
  local number, old = draw(row.consumer), row.number
  out_of_sight(row)
  redis.call('HSET', row.at .. 'b', number, redis.call('HGET', row.at .. 'b', old))
  redis.call('HDEL', row.at .. 'b', old)
  redis.call('HDEL', row.at .. 'm', old)
  if has(row, LINE) then
    redis.call('ZREM', line_of(row), old)
    redis.call('ZADD', line_of(row), row.place, number)
  end
  row.number = number
  if row.record ~= no_record then link(row, row.record) end
end

-- A row that is kept until `ready`, or for a person; `id`: of the record it is held for. A row that
-- is parked delays no other one. Unlocked or replayed (`anew`), it joins its line at the end when it
-- is met. Like an appended one it is due at once, at 0, behind all that were appended before: their
-- numbers may be ahead of the clock.
local function wait(row, ready, parked, id, anew)
  local unlocked = has(row, PARKED) and not parked
  anew = anew or row.unmet or has(row, PARKED)
  if parked or anew then leave_line(row) end
  if anew and not parked and ready <= now then
    if unlocked then renumber(row) end
    ready = 0
  end
  set(row, SUSPECT, false)
  set(row, TAKEN, false)
  set(row, BEHIND, false)
  set(row, PARKED, parked)
  row.ready, row.holder = ready, nobody
  if id then link(row, id) end
  save(row)
  if parked then
    redis.call('SADD', row.at .. 'p', row.number)
  elseif anew then
    redis.call('ZADD', row.at .. 'n', ready, row.number)
  else
    due(row, ready)
  end
end

local function release(row, delay)
  if has(row, PARKED) then return end
  set(row, TAKEN, false)
  row.holder = nobody
  redis.call('ZREM', row.at .. 'n', row.number)
  if delay > 0 then
    set(row, SUSPECT, false)
    set(row, BEHIND, false)
    row.ready = now + delay
  else
    local first = has(row, LINE) and redis.call('ZRANGE', line_of(row), 0, 0)[1]
    set(row, BEHIND, first and first ~= row.number)
  end
  save(row)
  if has(row, BEHIND) then
    redis.call('ZREM', row.at .. 'd', row.number)
  else
    due(row, row.ready)
  end
end
