-- One command reads all rows of a lane, and one removes them. The reply 'h' comes before the first
-- write: the script of finish then finds everything as it was.
local call, sub, cut, byte = redis.call, string.sub, struct.unpack, string.byte
-- See held_by in records.lua.
local NO_NAME = string.rep('\000', 8)
local ttl, till = ARGV[1], struct.pack('>I6', now)
local records = tonumber(ARGV[2])
local values, answer, ended = {}, {}, {}

local olds = records > 0 and call('MGET', unpack(KEYS, 1, records))
for i = 1, records do
  local key, given = KEYS[i], ARGV[i + 2]
  -- An error where it is no string.
  local old = olds[i] or call('GETRANGE', key, '0', '57')
  local begin, flags, middle, print, nonce
  if #old >= 58 then begin, flags, middle, print, nonce = cut('c2Bc17xxxxxxc16c16', old) end
  local asked = sub(given, 1, 16)
  if nonce and nonce ~= asked and sub(asked, 1, 8) == NO_NAME and sub(nonce, 9) == sub(asked, 9) then
    asked = nonce
  end
  if ended[key] or (begin ~= '\001C' and begin ~= '\002C') or nonce ~= asked then
    answer[i] = '0'
  elseif flags >= 2 then
    return 'h'
  else
    values[i] = '\001D\000' .. middle .. till .. print .. sub(given, 17)
    answer[i], ended[key] = '1', true
  end
end

-- Each lane stands as its name, how many rows, and of each its number and that of its record, or 0.
-- Behind the last one may stand an empty name, and then what settle_entries reads.
local lanes, at, no_record = {}, records + 3, string.rep('\000', 20)
while ARGV[at] and ARGV[at] ~= '' do
  local lane, count = ARGV[at], tonumber(ARGV[at + 1])
  local numbers, goes = {}, {}
  for i = at + 2, at + 2 * count, 2 do
    local number = ARGV[i]
    if answer[tonumber(ARGV[i + 1])] ~= '0' and not goes[number] then
      numbers[#numbers + 1], goes[number] = number, true
    end
  end
  at = at + 2 + 2 * count
  local heads = #numbers > 0 and call('HMGET', lane .. 'm', unpack(numbers)) or {}
  local found, unmet, lines, names = {}, {}, {}, {}
  for i, head in ipairs(heads) do
    if head then
      local version, flags = byte(head, 1, 2)
      -- Written by a newer Semel, parked, or known to its record.
      if version ~= 1 or #head < 76 or flags % 16 >= 8 or sub(head, 53, 72) ~= no_record then
        return 'h'
      end
      found[#found + 1] = numbers[i]
      -- A row that was taken has left the new ones.
      if flags % 4 < 2 then unmet[#unmet + 1] = numbers[i] end
      if flags % 64 >= 32 then
        local bytes, size = cut('>I4', head, 25), cut('>I4', head, 73)
        local name = sub(head, 77, 76 + size)
        local line = lines[name]
        if not line then
          line = { bytes = 0, numbers = {} }
          lines[name], names[#names + 1] = line, name
        end
        line.bytes = line.bytes + bytes
        line.numbers[#line.numbers + 1] = numbers[i]
      end
    end
  end
  local firsts, shown, dues = {}, {}, {}
  for _, name in ipairs(names) do
    local line = lines[name]
    for _, number in ipairs(call('ZRANGE', lane .. 'l' .. name, '0', tostring(#line.numbers))) do
      if not goes[number] then
        line.stays, firsts[#firsts + 1] = true, number
        break
      end
    end
  end
  -- The first of those that stay in a line shows.
  heads = #firsts > 0 and call('HMGET', lane .. 'm', unpack(firsts)) or {}
  for i, head in ipairs(heads) do
    if head then
      local version, flags = byte(head, 1, 2)
      if version ~= 1 or #head < 76 or flags % 16 >= 8 then return 'h' end
      if flags % 8 >= 4 then
        shown[#shown + 1] = firsts[i]
        shown[#shown + 1] = '\001' .. string.char(flags - 4) .. sub(head, 3)
        dues[#dues + 1] = string.format('%.0f', (cut('>I6', head, 3)))
        dues[#dues + 1] = firsts[i]
      end
    end
  end
  lanes[#lanes + 1] = { lane, found, unmet, lines, names, shown, dues }
end

-- All could be read.
for i = 1, records do
  if values[i] then
    if ttl == '' then
      call('SET', KEYS[i], values[i])
    else
      call('SET', KEYS[i], values[i], 'PX', ttl)
    end
  end
end
for _, one in ipairs(lanes) do
  local lane, found, unmet, lines, names, shown, dues = unpack(one)
  if #found > 0 then
    call('ZREM', lane .. 'd', unpack(found))
    if #unmet > 0 then call('ZREM', lane .. 'n', unpack(unmet)) end
    call('HDEL', lane .. 'm', unpack(found))
    call('HDEL', lane .. 'b', unpack(found))
    for _, name in ipairs(names) do
      local line = lines[name]
      call('ZREM', lane .. 'l' .. name, unpack(line.numbers))
      if line.stays then
        call('HINCRBY', lane .. 's', name, string.format('%.0f', 0 - line.bytes))
      else
        call('HDEL', lane .. 's', name)
      end
    end
    if #shown > 0 then
      call('HSET', lane .. 'm', unpack(shown))
      call('ZADD', lane .. 'd', unpack(dues))
    end
  end
end
local acks = at + 1
