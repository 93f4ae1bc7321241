#include <algorithm>
#include <utility>

#include "stores/mysql/store_context.h"
#include "stores/mysql/unit_claims.h"
#include "stores/sql/unit.h"

namespace semel::mysql {
namespace {

class UnitWork final : public sql::UnitWork {
 public:
  UnitWork(StoreContext& context, const UnitOptions& options)
      : context_(context),
        options_(options),
        lent_(context.pool),
        connection_(static_cast<Connection&>(*lent_)),
        records_(connection_, context.endpoint.clock),
        wire_(connection_.wire(), connection_.handler_texts(), connection_.mark(),
              options.names_blocked),
        claims_(connection_, context.endpoint.clock, context.trend) {
    if (connection_.borrowed()) connection_.need_transaction();
  }
  ~UnitWork() override {
    if (alone_) connection_.free_group(*options_.group);
  }

  sql::Session& session() override { return connection_; }
  sql::HandlerWire& wire() override { return wire_; }
  sql::ManyRecords& records() override { return records_; }
  sql::ClaimedKeys& claimed() override { return claims_.claimed(); }
  void hand_back() override {
    if (connection_.borrowed()) connection_.hand_back();
  }

  std::vector<Claim> claim(std::span<const Message* const> messages) override {
    go_alone();
    const ConsumerNumber consumer = messages.front()->key().id.consumer();
    auto claims =
        claims_.claim(messages, options_, context_.generations.active(connection_, consumer));
    limit_row_waits();
    return claims;
  }

  std::vector<Applied> confirm(std::span<const Lease> leases) override {
    go_alone();
    connection_.begin(options_.patience);
    auto applied =
        sql::applied(leases, RecordBatch(connection_, context_.endpoint.clock).lock_held(leases));
    limit_row_waits();
    return applied;
  }

 private:
  // In whole seconds, at least one.
  void limit_row_waits() {
    if (options_.row_patience) connection_.wait_for(*options_.row_patience);
  }

  // Its locks cannot be shared: units of its group that do not run alone are not excluded.
  void go_alone() {
    if (!options_.alone || !options_.group || connection_.borrowed()) return;
    connection_.lock_group(*options_.group);
    alone_ = true;
  }

  StoreContext& context_;
  const UnitOptions options_;
  sql::PooledSession lent_;
  Connection& connection_;
  ManyRecords records_;
  HandlerWire wire_;
  UnitClaims claims_;
  bool alone_ = false;
};

class LookWork final : public sql::LookWork {
 public:
  explicit LookWork(StoreContext& context)
      : lent_(context.pool),
        connection_(static_cast<Connection&>(*lent_)),
        wire_(connection_.wire(), connection_.handler_texts(), connection_.mark()) {}
  ~LookWork() override { connection_.roll_back(); }

  std::optional<Rows> look(const RecordedStatement& statement) override {
    connection_.begin_look();
    if (auto refused = wire_.send(statement, true)) {
      connection_.roll_back();
      name_statement(*refused, statement);
      sql::fail(std::move(refused->error));
    }
    std::vector<sql::Told> told = wire_.run();
    const bool writes = wire_.last_refusal() == kReadOnlyTransaction;
    connection_.roll_back();
    if (writes) return std::nullopt;
    if (auto* const broke = std::get_if<sql::Broke>(&told.back().how)) {
      name_statement(*broke, statement);
      sql::fail(std::move(broke->error));
    }
    return std::move(told.back().rows);
  }

 private:
  sql::PooledSession lent_;
  Connection& connection_;
  HandlerWire wire_;
};

}  // namespace

std::unique_ptr<TransactionalStore> make_units(StoreContext& context) {
  return std::make_unique<sql::Units<StoreContext, UnitWork, LookWork>>(context);
}

}  // namespace semel::mysql
