#include "stores/redis/cluster_script.h"

#include "stores/redis/finish_script.h"
#include "stores/redis/journal_script.h"
#include "stores/redis/row_script.h"

namespace semel::redis {
namespace {

// Places in a record are those that record.h names.
constexpr const char* kMark = R"lua(
local answer = {}
for i, key in ipairs(KEYS) do
  local old = beginning(key)
  answer[i] = ''
  if held_by(old, ARGV[3 * i - 2]) then
    local flags, tail = string.byte(old, 3), redis.call('GETRANGE', key, '58', '-1')
    if ARGV[3 * i - 1] == '1' and flags < 4 then
      redis.call('SETRANGE', key, '2', string.char(flags + 4))
    end
    answer[i] = struct.pack('>I6', now + tonumber(ARGV[3 * i])) .. string.sub(old, 15, 20) ..
                string.char(flags >= 2 and 1 or 0) .. string.sub(old, 27, 42) ..
                string.sub(tail, 5, 4 + struct.unpack('>I4', tail))
  end
end
return answer
)lua";

constexpr const char* kWrite = R"lua(
for i, key in ipairs(KEYS) do
  answer[i] = '0'
  if not ended[key] and held_by(olds[i], ARGV[7 * i - 5]) then
    local e, kept = decided(i, key, olds[i]), ARGV[7 * i + 1] == '1'
    if e.to == 'R' then e.till = tonumber(ARGV[7 * i - 2]) end
    if e.to == 'N' and e.has_row then kept = e.flags - e.flags % 2 end
    write(key, e, kept)
    ended[key] = true
    answer[i] = e.has_row and 'h' or '1'
  end
end
return table.concat(answer)
)lua";

constexpr const char* kPeek = R"lua(
local answer = {}
for i, key in ipairs(KEYS) do
  local old = redis.call('GETRANGE', key, '0', '25')
  answer[i] = #old == 26 and string.sub(old, 2, 2) ..
              string.format('%.0f', math.max(struct.unpack('>I6', old, 21) - now, 0)) or ''
end
return answer
)lua";

constexpr const char* kReopenRecord = R"lua(
local value = redis.call('GET', KEYS[1])
if not value or string.sub(value, 1, 42) ~= ARGV[1] then return 0 end
local flags, attempt, token, first = struct.unpack('>BI4I7I6', value, 3)
flags = flags % 2 + (ARGV[2] == '1' and 2 or 0)
local format, rest = string.byte(value), string.sub(value, 43)
if ARGV[3] then format, rest = noted(format, rest, ARGV[3]) end
redis.call('SET', KEYS[1], head(format, 'R', flags, attempt, token, first, now,
                                string.sub(value, 27, 42)) .. rest)
return 1
)lua";

constexpr const char* kPrint = R"lua(
if redis.call('GETRANGE', KEYS[1], '0', '41') ~= ARGV[1] then return 0 end
redis.call('SETRANGE', KEYS[1], '26', ARGV[2])
return 1
)lua";

constexpr const char* kHold = R"lua(
local answer = {}
for i = 2, #ARGV, 6 do
  local id, till, first, text, print, extra = unpack(ARGV, i, i + 5)
  local x, kept = extra ~= '' and cut(extra) or nothing, false
  if id ~= '' then
    kept = hold(x, id, tonumber(till), false, tonumber(first), text, print) and linked(id).number
  else
    hold(x, nil, now + tonumber(till), false, x.since and now - x.since or now)
  end
  answer[#answer + 1] = kept or ''
end
return answer
)lua";

constexpr const char* kFind = R"lua(
-- The row that ack_of() names.
local function named(ack)
  return ack ~= '' and read(struct.unpack('>I4', ack), string.byte(ack, 5), string.sub(ack, 6)) or nil
end
)lua";

constexpr const char* kBodies = R"lua(
local answer = {}
for i = 2, #ARGV, 2 do
  local row = named(ARGV[i + 1]) or (ARGV[i] ~= '' and linked(ARGV[i]))
  answer[#answer + 1] = row and redis.call('HGET', row.at .. 'b', row.number) or ''
end
return answer
)lua";

