for i, key in ipairs(KEYS) do
  answer[i] = '0'
  if not ended[key] and held_by(olds[i], ARGV[7 * i - 5]) then
    local e, kept = decided(i, key, olds[i]), ARGV[7 * i + 1] == '1'
    if e.format == 2 and ARGV[7 * i + 1] == 'L' then e.ttl = false end
    if e.to == 'R' then e.till = tonumber(ARGV[7 * i - 2]) end
    if e.to == 'N' and e.has_row then kept = e.flags - e.flags % 2 end
    write(key, e, kept)
    ended[key] = true
    answer[i] = e.has_row and 'h' or '1'
  end
end
return table.concat(answer)
