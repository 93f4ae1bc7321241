local changed, left = 0, {}
-- It changes when somebody takes the row, shows it or hides it.
local function seen(row) return row.holder .. struct.pack('>I6', row.ready) end
for i = 2, #ARGV, 4 do
  local how, id, ack, number = unpack(ARGV, i, i + 3)
  local row = named(ack)
  if how == 'go' then
    if row then remove(row) end
    local other = id ~= '' and linked(id)
    if other then
      for _, word in ipairs({ id, struct.pack('>I4B', other.consumer, other.lane) .. other.number,
                              seen(other) }) do
        left[#left + 1] = word
      end
    end
  elseif how == 'drop' then
    if row and seen(row) == number then
      changed = changed + 1
      remove(row)
    end
  elseif how == 'back' then
    if row then release(row, 0) end
  elseif how == 'wait' then
    if row then
      changed = changed + 1
      out_of_sight(row)
      wait(row, now + tonumber(number), false)
    end
  elseif how == 'unpark' then
    row = row or (id ~= '' and linked(id))
    if row and has(row, PARKED) then
      changed = changed + 1
      out_of_sight(row)
      wait(row, now + tonumber(number), false)
    end
  else
    row = row or (id ~= '' and linked(id))
    -- Another number: somebody else has it meanwhile.
    if row and (number == '' or (row.number == number and not has(row, TAKEN))) then
      out_of_sight(row)
      wait(row, now, how == 'park')
    end
  end
end
return { changed, unpack(left) }
