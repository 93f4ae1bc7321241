#include "stores/redis/cluster_script.h"

#include "stores/redis/lua.h"

namespace semel::redis {
namespace {

Script of_records(const std::string& clock, const std::string& body) {
  return Script(script_text(clock, body));
}

Script of_rows(const std::string& clock, const std::string& body) {
  return Script(script_text(clock, row_text(true) + lua::kLetters + lua::kFinishParts +
                                       lua::kClusterFind + body),
                Script::Reach::kSlot);
}

}  // namespace

ClusterScripts::ClusterScripts(const std::string& clock)
    : mark(of_records(clock, lua::kClusterMark)),
      write(of_records(clock, std::string(lua::kJournal) + lua::kFinishPlain + lua::kClusterWrite)),
      peek(of_records(clock, lua::kClusterPeek)),
      reopen(of_records(clock, std::string(lua::kJournal) + lua::kClusterReopen)),
      print(of_records(clock, lua::kClusterPrint)),
      hold(of_rows(clock, lua::kClusterHold)),
      bodies(of_rows(clock, lua::kClusterBodies)),
      linked(of_rows(clock, lua::kClusterLinked)),
      settle(of_rows(clock, lua::kClusterSettle)),
      ack(of_rows(clock, lua::kClusterAck)),
      copy(of_rows(clock, lua::kClusterCopy)),
      write_dead_letter(of_rows(clock, lua::kClusterBury)),
      unbury(of_rows(clock, lua::kClusterUnbury)),
      count_replay(of_rows(clock, lua::kClusterCountReplay)),
      edit(of_rows(clock, std::string(lua::kEditParts) + lua::kClusterEdit)) {}

}  // namespace semel::redis
