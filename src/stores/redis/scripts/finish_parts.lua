-- The parts of a Finish beside its record.
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
    if parked then
      set(row, LINE, false)
      row.line = ''
    end
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