constexpr const char* kSettle = R"lua(
for i = 2, #ARGV, 4 do
  local how, id, ack, number = unpack(ARGV, i, i + 3)
  local row = named(ack)
  if how == 'go' then
    if row then remove(row) end
    if id ~= '' then remove_rows_of(id) end
  elseif how == 'back' then
    if row then release(row, 0) end
  elseif how == 'wait' then
    if row then
      out_of_sight(row)
      wait(row, now + tonumber(number), false)
    end
  else
    row = row or linked(id)
    -- Another number: somebody else has it meanwhile.
    if row and (number == '' or (row.number == number and not has(row, TAKEN))) then
      out_of_sight(row)
      wait(row, now, how == 'park')
    end
  end
end
return 'OK'
)lua";

constexpr const char* kAck = R"lua(
local answer = {}
for i = 2, #ARGV do
  local row = named(ARGV[i])
  local found = row and row.record ~= no_record and linked(row.record)
  answer[i - 1] = ''
  if found and found.number == row.number then
    answer[i - 1] = row.record
  elseif row then
    remove(row)
  end
end
return answer
)lua";

constexpr const char* kCopy = R"lua(
local row = hold_copy(parsed_letter(ARGV[2]), ARGV[3], ARGV[4], now + tonumber(ARGV[5]),
                      ARGV[6] ~= '' and ARGV[6] or nil)
return { row.lane, row.number }
)lua";

constexpr const char* kBury = R"lua(
local answer = {}
for i = 2, #ARGV, 6 do
  local id, first, text, print, body, extra = unpack(ARGV, i, i + 5)
  local x, new = cut(extra), false
  local letter = { replayed = 0, attempts = x.attempts, dead = now, reason = x.reason,
                   error = x.error }
  letter.first = tonumber(first) or (x.since and now - x.since) or now
  if x.head ~= '' then
    local given = parsed(x.head, x.consumer, 0, '')
    letter.consumer, letter.print, letter.key = x.consumer, given.print, given.key
    letter.record, letter.identity = x.record ~= '' and x.record or no_record, x.identity
    new = bury(letter, x.body)
  elseif body ~= '' then
    letter.consumer, letter.print, letter.key = consumer_of(id), print, text
    letter.record, letter.identity = id, 'k' .. id
    new = bury(letter, body)
  end
  answer[#answer + 1] = new and string.format('%d', new) or ''
end
return answer
)lua";

constexpr const char* kCountReplay = R"lua(
local letter = read_letter(ARGV[2])
if letter then count_replay(ARGV[2], letter) end
return 'OK'
)lua";

constexpr const char* kEditLetter = R"lua(
local id, before, print, content = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local letter = read_letter(id)
if not letter then return 'missing' end
if letter.print ~= before then return 'moved' end
local twin = letter.identity ~= '' and redis.call('HGET', letter_ids, index_field(letter, print))
if twin and twin ~= id then return 'twin' end
if not content then return 'yes' end
redis.call('HSET', letter_ids, index_field(letter, print), id)
if print ~= before then redis.call('HDEL', letter_ids, index_field(letter, before)) end
letter.print = print
save_letter(id, letter)
redis.call('HSET', letter_at(id), 'b', content)
return 'yes'
)lua";

Script of_records(const std::string& clock, const std::string& body) {
  return Script(script_text(clock, body));
}

Script of_rows(const std::string& clock, const std::string& body) {
  return Script(script_text(clock, row_text(true) + kLetterScript + kKeepScript + kFind + body),
                Script::Reach::kSlot);
}

}  // namespace

ClusterScripts::ClusterScripts(const std::string& clock)
    : mark(of_records(clock, kMark)),
      write(of_records(clock, std::string(kJournalScript) + kPlainFinishScript + kWrite)),
      peek(of_records(clock, kPeek)),
      reopen(of_records(clock, std::string(kJournalScript) + kReopenRecord)),
      print(of_records(clock, kPrint)),
      hold(of_rows(clock, kHold)),
      bodies(of_rows(clock, kBodies)),
      settle(of_rows(clock, kSettle)),
      ack(of_rows(clock, kAck)),
      copy(of_rows(clock, kCopy)),
      bury(of_rows(clock, kBury)),
      count_replay(of_rows(clock, kCountReplay)),
      edit(of_rows(clock, kEditLetter)) {}

}  // namespace semel::redis
