// Ports: the ports of an opened store that are the same on every server.
#pragma once

#include <functional>
#include <memory>

#include <semel/environment.h>
#include <semel/spi/store.h>

#include "stores/sql/audit.h"
#include "stores/sql/batch_finish.h"
#include "stores/sql/dead_letters.h"
#include "stores/sql/gates.h"
#include "stores/sql/held.h"
#include "stores/sql/live_checks.h"
#include "stores/sql/positions.h"
#include "stores/sql/run_markers.h"
#include "stores/sql/server_database.h"
#include "stores/sql/server_facts.h"
#include "stores/sql/steps.h"
#include "stores/sql/store_context.h"

namespace semel::sql {

class Ports {
 public:
  // All of it outlives the ports.
  Ports(const StoreContext& context, const Dialect& dialect, Facts& facts,
        Reservations& reservations, Random& random);

  // Together with the transactional one, which differs between servers.
  StoreFacets facets(TransactionalStore& units) const noexcept;

 private:
  const VerifyTexts verify_texts_;
  ServerFacts facts_;
  ServerDatabase database_;
  const std::unique_ptr<HeldMessages> held_;
  const std::unique_ptr<DeadLetters> dead_letters_;
  const std::unique_ptr<RecordInspector> inspector_;
  const std::unique_ptr<Positions> positions_;
  const std::unique_ptr<RunMarkers> runs_;
  const std::unique_ptr<Gates> gates_;
  const std::unique_ptr<LiveChecks> live_;
  const std::unique_ptr<StepStore> steps_;
  const std::unique_ptr<AuditLog> audit_;
};

// Store::finish: the batch in a transaction of its own. Throws Failure.
using MakeManyRecords = std::function<std::unique_ptr<ManyRecords>(Session&)>;
std::vector<Applied> finish_in_one(const StoreContext& context, Environment& environment,
                                   const MakeManyRecords& make_records,
                                   std::span<const Finish> batch);

}  // namespace semel::sql
