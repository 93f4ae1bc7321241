#include "stores/sql/ports.h"

#include <semel/spi/failpoints.h>

namespace semel::sql {

Ports::Ports(const StoreContext& context, const Dialect& dialect, Facts& facts,
             Reservations& reservations, Random& random)
    : verify_texts_(dialect),
      facts_(dialect, facts),
      database_(context),
      held_(make_held(context)),
      dead_letters_(make_dead_letters(database_)),
      inspector_(make_inspector(database_, verify_texts_, facts_, random)),
      positions_(make_positions(database_, reservations)),
      runs_(make_run_markers(database_)),
      gates_(make_gates(database_)),
      live_(make_live_checks(database_, facts)),
      steps_(make_steps(database_)),
      audit_(make_audit(database_)) {}

StoreFacets Ports::facets(TransactionalStore& units) const noexcept {
  return {&units,      held_.get(),  dead_letters_.get(), inspector_.get(), positions_.get(),
          runs_.get(), gates_.get(), live_.get(),         steps_.get(),     audit_.get()};
}

std::vector<Applied> finish_in_one(const StoreContext& context, Environment& environment,
                                   const MakeManyRecords& make_records,
                                   std::span<const Finish> batch) {
  if (batch.empty()) return {};
  ScopedTransaction work(context.pool);
  Tables tables = context.tables(work.session());
  const std::unique_ptr<ManyRecords> records = make_records(work.session());
  auto applied = BatchFinish(work.session(), tables, *records, nullptr).run(batch);
  failpoint::hit(environment, failpoint::kFinished);
  failpoint::hit(environment, failpoint::kCommitBefore);
  work.commit();
  failpoint::hit(environment, failpoint::kCommitAfter);
  return applied;
}

}  // namespace semel::sql
