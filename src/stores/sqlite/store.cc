#include "stores/sqlite/store.h"

#include <utility>

#include <semel/spi/failpoints.h>

#include "stores/sql/audit.h"
#include "stores/sql/dead_letters.h"
#include "stores/sql/gates.h"
#include "stores/sql/inspector.h"
#include "stores/sql/instances.h"
#include "stores/sql/live_checks.h"
#include "stores/sql/run_markers.h"
#include "stores/sql/steps.h"
#include "stores/sqlite/facts.h"
#include "stores/sqlite/file_database.h"
#include "stores/sqlite/finish_group.h"
#include "stores/sqlite/place.h"
#include "stores/sqlite/purge.h"
#include "stores/sqlite/reservations.h"
#include "stores/sqlite/schema.h"
#include "stores/sqlite/store_context.h"
#include "stores/sqlite/store_facts.h"
#include "system/mutex.h"

namespace semel::sqlite {
namespace {

using std::chrono::milliseconds;

class SqliteStore final : public Store {
 public:
  SqliteStore(SqliteOptions options, std::shared_ptr<StoreClock> clock)
      : environment_(options.environment != nullptr ? *options.environment : system_environment()),
        clock_(clock ? std::move(clock) : std::make_shared<SystemStoreClock>(environment_)),
        context_(std::move(options), environment_, *clock_),
        finishes_(context_.writer, context_.options.busy),
        database_(context_),
        units_(make_units(context_)),
        held_(make_held(context_)),
        dead_letters_(sql::make_dead_letters(database_)),
        inspector_(sql::make_inspector(database_, verify_texts(), facts_, *environment_.random)),
        reservations_(SideFile::path_for(context_.options.path)),
        positions_(sql::make_positions(database_, reservations_)),
        runs_(sql::make_run_markers(database_)),
        gates_(sql::make_gates(database_)),
        live_(sql::make_live_checks(database_, live_facts_)),
        steps_(sql::make_steps(database_)),
        audit_(sql::make_audit(database_)),
        purge_(context_) {}

  const StoreTraits& traits() const noexcept override { return kSqliteTraits; }
  StoreFacets facets() noexcept override {
    return {units_.get(), held_.get(),  dead_letters_.get(), inspector_.get(), positions_.get(),
            runs_.get(),  gates_.get(), live_.get(),         steps_.get(),     audit_.get()};
  }

  Result<ConsumerNumber> attach(const ConsumerSpec& spec) override;
  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override;
  Result<std::vector<Applied>> renew(std::span<const Lease> leases, milliseconds lease) override;
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override;
  Result<PurgeReport> purge(milliseconds budget) override {
    return contained([&] {
      const system::MutexLock lock(purging_);
      return purge_.run(budget);
    });
  }

 private:
  std::vector<Claim> claim_once(std::span<const Message* const> messages,
                                const ClaimOptions& options, std::int64_t instance, bool& no_room);

