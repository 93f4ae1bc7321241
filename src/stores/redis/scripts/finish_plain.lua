-- The next state of a claimed record. `key`: the text of its key behind its size; `text`: the same
-- if the record keeps it.
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
