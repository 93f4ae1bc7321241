#include "stores/redis/scripts.h"

#include <fmt/format.h>

#include <utility>

#include "base/digest.h"
#include "stores/redis/claim_script.h"
#include "stores/redis/complete_script.h"
#include "stores/redis/error_table.h"
#include "stores/redis/finish_script.h"
#include "stores/redis/held_script.h"
#include "stores/redis/journal_script.h"
#include "stores/redis/letter_script.h"
#include "stores/redis/names.h"
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

std::string function_of(const std::string& before, const std::string& body) {
  return before + "local function run(keys, k, count, args, a)\n" + body + "end\n";
}

std::string alone_of(const std::string& before, const std::string& body, Script::Shape shape) {
  return function_of(before, body) +
         fmt::format("return run(KEYS, 0, #KEYS, ARGV, {})", shape.heads);
}

// Behind the heads each call stands as how many keys it has, those, and its other arguments.
std::string bundle_of(const std::string& before, const std::string& body, Script::Shape shape) {
  return function_of(before, body) +
         fmt::format("local answers, at, plain = {{}}, {}, {}\n", shape.heads + 1, shape.plain) +
         R"lua(
while at <= #ARGV do
  local count = tonumber(ARGV[at])
  local ran, answer = pcall(run, ARGV, at, count, ARGV, at + count)
  if not ran or (type(answer) == 'table' and answer.err) then answer = false end
  answers[#answers + 1] = answer
  at = at + 2 * count - plain + 1
end
return answers
)lua";
}

void append_keys(std::vector<BytesView>& words, const Call& call) {
  for (std::size_t i = 0; i < call.keys.size(); ++i) words.push_back(call.keys[i]);
}

// Those from `first` to before `end`.
void append_arguments(std::vector<BytesView>& words, const Call& call, std::size_t first,
                      std::size_t end, BytesView life) {
  for (std::size_t i = first; i < end; ++i) {
    words.push_back(call.life_at == i ? life : call.arguments[i]);
  }
}

}  // namespace

namespace {

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

Script::Program::Program(std::string its_text)
    : text(std::move(its_text)), digest(digest::sha1_hex(text)) {}

Script::Script(std::string text, Reach reach)
    : alone_(std::move(text)), bundle_({}), reach_(reach) {}

Script::Script(const std::string& before, const std::string& body, Shape shape)
    : alone_(alone_of(before, body, shape)),
      bundle_(bundle_of(before, body, shape)),
      shape_(shape) {}

void Script::send(Wire& wire, const Call& call, bool with_text, bool on_cluster) const {
  const bool one_more = on_cluster && reach_ == Reach::kSlot;
  const std::string keys = std::to_string(call.keys.size() + (one_more ? 1 : 0));
  const std::string nowhere = one_more ? nowhere_beside(call.keys.front()) : std::string();
  std::vector<BytesView> words = {with_text ? "EVAL" : "EVALSHA",
                                  with_text ? alone_.text : alone_.digest, keys};
  words.reserve(words.size() + call.keys.size() + 1 + call.arguments.size());
  append_keys(words, call);
  if (one_more) words.emplace_back(nowhere);
  append_arguments(words, call, 0, call.arguments.size(), wire.run_id());
  wire.send(words);
}

void Script::send_bundle(Wire& wire, std::span<const Call> calls,
                         std::span<const std::size_t> which, bool with_text) const {
  std::vector<std::string> counts;
  counts.reserve(which.size());
  std::vector<BytesView> words = {with_text ? "EVAL" : "EVALSHA",
                                  with_text ? bundle_.text : bundle_.digest, "0"};
  std::size_t more = shape_.heads + which.size();
  for (const std::size_t i : which) more += calls[i].keys.size() + calls[i].arguments.size();
  words.reserve(words.size() + more);
  append_arguments(words, calls[which.front()], 0, shape_.heads, wire.run_id());
  for (const std::size_t i : which) {
    const Call& call = calls[i];
    words.push_back(counts.emplace_back(std::to_string(call.keys.size())));
    append_keys(words, call);
    append_arguments(words, call, shape_.heads, call.arguments.size(), {});
  }
  wire.send(words);
}

std::vector<Reply> Script::run(Wire& wire, std::span<const Call> calls, Loss loss) const {
  for (const Call& call : calls) send(wire, call, false, false);
  std::vector<Reply> replies = wire.run(loss);
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (replies[i].is_error() && word_of(replies[i].bytes) == "NOSCRIPT") unknown.push_back(i);
  }
  // With its text, which cannot be forgotten between here and there.
  for (const std::size_t i : unknown) send(wire, calls[i], true, false);
  std::vector<Reply> told = wire.run(loss);
  for (std::size_t i = 0; i < unknown.size(); ++i) replies[unknown[i]] = std::move(told[i]);
  return replies;
}

}  // namespace semel::redis
