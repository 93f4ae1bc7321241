local row = hold_copy(parsed_letter(ARGV[2]), ARGV[3], ARGV[4], now + tonumber(ARGV[5]),
                      ARGV[6] ~= '' and ARGV[6] or nil)
return { row.lane, row.number }
