-- Parked or dead -> retrying, due now; false if the record is in another state. `note`: a note of
-- giving up, if any.
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
      out_of_sight(row)
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
