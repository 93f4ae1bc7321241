-- It creates no function before one is needed.
--
-- Most last tokens go to no log and no replica: a command with one write is then logged as one
-- command, and not as a transaction. The token that the log has is in the same block of 2^31, and
-- the next run of the server begins above that block, whatever its clock says.
local epoch, last, stored, known = 0, 0, 0, false
local given = call('GET', keys[k + 1])
if given then
  epoch, stored = decoded('>I4I7', given)
  last = stored
  known = life ~= '' and sub(given, 12) == life
  if not known then epoch, last = epoch + 1, last + 2147483648 end
end
local by_time = micros + epoch * 4294967296 - 1
if last < seen_token then last = seen_token end
if last < by_time then last = by_time end

local first = last + 1
local made, answers, names, values, own = false, false, false, false, false

-- Most keys are new: all their records are made by one command.
local all_new
if count == 2 then
  all_new = call('SET', keys[k + 2], made_head .. pack('>I7', first) .. made_times .. args[a + 1], 'NX')
else
  local pairs_of_all = {}
  for i = 2, count do
    pairs_of_all[2 * i - 3] = keys[k + i]
    pairs_of_all[2 * i - 2] = pack('>c7I7c12c0', made_head, last + i - 1, made_times, args[a + i - 1])
  end
  all_new = call('MSETNX', unpack(pairs_of_all)) == 1
end
if all_new then
  last, made = last + count - 1, true
else
  answers, names, values, own = { now }, {}, {}, {}
  local missed, bad = {}, false
  -- A number is the token of a record that was made.
  for i = 2, count do
    local value = made_head .. pack('>I7', last + 1) .. made_times .. args[a + i - 1]
    if call('SET', keys[k + i], value, 'NX') then
      last, made = last + 1, true
      answers[i] = last
    else
      missed[#missed + 1] = i
    end
  end

  -- A record that is there already is looked at, and written when all of it could be read.
  local none, want_result, gone = string.rep('\000', 16), ARGV[2] == '1', ARGV[5]

  -- The answer says more than the record: whether a lease ended by it.
  local function acquire(key, ended, format, flags, attempt, token, seen, print, nonce, tail)
    last = math.max(last, token) + 1
    local head = pack('>Bc1', format, 'C')
    local value = pack('>I4I7I6I6', attempt + 1, last, seen, now + lease) .. print .. nonce
    local at = #names + 1
    names[at], values[at] = key, head .. string.char(flags) .. value .. tail
    return head .. string.char(ended and flags + 128 or flags) .. value
  end

  -- A nonce begins with the name of the instance that drew it, or renewed it since.
  local function holder_is_gone(nonce)
    for at = 1, #gone, 8 do
      if sub(gone, at, at + 7) == sub(nonce, 1, 8) then return true end
    end
    return false
  end

  local function look(key, print, nonce)
    local old = redis.pcall('GETRANGE', key, '0', '57')
    local format = type(old) == 'string' and string.byte(old)
    if (format ~= 1 and format ~= 2) or #old < 42 then
      bad = bad or old
      return type(old) == 'table' or sub(old, 1, 1)
    end
    local state, flags, attempt, token, seen, till = decoded('>c1BI4I7I6I6', old, 2)
    local recorded = sub(old, 27, 42)
    -- The same claim once more, whose answer was lost. It is answered as it was, and its lease
    -- begins anew.
    if state == 'C' and sub(old, 43, 58) == nonce then
      own[#own + 1] = key
      return old
    end
    if state == 'C' and till > now and holder_is_gone(sub(old, 43, 50)) then till = now end
    local same = print == none or print == recorded
    if same and till <= now and (state == 'C' or state == 'R') then
      if state == 'C' then flags = flags - flags % 2 + 1 end
      local tail = sub(call('GET', key), state == 'C' and 59 or 43)
      return acquire(key, state == 'C', format, flags, attempt, token, seen, recorded, nonce, tail)
    end
    if state == 'C' then return old end
    if not same or state == 'R' or (state == 'D' and not want_result) then
      return sub(old, 1, 42)
    end
    return call('GET', key)
  end

  for _, i in ipairs(missed) do
    local asked = args[a + i - 1]
    answers[i] = look(keys[k + i], sub(asked, 1, 16), sub(asked, 17, 32))
  end
  -- A record that cannot be read changes nothing.
  if bad then
    for i = 2, count do
      if type(answers[i]) == 'number' then call('DEL', keys[k + i]) end
    end
    return type(bad) == 'table' and bad or answers
  end
  made = made or #names > 0
end

if made then
  local quiet = known and set_repl and
                last - last % 2147483648 == stored - stored % 2147483648 and pcall(set_repl, nobody)
  local kept = redis.pcall('SET', keys[k + 1], pack('>I4I7', epoch, last) .. life)
  if quiet then set_repl(everybody) end
  if kept.err then return kept end
end
if names then
  for i, name in ipairs(names) do call('SET', name, values[i]) end
  for _, name in ipairs(own) do call('SETRANGE', name, '20', pack('>I6', now + lease)) end
end
return answers or { now, first }
