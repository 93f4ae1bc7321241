local row = linked(ARGV[2])
if not row then return {} end
return { row.lane, row.number, row.holder, row.flags, row.ready, row.attempts, row.first,
         has(row, PRINT) and row.print or '', row.key, now }
