#include "stores/redis/inspector_scripts.h"

#include "stores/redis/lua.h"

namespace semel::redis {
namespace {

constexpr const char* kYes = "return 1";

}  // namespace

InspectorScripts::InspectorScripts(const std::string& clock, bool cluster)
    : InspectorScripts(clock, row_text(cluster) + lua::kLetters, cluster) {}

InspectorScripts::InspectorScripts(const std::string& clock, const std::string& rows, bool cluster)
    : read(script_text(clock, lua::kRead)),
      forget(script_text(clock, rows + lua::kInspect + lua::kStands + lua::kMayForget +
                                    lua::kForgetRecord + (cluster ? "" : lua::kForgetRow) + kYes),
             Script::Reach::kSlot),
      unlock(script_text(clock, rows + lua::kJournal + lua::kReopen + lua::kInspect + lua::kStands +
                                    lua::kUnlockSeen),
             Script::Reach::kSlot),
      seize(script_text(clock, rows + lua::kInspect + lua::kStands + lua::kSeize)),
      check_held(script_text(clock, rows + lua::kCheckHeld), Script::Reach::kSlot),
      check_linked(script_text(clock, rows + lua::kCheckLinked), Script::Reach::kSlot),
      check_rows(script_text(clock, rows + lua::kCheckRows), Script::Reach::kSlot) {}

}  // namespace semel::redis
