local name, consumer, lane, shown = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), 0
local found = redis.call('ZSCAN', lane_of(consumer, lane) .. 'd', ARGV[5], 'COUNT', 500)
for i = 1, #found[2], 2 do
  local row = read(consumer, lane, found[2][i])
  if row and has(row, TAKEN) and string.sub(row.holder, 1, 5) == string.sub(name, 1, 5) then
    set(row, SUSPECT, true)
    set(row, TAKEN, false)
    row.holder = nobody
    save(row)
    -- Where it stood: a younger copy of it, of which nothing is suspected, does not pass it.
    due(row, math.min(now, row.ready))
    shown = shown + 1
  end
end
return { found[1], shown }
