#include "stores/mysql/primaries.h"

#include <fmt/format.h>

namespace semel::mysql {

// A server lists only the variables that it has.
void need_one_primary(Wire& wire) {
  wire.send(
      "SHOW GLOBAL VARIABLES WHERE (Variable_name = 'wsrep_on' AND Value = 'ON') OR "
      "(Variable_name = 'group_replication_single_primary_mode' AND Value = 'OFF')");
  Answers answers = wire.run(Loss::kNothingDone);
  if (answers.refused) throw failure_of(*answers.refused);
  sql::Answer found = answer_of(answers.said.back());
  if (!found.next()) return;
  sql::fail({ErrorKind::kRejected, "R257",
             fmt::format("the server is one of several that take writes ({} = {}), and a lock of a "
                         "session holds on one of them alone: living processes would be taken for "
                         "dead",
                         found.bytes(0), found.bytes(1)),
             "use a server, or a cluster, with one primary (MySQL: "
             "group_replication_single_primary_mode = ON); Galera has several always"},
            1);
}

}  // namespace semel::mysql
