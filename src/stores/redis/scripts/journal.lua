-- The place behind a part and its size.
local function behind(bytes, at) return at + 4 + struct.unpack('>I4', bytes, at) end

-- Cuts what stands behind the text of a record's key: note, ending, entries. Without a journal all is
-- ending.
local function journal_parts(format, rest)
  if format == 1 then return '', rest, '' end
  local note = behind(rest, 1)
  local entries = behind(rest, behind(rest, note))
  return string.sub(rest, 5, note - 1), string.sub(rest, note, entries - 1), string.sub(rest, entries)
end

-- The same put together again, behind its format.
local function with_journal(note, ending, entries)
  if note == '' and entries == '' then return 1, ending end
  if ending == '' then ending = string.rep('\000', 8) end
  return 2, struct.pack('>I4', #note) .. note .. ending .. entries
end

-- Format and what stands behind the head of a record, with another note.
local function noted(format, rest, note)
  local text = behind(rest, 1)
  local _, ending, entries = journal_parts(format, string.sub(rest, text))
  local as, all = with_journal(note, ending, entries)
  return as, string.sub(rest, 1, text - 1) .. all
end
