#include "stores/redis/scripts.h"

#include <string_view>

#include "stores/redis/lua.h"
#include "stores/redis/names.h"

namespace semel::redis {
namespace {

// Gives the answers of completions whose deliveries their sources settle.
constexpr const char* kAnswer = "return table.concat(answer)\n";

std::string time_by(const std::string& clock) {
  constexpr std::string_view kMark = "CLOCK_MICROS";
  std::string text = lua::kClock;
  return text.replace(text.find(kMark), kMark.size(), clock);
}

std::string with_common(const std::string& clock, const char* body) {
  return time_by(clock) + lua::kRecords + body;
}

// Replaces the placeholder for the name of a lane.
std::string with_lanes(std::string text, bool cluster) {
  constexpr std::string_view kMark = "LANE_NAME";
  constexpr const char* kOfItsOwn = "'.' .. lane .. '}'";
  constexpr const char* kOfOneSlot = "'}' .. lane .. '.'";
  return text.replace(text.find(kMark), kMark.size(), cluster ? kOfOneSlot : kOfItsOwn);
}

// Replaces the placeholder for the tags of records.
std::string with_tags(std::string text) {
  constexpr std::string_view kMark = "RECORD_TAGS";
  std::string tags;
  for (unsigned slot = 0; slot < kSlots; ++slot) tags += tag_of(slot);
  return text.replace(text.find(kMark), kMark.size(), tags);
}

}  // namespace

std::string row_text(bool cluster) { return with_lanes(lua::kRows, cluster); }

// Makes the scripts of one store.
class ScriptMaker {
 public:
  ScriptMaker(const std::string& clock, bool cluster)
      : clock_(clock), rows_(row_text(cluster)), due_(with_lanes(lua::kDue, cluster)) {}

  Script bundled(const char* before, const std::string& body, Script::Shape shape) const {
    return {time_by(clock_) + before, body, shape};
  }
  Script completing(const char* behind) const {
    return bundled(lua::kCompleteBefore, std::string(lua::kComplete) + behind,
                   {.heads = 1, .plain = 0});
  }
  Script timed(const std::string& body) const { return Script(time_by(clock_) + body); }
  Script records(const std::string& body) const {
    return Script(with_common(clock_, body.c_str()));
  }
  Script rows(const std::string& body) const {
    return Script(with_common(clock_, rows_.c_str()) + body, Script::Reach::kSlot);
  }
  Script due(const char* body) const {
    return Script(time_by(clock_) + due_ + body, Script::Reach::kSlot);
  }
  Script letters(const std::string& body) const { return rows(lua::kLetters + body); }
  Script reopening(const std::string& body) const {
    return letters(std::string(lua::kJournal) + lua::kReopen + body);
  }
  Script finish() const {
    return Script(with_common(clock_, lua::kJournal) + lua::kFinishPlain + rows_ + lua::kLetters +
                  lua::kFinishParts + with_tags(lua::kFinish) + lua::kSettleEntries);
  }

 private:
  const std::string& clock_;
  const std::string rows_;
  const std::string due_;
};

Scripts::Scripts(const std::string& clock, bool cluster) : Scripts(ScriptMaker(clock, cluster)) {}

Scripts::Scripts(const ScriptMaker& make)
    : attach(Script(lua::kAttach)),
      claim(make.bundled(lua::kClaimBefore, lua::kClaim, {.heads = 5, .plain = 1})),
      renew(make.records(lua::kRenew)),
      finish(make.finish()),
      complete(make.completing(kAnswer)),
      complete_entries(make.completing(lua::kSettleEntries)),
      complete_rows(make.timed(std::string(lua::kCompleteRows) + lua::kSettleEntries)),
      keep_step(make.records(std::string(lua::kJournal) + lua::kKeepStep)),
      append(make.rows(lua::kAppend)),
      look(make.due(lua::kLook)),
      take(make.due(lua::kTake)),
      show_lost(make.rows(lua::kShowLost)),
      hold_behind(make.rows(lua::kHoldBehind)),
      change(make.rows(lua::kChange)),
      depth(make.rows(lua::kDepth)),
      lines(make.rows(lua::kLines)),
      letter_heads(make.letters(lua::kLetterHeads)),
      list_letters(make.letters(lua::kListLetters)),
      replay(make.reopening(lua::kReplay)),
      discard(make.letters(lua::kDiscard)),
      expire(make.letters(lua::kExpire)),
      let_expire(make.records(lua::kLetExpire)),
      edit(make.letters(std::string(lua::kEditParts) + lua::kEdit)),
      replaces(make.letters(lua::kReplaces)),
      add(make.letters(lua::kAdd)),
      unlock(make.reopening(lua::kUnlock)),
      begin_run(make.rows(lua::kBeginRun)),
      acknowledge_death(make.rows(lua::kAcknowledgeDeath)),
      end_run(make.rows(lua::kEndRun)),
      sign(make.rows(lua::kSign)),
      doubt(make.rows(std::string(lua::kDeaths) + lua::kDoubt)),
      declare(make.rows(std::string(lua::kDeaths) + lua::kDeclare)),
      show(make.rows(lua::kShow)),
      forget_run(make.rows(std::string(lua::kDeaths) + lua::kForgetRun)),
      crashes(make.records(lua::kCrashes)) {}

std::string script_text(const std::string& clock, const std::string& body) {
  return with_common(clock, body.c_str());
}

}  // namespace semel::redis
