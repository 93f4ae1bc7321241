#include <chrono>
#include <utility>

#include "stores/postgres/store_context.h"
#include "stores/postgres/unit_claims.h"
#include "stores/sql/unit.h"

namespace semel::postgres {
namespace {

// How long to wait for the transactions of a group to end.
constexpr std::chrono::milliseconds kGroupPatience{1'000};

class UnitWork final : public sql::UnitWork {
 public:
  UnitWork(StoreContext& context, const UnitOptions& options)
      : context_(context),
        options_(options),
        lent_(context.pool),
        connection_(static_cast<Connection&>(*lent_)),
        records_(connection_, context.batch_texts),
        wire_(connection_.pipe(), connection_.handler_texts(), connection_.end_of_unit(),
              options.names_blocked),
        claims_(context.generations, context.batch_texts),
        in_group_(options.group && !connection_.borrowed()) {}

  sql::Session& session() override { return connection_; }
  sql::HandlerWire& wire() override { return wire_; }
  sql::ManyRecords& records() override { return records_; }
  sql::ClaimedKeys& claimed() override { return claims_.claimed(); }
  // Between two calls a borrowed connection belongs to its owner.
  void hand_back() override {
    if (connection_.borrowed()) connection_.settle();
  }

  std::vector<Claim> claim(std::span<const Message* const> messages) override {
    const ConsumerNumber consumer = messages.front()->key().id.consumer();
    auto claims = claim_patiently(context_.generations.active(connection_, consumer), messages);
    limit_row_waits();
    return claims;
  }

  std::vector<Applied> confirm(std::span<const Lease> leases) override {
    begin(options_.patience);
    try {
      return confirm_begun(leases);
    } catch (const sql::Failure& failed) {
      if (failed.error().kind != ErrorKind::kBlocked || !in_group_ || options_.alone) throw;
    }
    connection_.roll_back();
    leave_group();
    begin(options_.patience);
    return confirm_begun(leases);
  }

 private:
  // The group's lock comes first, so that a unit that waits for it has locked nothing.
  void begin(std::chrono::milliseconds patience) {
    if (!in_group_) return connection_.begin(patience);
    connection_.begin(options_.alone ? kGroupPatience : options_.patience);
    if (options_.alone) {
      connection_.lock_group(*options_.group);
    } else {
      connection_.share_group(*options_.group);
    }
    if (!options_.alone && patience == options_.patience) return;
    connection_.settle();
    connection_.wait_for_locks(patience);
  }

  // A process that was stopped while it ran alone keeps the lock until its session ends. Others
  // need not wait for that: the lock only prevents deadlocks.
  void leave_group() {
    if (!options_.alone) in_group_ = false;
  }

  std::vector<Applied> confirm_begun(std::span<const Lease> leases) {
    auto applied = sql::applied(leases, held_by(connection_, context_.batch_texts.confirm, leases));
    limit_row_waits();
    return applied;
  }

  void limit_row_waits() {
    if (options_.row_patience && !connection_.borrowed()) {
      connection_.wait_for_locks(*options_.row_patience);
    }
  }

  // A key that another transaction holds for longer than the patience is busy, and no other key is.
  std::vector<Claim> claim_patiently(const Generations::Active& active,
                                     std::span<const Message* const> messages) {
    begin(options_.patience);
    try {
      return claims_.claim(connection_, active, messages, options_);
    } catch (const sql::Failure& failed) {
      if (failed.error().kind != ErrorKind::kBlocked) throw;
    }
    connection_.roll_back();
    leave_group();
    begin(kSingleClaimPatience);
    return claims_.claim_singly(connection_, active, messages, options_);
  }

  StoreContext& context_;
  const UnitOptions options_;
  sql::PooledSession lent_;
  Connection& connection_;
  ManyRecords records_;
  HandlerWire wire_;
  UnitClaims claims_;
  bool in_group_;
};

class LookWork final : public sql::LookWork {
 public:
  explicit LookWork(StoreContext& context)
      : lent_(context.pool), connection_(static_cast<Connection&>(*lent_)) {}
  ~LookWork() override { connection_.roll_back(); }

  std::optional<Rows> look(const RecordedStatement& statement) override {
    connection_.begin_look();
    Pipe& pipe = connection_.pipe();
    if (auto refused = send(pipe, connection_.handler_texts(), statement, true)) {
      connection_.roll_back();
      name_statement(*refused, statement);
      sql::fail(std::move(refused->error));
    }
    const auto segments = pipe.run(Loss::kNothingDone);
    const PGresult* const answer = segments.back().results.back().get();
    const bool writes = state_of(answer) == kReadOnly;
    auto judged = writes ? std::variant<sql::Ran, sql::Broke>()
                         : judge(answer, statement.statement->returns_rows);
    std::optional<Rows> rows;
    if (!writes && std::holds_alternative<sql::Ran>(judged)) rows = rows_of(answer);
    connection_.roll_back();
    if (auto* const broke = std::get_if<sql::Broke>(&judged)) {
      name_statement(*broke, statement);
      sql::fail(std::move(broke->error));
    }
    return rows;
  }

 private:
  sql::PooledSession lent_;
  Connection& connection_;
};

}  // namespace

std::unique_ptr<TransactionalStore> make_units(StoreContext& context) {
  return std::make_unique<sql::Units<StoreContext, UnitWork, LookWork>>(context);
}

}  // namespace semel::postgres
