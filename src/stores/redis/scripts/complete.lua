local ended, answer = {}, {}
-- All is looked at before anything is written: what cannot be read changes nothing. What is no
-- string at all is missing here, and an error there.
local olds
if count == 1 then
  olds = { call('GET', keys[k + 1]) or '' }
else
  olds = call('MGET', unpack(keys, k + 1, k + count))
  for i = 1, count do olds[i] = olds[i] or call('GETRANGE', keys[k + i], '0', '57') end
end
for i = 1, count do
  local key, old, given = keys[k + i], olds[i], args[a + i]
  local begin, flags, middle, print, nonce
  if #old >= 58 then begin, flags, middle, print, nonce = cut('c2Bc17xxxxxxc16c16', old) end
  local asked, ending = given, ''
  if #given > 16 then asked, ending = sub(given, 1, 16), sub(given, 17) end
  if nonce and nonce ~= asked and sub(asked, 1, 8) == NO_NAME and sub(nonce, 9) == sub(asked, 9) then
    asked = nonce
  end
  if ended[key] or (begin ~= '\001C' and begin ~= '\002C') or nonce ~= asked then
    answer[i] = '0'
  elseif flags >= 2 then
    answer[i] = 'h'
  else
    local value = '\001D\000' .. middle .. till .. print .. ending
    if ttl == '' then
      call('SET', key, value)
    else
      call('SET', key, value, 'PX', ttl)
    end
    answer[i], ended[key] = '1', true
  end
end
local acks = a + count + 1
