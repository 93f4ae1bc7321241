#include "stores/redis/inspector_scripts.h"

#include "stores/redis/journal_script.h"
#include "stores/redis/row_script.h"

namespace semel::redis {
namespace {

// Places in a record are those that record.h names.
constexpr const char* kRead = R"lua(
local old = redis.call('GETRANGE', KEYS[1], 0, 41)
if old == '' then return 0 end
local format = string.byte(old)
if (format ~= 1 and format ~= 2) or #old ~= 42 then return 3 end
local state = string.sub(old, 2, 2)
)lua";

constexpr const char* kMayForget = R"lua(
if ARGV[2] ~= '' and ARGV[2] ~= state then return 0 end
if ARGV[3] ~= '' and ARGV[3] ~= string.sub(old, 8, 14) then return 0 end
if state == 'C' and struct.unpack('>I6', old, 21) > now then return 2 end
)lua";

constexpr const char* kForgetRecord = R"lua(
local id = string.sub(KEYS[1], -20)
redis.call('DEL', KEYS[1], string.sub(KEYS[1], 1, -21) .. 'crash:' .. id)
)lua";

constexpr const char* kForgetRow = R"lua(
local row = string.byte(old, 3) >= 2 and linked(id)
if row then remove(row) end
)lua";

constexpr const char* kYes = "return 1";

constexpr const char* kUnlock = "return reopen(KEYS[1]) and 1 or 0";

constexpr const char* kSeize = R"lua(
if state ~= 'P' and (state ~= 'C' or struct.unpack('>I6', old, 21) > now) then return 0 end
local value = redis.call('GET', KEYS[1])
local flags, attempt, token, first = struct.unpack('>BI4I7I6', value, 3)
redis.call('SET', KEYS[1], head(format, 'C', flags - flags % 2, attempt, token, first,
                                now + tonumber(ARGV[2]), string.sub(value, 27, 42)) ..
                           ARGV[3] .. string.sub(value, state == 'C' and 59 or 43))
return 1
)lua";

constexpr const char* kCheckHeld = R"lua(
local answer = {}
for i, key in ipairs(KEYS) do
  local flags = string.byte(redis.call('GETRANGE', key, 2, 2)) or 0
  answer[i] = flags >= 2 and not linked(string.sub(key, -20)) and 'H' or '-'
end
return table.concat(answer)
)lua";

constexpr const char* kCheckLinked = R"lua(
local answer = {}
for i = 2, #ARGV do answer[i - 1] = linked(ARGV[i]) and '-' or 'H' end
return table.concat(answer)
)lua";

// One that stands behind another is found when that one goes.
constexpr const char* kCheckRows = R"lua(
local answer = {}
local function check(row)
  if redis.call('HEXISTS', row.at .. 'b', row.number) == 0 then return 'B' end
  if has(row, BEHIND) then
    local first = redis.call('ZRANGE', line_of(row), 0, 0)[1]
    return first and first ~= row.number and '-' or 'N'
  end
  local found = redis.call('ZSCORE', row.at .. 'd', row.number) or
                redis.call('ZSCORE', row.at .. 'n', row.number) or
                redis.call('SISMEMBER', row.at .. 'p', row.number) == 1
  return found and '-' or 'N'
end
for i = 4, #ARGV do
  local row = read(tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[i])
  answer[#answer + 1] = row and check(row) or '-'
end
return table.concat(answer)
)lua";

}  // namespace

InspectorScripts::InspectorScripts(const std::string& clock, bool cluster)
    : InspectorScripts(clock, row_text(cluster) + kLetterScript, cluster) {}

InspectorScripts::InspectorScripts(const std::string& clock, const std::string& rows, bool cluster)
    : forget(script_text(clock, rows + kRead + kMayForget + kForgetRecord +
                                    (cluster ? "" : kForgetRow) + kYes),
             Script::Reach::kSlot),
      may_forget(script_text(clock, std::string(kRead) + kMayForget + kYes)),
      unlock(script_text(clock, rows + kJournalScript + kReopenScript + kRead + kUnlock),
             Script::Reach::kSlot),
      seize(script_text(clock, rows + kRead + kSeize)),
      check_held(script_text(clock, rows + kCheckHeld), Script::Reach::kSlot),
      check_linked(script_text(clock, rows + kCheckLinked), Script::Reach::kSlot),
      check_rows(script_text(clock, rows + kCheckRows), Script::Reach::kSlot) {}

}  // namespace semel::redis
