#include "stores/mysql/store.h"

#include <utility>

#include "stores/mysql/core.h"
#include "stores/mysql/facts.h"
#include "stores/mysql/lease_claims.h"
#include "stores/mysql/purge.h"
#include "stores/mysql/schema.h"
#include "stores/sql/claims.h"
#include "stores/sql/ports.h"
#include "stores/sql/transacted.h"
#include "system/mutex.h"

namespace semel::mysql {
namespace {

using std::chrono::milliseconds;

class MySqlStore final : public Store {
 public:
  MySqlStore(const MySqlOptions& options, Place place, milliseconds grace, std::size_t most)
      : core_(options, std::move(place), grace,
              options.environment != nullptr ? *options.environment : system_environment()),
        facts_(core_.dialect),
        ports_(core_.shared, core_.dialect, facts_, core_.presence, *core_.environment.random),
        units_(make_units(core_)),
        purge_(core_) {
    traits_.largest_message = most;
  }

  const StoreTraits& traits() const noexcept override { return traits_; }
  StoreFacets facets() noexcept override { return ports_.facets(*units_); }

  Result<ConsumerNumber> attach(const ConsumerSpec& spec) override {
    return sql::contained([&] { return mysql::attach(core_, spec); });
  }
  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override;
  Result<std::vector<Applied>> renew(std::span<const Lease> leases, milliseconds lease) override;
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override;
  Result<PurgeReport> purge(milliseconds budget) override {
    return sql::contained([&] {
      const system::MutexLock lock(purging_);
      return purge_.run(budget);
    });
  }

 private:
  StoreTraits traits_ = kMySqlTraits;
  Core core_;
  Facts facts_;
  const sql::Ports ports_;
  std::unique_ptr<TransactionalStore> units_;
  system::Mutex purging_;
  Purge purge_ SEMEL_GUARDED_BY(purging_);
};

Result<std::vector<Claim>> MySqlStore::claim(std::span<const Message* const> messages,
                                             const ClaimOptions& options) {
  return sql::contained([&] {
    if (messages.empty()) return std::vector<Claim>();
    const auto nonces = sql::draw(*core_.environment.random, messages.size());
    failpoint::hit(core_.environment, failpoint::kBegun);
    const ConsumerNumber consumer = messages.front()->key().id.consumer();
    auto claims = sql::said_again_in_doubt([&] {
      sql::Lent lent(core_.pool);
      auto& connection = static_cast<Connection&>(*lent);
      const std::int64_t instance = core_.presence.number_for(connection);
      LeaseClaims leases(connection, core_.place.clock, core_.texts.records, core_.trend);
      return leases.claim(messages, nonces, options, core_.generations.active(connection, consumer),
                          instance);
    });
    failpoint::hit(core_.environment, failpoint::kClaimed);
    return claims;
  });
}

Result<std::vector<Applied>> MySqlStore::renew(std::span<const Lease> leases, milliseconds lease) {
  return sql::contained([&] {
    if (leases.empty()) return std::vector<Applied>();
    return sql::transacted(core_.pool, [&](sql::Work& work) {
      core_.presence.number_for(work.session());
      RecordBatch batch(static_cast<Connection&>(work.session()), core_.place.clock);
      const std::vector<KeyId> held = batch.lock_held(leases);
      batch.queue_renewal(held, lease);
      return sql::applied(leases, held);
    });
  });
}

Result<std::vector<Applied>> MySqlStore::finish(std::span<const Finish> batch) {
  return sql::contained([&] {
    const auto records = [this](sql::Session& session) {
      return std::make_unique<ManyRecords>(static_cast<Connection&>(session), core_.place.clock);
    };
    return sql::finish_in_one(core_.shared, core_.environment, records, batch);
  });
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(MySqlOptions options, const InnerOptions& inner) {
  return sql::contained([&]() -> std::unique_ptr<Store> {
    Place place;
    place.target = target_of(options.url);
    place.clock = inner.clock;
    place.patience = options.busy;
    place.stops[0] = options.stop_fd;
    std::size_t most = 0;
    {
      Wire first(place.target, place.stops);
      most = first.most();
      if (options.create) {
        make_schema(first);
      } else {
        need_schema(first);
      }
    }
    return std::make_unique<MySqlStore>(options, std::move(place), inner.grace, most);
  });
}

}  // namespace semel::mysql

namespace semel {

Result<std::unique_ptr<Store>> open_mysql(MySqlOptions options) {
  return mysql::open_store(std::move(options), {});
}

Result<SchemaChange> mysql_schema_change(const MySqlOptions& options) {
  return sql::contained([&] {
    mysql::Wire wire(mysql::target_of(options.url));
    SchemaChange change;
    change.from = mysql::schema_version(wire);
    change.to = mysql::newest_version();
    mysql::refuse_newer(change.from);
    for (const std::string& statement : mysql::migration_sql(change.from)) {
      change.sql += statement + ";\n";
    }
    return change;
  });
}

}  // namespace semel