  Environment& environment_;
  std::shared_ptr<StoreClock> clock_;
  StoreContext context_;
  FinishGroup finishes_;
  FileDatabase database_;
  std::unique_ptr<TransactionalStore> units_;
  std::unique_ptr<HeldMessages> held_;
  std::unique_ptr<DeadLetters> dead_letters_;
  FileStoreFacts facts_;
  std::unique_ptr<RecordInspector> inspector_;
  FileReservations reservations_;
  std::unique_ptr<Positions> positions_;
  std::unique_ptr<RunMarkers> runs_;
  std::unique_ptr<Gates> gates_;
  FileFacts live_facts_;
  std::unique_ptr<LiveChecks> live_;
  std::unique_ptr<StepStore> steps_;
  std::unique_ptr<AuditLog> audit_;
  system::Mutex purging_;
  Purge purge_ SEMEL_GUARDED_BY(purging_);
};

Result<ConsumerNumber> SqliteStore::attach(const ConsumerSpec& spec) {
  return contained([&] {
    WriteTransaction transaction(context_.writer, Sync::kPowerLoss, context_.options.busy);
    Tables& tables = transaction.tables();
    const auto row = tables.consumers.find(spec.name);
    if (!row) {
      const ConsumerNumber number = tables.consumers.add(spec, {}).number;
      transaction.commit();
      return number;
    }
    Consumers::check_recipe(*row, spec);
    if (row->recipe_hash == spec.recipe_hash && row->ttl == spec.ttl) return row->number;
    tables.change_consumer(*row, spec, transaction.now());
    transaction.commit();
    return row->number;
  });
}

std::vector<Claim> SqliteStore::claim_once(std::span<const Message* const> messages,
                                           const ClaimOptions& options, std::int64_t instance,
                                           bool& no_room) {
  const Sync sync =
      options.durability == Durability::kPowerLoss ? Sync::kPowerLoss : Sync::kProcessCrash;
  WriteTransaction transaction(context_.writer, sync, context_.options.busy);
  failpoint::hit(environment_, failpoint::kBegun);
  no_room = !Meta::room_for(transaction.tables().facts, messages.size());
  if (no_room) return {};
  auto claims =
      context_.writer.lease_claims().claim(messages, options, instance, transaction.now());
  failpoint::hit(environment_, failpoint::kClaimed);
  transaction.commit();
  return claims;
}

Result<std::vector<Claim>> SqliteStore::claim(std::span<const Message* const> messages,
                                              const ClaimOptions& options) {
  return contained([&] {
    if (messages.empty()) return std::vector<Claim>();
    const std::int64_t own = context_.instances.number();
    const std::int64_t instance = options.outlives_process ? sql::kNoInstance : own;
    bool no_room = false;
    auto claims = claim_once(messages, options, instance, no_room);
    if (!no_room) return claims;
    {
      WriteTransaction transaction(context_.writer, Sync::kPowerLoss, context_.options.busy);
      transaction.tables().meta.raise_epoch();
      transaction.commit();
    }
    return claim_once(messages, options, instance, no_room);
  });
}

Result<std::vector<Applied>> SqliteStore::renew(std::span<const Lease> leases, milliseconds lease) {
  return contained([&] {
    std::vector<Applied> applied;
    if (leases.empty()) return applied;
    // A holder that is no process of this machine works on after a power cut, and goes by its
    // renewed lease.
    const bool outlives = context_.reader.look([&](Tables& tables, Connection&) {
      return std::ranges::any_of(leases, [&](const Lease& one) {
        const auto row = tables.live.find(one.key);
        return row && row->holder.value_or(sql::kNoInstance) == sql::kNoInstance;
      });
    });
    const Sync sync = outlives ? Sync::kPowerLoss : Sync::kProcessCrash;
    WriteTransaction transaction(context_.writer, sync, context_.options.busy);
    const StoreTime until = spi::due_after(transaction.now(), lease);
    applied.reserve(leases.size());
    for (const Lease& one : leases) {
      const bool renewed = transaction.tables().live.renew(one.key, one.nonce, until);
      applied.push_back(renewed ? Applied::kYes : Applied::kLeaseLost);
    }
    transaction.commit();
    return applied;
  });
}

Result<std::vector<Applied>> SqliteStore::finish(std::span<const Finish> batch) {
  return contained([&] {
    if (batch.empty()) return std::vector<Applied>();
    return finishes_.finish(batch);
  });
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(SqliteOptions options,
                                          std::shared_ptr<StoreClock> clock) {
  return contained([&]() -> std::unique_ptr<Store> {
    return std::make_unique<SqliteStore>(std::move(options), std::move(clock));
  });
}

}  // namespace semel::sqlite

namespace semel {

Result<std::unique_ptr<Store>> open_sqlite(SqliteOptions options) {
  return sqlite::open_store(std::move(options), nullptr);
}

Result<SchemaChange> sqlite_schema_change(const SqliteOptions& options) {
  return sqlite::contained([&] { return sqlite::schema_change(options); });
}

}  // namespace semel
