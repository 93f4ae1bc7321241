#include "stores/sql/ports.h"

#include <algorithm>

#include <semel/spi/failpoints.h>

namespace semel::sql {
namespace {

std::vector<Applied> finish_in_transaction(const StoreContext& context, Environment& environment,
                                           const MakeManyRecords& make_records,
                                           std::span<const Finish> batch) {
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

// The ids that it completed, in order.
std::vector<KeyId> complete_at_once(const StoreContext& context, Environment& environment,
                                    const MakeManyRecords& make_records,
                                    std::span<const Finish> batch) {
  if (!std::ranges::all_of(batch, completes_alone)) return {};
  PooledSession lent(context.pool);
  const std::unique_ptr<ManyRecords> records = make_records(*lent);
  if (!records->has_at_once(batch)) return {};
  failpoint::hit(environment, failpoint::kFinished);
  failpoint::hit(environment, failpoint::kCommitBefore);
  std::vector<KeyId> done = records->complete_at_once(batch);
  if (!done.empty()) failpoint::hit(environment, failpoint::kCommitAfter);
  std::ranges::sort(done);
  return done;
}

// After some of a batch were completed: a failure that leaves them out must not look as if nothing
// was done.
[[noreturn]] void throw_in_doubt(const Failure& failed) {
  Error error = failed.error();
  error.kind = ErrorKind::kInDoubt;
  throw Failure(std::move(error), failed.code());
}

}  // namespace

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
  const std::vector<KeyId> done = complete_at_once(context, environment, make_records, batch);
  if (done.empty()) return finish_in_transaction(context, environment, make_records, batch);
  // The others are looked at one by one.
  std::vector<Applied> applied(batch.size(), Applied::kYes);
  std::vector<Finish> others;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (std::ranges::binary_search(done, batch[i].lease->key)) continue;
    others.push_back(batch[i]);
    places.push_back(i);
  }
  if (others.empty()) return applied;
  try {
    const auto rest = finish_in_transaction(context, environment, make_records, others);
    for (std::size_t i = 0; i < rest.size(); ++i) applied[places[i]] = rest[i];
  } catch (const Failure& failed) {
    throw_in_doubt(failed);
  }
  return applied;
}

}  // namespace semel::sql
