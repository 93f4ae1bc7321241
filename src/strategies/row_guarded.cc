// pessimistic_lock and optimistic_lock: the business row is locked, or its version compared, in the
// transaction of the record, before the handler's statements and in their flush. Which of both, and
// what makes a message a duplicate or too early, is the context's row guard; all else is as in
// dedup_table.
#include <algorithm>
#include <utility>
#include <variant>

#include "strategies/kinds.h"

namespace semel::strategies {

namespace {

bool writes(const RecordedStatement& recorded) { return !recorded.statement->writes.empty(); }

// Else it would be done, and its row none the newer.
void need_first_write(Transaction& transaction) {
  const StatementList& list = transaction.recorded();
  if (!transaction.awaits_write() || std::none_of(list.begin(), list.end(), writes)) return;
  throw StatementRefused({ErrorKind::kRejected, "",
                          "the handler writes, but not to the table that version.current reads",
                          "raise the version in the same table"});
}

Context with_guard(Context context) {
  auto* const handler = std::get_if<TransactionalHandler>(&context.handler);
  if (!context.row_guard || handler == nullptr) return context;
  context.handler =
      TransactionalHandler([guard = std::move(context.row_guard), work = std::move(*handler)](
                               const Message& message, Transaction& transaction) {
        guard(message, transaction);
        Verdict verdict = work(message, transaction);
        if (verdict.kind == Verdict::Kind::kDone) need_first_write(transaction);
        return verdict;
      });
  return context;
}

}  // namespace

std::unique_ptr<Strategy> make_row_guarded(Context context) {
  return make_dedup_table(with_guard(std::move(context)));
}

}  // namespace semel::strategies
