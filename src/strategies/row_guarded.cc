#include "strategies/row_guarded.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "strategies/entries.h"

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

RowGuarded::RowGuarded(Context context)
    : context_(with_guard(std::move(context))), pipeline_(context_, PipelineOptions{}) {}

void RowGuarded::run(std::span<Delivery> batch, EndingSink& sink) const {
  ClaimEntry entry;
  pipeline_.run(pointers(batch), entry, sink);
}

}  // namespace semel::strategies
