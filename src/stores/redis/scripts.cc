#include "stores/redis/scripts.h"

#include <string_view>

#include "stores/redis/claim_script.h"
#include "stores/redis/complete_script.h"
#include "stores/redis/finish_script.h"
#include "stores/redis/held_script.h"
#include "stores/redis/journal_script.h"
#include "stores/redis/letter_script.h"
#include "stores/redis/row_script.h"
#include "stores/redis/run_script.h"
#include "stores/redis/take_script.h"

namespace semel::redis {
namespace {

// Places in a record are those that record.h names.
constexpr const char* kReadClock = R"lua(
local micros = %CLOCK%
local now = math.floor(micros / 1000)
)lua";

constexpr const char* kCommon = R"lua(
-- Numbers as text: the server would print each of them with 17 digits.
local function beginning(key) return redis.call('GETRANGE', key, '0', '57') end

local function head(format, state, flags, attempt, token, first, till, print)
  return struct.pack('>Bc1BI4I7I6I6', format, state, flags, attempt, token, first, till) .. print
end

local function held_by(old, nonce)
  local begin = string.sub(old, 1, 2)
  return (begin == '\001C' or begin == '\002C') and string.sub(old, 43, 58) == nonce
end
)lua";

constexpr const char* kAttach = R"lua(
local known = redis.call('HGET', KEYS[1], ARGV[1])
local number
if known then
  number = struct.unpack('>I4', known)
  if string.sub(known, 5) == ARGV[3] then return number end
  if ARGV[4] ~= '1' then return 0 end
else
  number = tonumber(ARGV[2])
  while redis.call('HSETNX', KEYS[2], string.format('%d', number), ARGV[1]) == 0 do
    if redis.call('HGET', KEYS[2], string.format('%d', number)) == ARGV[1] then break end
    number = number % tonumber(ARGV[5]) + 1
  end
end
redis.call('HSET', KEYS[1], ARGV[1], struct.pack('>I4', number) .. ARGV[3])
return number
)lua";

constexpr const char* kRenew = R"lua(
local till = struct.pack('>I6', now + tonumber(ARGV[1]))
local answer = {}
for i, key in ipairs(KEYS) do
  local held = held_by(beginning(key), ARGV[i + 1])
  if held then redis.call('SETRANGE', key, '20', till) end
  answer[i] = held and '1' or '0'
end
return table.concat(answer)
)lua";

std::string time_by(const std::string& clock) {
  constexpr std::string_view kMark = "%CLOCK%";
  std::string text = kReadClock;
  return text.replace(text.find(kMark), kMark.size(), clock);
}

std::string with_common(const std::string& clock, const char* body) {
  return time_by(clock) + kCommon + body;
}

// With the name of a lane in the place of its mark.
std::string with_lanes(std::string text, bool cluster) {
  constexpr std::string_view kMark = "%LANE%";
  constexpr const char* kOfItsOwn = "'.' .. lane .. '}'";
  constexpr const char* kOfOneSlot = "'}' .. lane .. '.'";
  return text.replace(text.find(kMark), kMark.size(), cluster ? kOfOneSlot : kOfItsOwn);
}

}  // namespace

std::string row_text(bool cluster) { return with_lanes(kRowScript, cluster); }

// Makes the scripts of one store.
class ScriptMaker {
 public:
  ScriptMaker(const std::string& clock, bool cluster)
      : clock_(clock), rows_(row_text(cluster)), due_(with_lanes(kDueScript, cluster)) {}

  Script bundled(const char* before, const char* body, Script::Shape shape) const {
    return {time_by(clock_) + before, body, shape};
  }
  Script timed(const char* body) const { return Script(time_by(clock_) + body); }
  Script records(const std::string& body) const {
    return Script(with_common(clock_, body.c_str()));
  }
  Script rows(const std::string& body) const {
    return Script(with_common(clock_, rows_.c_str()) + body, Script::Reach::kSlot);
  }
  Script due(const char* body) const {
    return Script(time_by(clock_) + due_ + body, Script::Reach::kSlot);
  }
  Script letters(const std::string& body) const { return rows(kLetterScript + body); }
  Script reopening(const std::string& body) const {
    return letters(std::string(kJournalScript) + kReopenScript + body);
  }
  Script finish() const {
    return Script(with_common(clock_, kJournalScript) + kPlainFinishScript + rows_ + kLetterScript +
                  kKeepScript + kFinishScript);
  }

 private:
  const std::string& clock_;
  const std::string rows_;
  const std::string due_;
};

Scripts::Scripts(const std::string& clock, bool cluster) : Scripts(ScriptMaker(clock, cluster)) {}

Scripts::Scripts(const ScriptMaker& make)
    : attach(Script(kAttach)),
      claim(make.bundled(kBeforeClaimScript, kClaimScript, {.heads = 5, .plain = 1})),
      renew(make.records(kRenew)),
      finish(make.finish()),
      complete(make.bundled(kBeforeComplete, kComplete, {.heads = 1, .plain = 0})),
      complete_rows(make.timed(kCompleteRows)),
      keep_step(make.records(std::string(kJournalScript) + kKeepStepScript)),
      append(make.rows(kAppendScript)),
      look(make.due(kLookScript)),
      take(make.due(kTakeScript)),
      hold_behind(make.rows(kHoldBehindScript)),
      change(make.rows(kChangeScript)),
      depth(make.rows(kDepthScript)),
      lines(make.rows(kLinesScript)),
      letter_heads(make.letters(kLetterHeadsScript)),
      list_letters(make.letters(kListLettersScript)),
      replay(make.reopening(kReplayScript)),
      discard(make.letters(kDiscardScript)),
      edit(make.letters(kEditScript)),
      add(make.letters(kAddScript)),
      unlock(make.reopening(kUnlockScript)),
      begin_run(make.rows(kBeginScript)),
      end_run(make.rows(kEndScript)),
      sign(make.rows(kSignScript)),
      doubt(make.rows(std::string(kTellScript) + kDoubtScript)),
      declare(make.rows(std::string(kTellScript) + kDeclareScript)),
      show(make.rows(kShowScript)),
      forget_run(make.rows(std::string(kTellScript) + kForgetRunScript)),
      count_crash(make.records(kCountCrashScript)) {}

std::string script_text(const std::string& clock, const std::string& body) {
  return with_common(clock, body.c_str());
}

}  // namespace semel::redis
