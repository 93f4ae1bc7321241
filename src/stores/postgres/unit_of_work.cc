#include <algorithm>
#include <utility>

#include "stores/postgres/batch_finish.h"
#include "stores/postgres/core.h"
#include "stores/postgres/statement_run.h"

namespace semel::postgres {
namespace {

using std::chrono::milliseconds;

// Where one of many is held, each is asked for by itself, and waits no longer.
constexpr milliseconds kAlone{50};

[[noreturn]] void misuse(const char* what) {
  sql::fail(
      {ErrorKind::kRejected, "R200", what, "claim or confirm, then statements, finish, commit"});
}

class Unit final : public UnitOfWork {
 public:
  Unit(Core& core, const UnitOptions& options)
      : core_(core),
        options_(options),
        lent_(core.pool),
        connection_(static_cast<Connection&>(*lent_)),
        tables_(core.shared.tables(connection_)),
        claims_(core.generations, core.batch_texts),
        statements_(connection_.pipe(), connection_.handler_texts(), options.savepoints) {
    SEMEL_FAILPOINT(core_.environment, failpoint::kBegun);
  }
  ~Unit() override { connection_.roll_back(); }

  Result<std::vector<Claim>> claim(std::span<const Message* const> messages) override {
    return guarded([&] {
      enter(Stage::kBegun, "claim comes first, and once");
      stage_ = Stage::kClaimed;
      if (messages.empty()) {
        connection_.begin(options_.patience);
        return std::vector<Claim>();
      }
      const ConsumerNumber consumer = messages.front()->key().id.consumer();
      const Generations::Active active = core_.generations.active(connection_, consumer);
      auto claims = claim_patiently(active, messages);
      SEMEL_FAILPOINT(core_.environment, failpoint::kClaimed);
      return claims;
    });
  }

  Result<std::vector<Applied>> confirm(std::span<const Lease> leases) override {
    return guarded([&] {
      enter(Stage::kBegun, "confirm comes first, and once");
      stage_ = Stage::kClaimed;
      connection_.begin(options_.patience);
      ArrayParam ids(oid::kBytea), nonces(oid::kBytea);
      for (const Lease& lease : leases) {
        ids.add(lease.key.view());
        nonces.add(sql::Param(lease.nonce).bytes());
      }
      WireParams params;
      params.add(ids);
      params.add(nonces);
      sql::Answer held = connection_.ask(core_.batch_texts.confirm, params);
      std::vector<KeyId> ours;
      while (held.next()) ours.push_back(held.key_id(0));
      std::vector<Applied> applied;
      for (const Lease& lease : leases) {
        const bool is_ours = std::ranges::binary_search(ours, lease.key);
        applied.push_back(is_ours ? Applied::kYes : Applied::kLeaseLost);
      }
      SEMEL_FAILPOINT(core_.environment, failpoint::kConfirmed);
      return applied;
    });
  }

  void run(std::size_t message, const StatementList& statements) override {
    if (stage_ == Stage::kClaimed) statements_.add(message, statements);
  }

  Result<Rows> query(std::size_t message, const RecordedStatement& statement) override {
    return sql::contained([&] {
      if (stage_ != Stage::kClaimed) misuse("a query before the claim, or after finish");
      try {
        return statements_.query(message, statement);
      } catch (const sql::Failure& failed) {
        // An error of a statement leaves the transaction whole; one of the store does not.
        if (failed.code() != 0) {
          end();
        } else {
          hand_back();
        }
        throw;
      }
    });
  }

  Result<FlushReport> flush() override {
    return guarded([&] {
      enter(Stage::kClaimed, "a flush before the claim, or after finish");
      FlushReport report = statements_.flush();
      SEMEL_FAILPOINT(core_.environment, failpoint::kFlushed);
      return report;
    });
  }

  Result<void> undo(std::size_t message) override {
    return guarded([&] {
      enter(Stage::kClaimed, "an undo before the claim, or after finish");
      statements_.undo(message);
    });
  }

  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    return guarded([&] {
      enter(Stage::kClaimed, "finish comes once, behind the claim");
      if (statements_.pending()) misuse("statements were not flushed before finish");
      stage_ = Stage::kFinished;
      auto applied = BatchFinish(connection_, tables_, core_.batch_texts, &claims_).run(batch);
      SEMEL_FAILPOINT(core_.environment, failpoint::kFinished);
      return applied;
    });
  }

  Result<void> commit() override {
    return guarded([&] {
      if (stage_ != Stage::kClaimed && stage_ != Stage::kFinished) misuse("nothing to commit");
      if (statements_.pending()) misuse("statements were not flushed before commit");
      // Else the claim itself would be the record of what nobody says was done.
      if (claims_.unfinished()) misuse("a claim was not finished");
      SEMEL_FAILPOINT(core_.environment, failpoint::kCommitBefore);
      connection_.commit();
      stage_ = Stage::kOver;
      SEMEL_FAILPOINT(core_.environment, failpoint::kCommitAfter);
    });
  }

 private:
  enum class Stage { kBegun, kClaimed, kFinished, kOver };

  void enter(Stage needed, const char* otherwise) const {
    if (stage_ != needed) misuse(otherwise);
  }

  // A key that another transaction holds for longer than the patience is busy, and it alone.
  std::vector<Claim> claim_patiently(const Generations::Active& active,
                                     std::span<const Message* const> messages) {
    connection_.begin(options_.patience);
    try {
      return claims_.claim(connection_, active, messages, options_);
    } catch (const sql::Failure& failed) {
      if (failed.error().kind != ErrorKind::kBlocked) throw;
    }
    connection_.roll_back();
    connection_.begin(kAlone);
    return claims_.claim_singly(connection_, active, messages, options_);
  }

  void end() noexcept {
    stage_ = Stage::kOver;
    connection_.roll_back();
  }

  // What the store could not do leaves nothing that may be committed.
  template <class Work>
  auto guarded(Work&& work) noexcept -> Result<std::invoke_result_t<Work&>> {
    return sql::contained([&] {
      try {
        if constexpr (std::is_void_v<std::invoke_result_t<Work&>>) {
          work();
          hand_back();
        } else {
          auto result = work();
          hand_back();
          return result;
        }
      } catch (...) {
        end();
        throw;
      }
    });
  }

  // A borrowed connection is its owner's between two calls.
  void hand_back() {
    if (connection_.borrowed()) connection_.settle();
  }

  Core& core_;
  const UnitOptions options_;
  sql::Lent lent_;
  Connection& connection_;
  sql::Tables tables_;
  UnitClaims claims_;
  StatementRun statements_;
  Stage stage_ = Stage::kBegun;
};

[[noreturn]] void only_looks() {
  sql::fail({ErrorKind::kRejected, "handler.sql.refused", "this unit only looks: it writes nothing",
             "leave UnitOptions::only_looks off"});
}

class LookUnit final : public UnitOfWork {
 public:
  explicit LookUnit(Core& core) : lent_(core.pool), connection_(static_cast<Connection&>(*lent_)) {}
  ~LookUnit() override { connection_.roll_back(); }

  Result<std::vector<Claim>> claim(std::span<const Message* const>) override {
    return sql::contained([]() -> std::vector<Claim> { only_looks(); });
  }
  Result<std::vector<Applied>> confirm(std::span<const Lease>) override {
    return sql::contained([]() -> std::vector<Applied> { only_looks(); });
  }
  void run(std::size_t, const StatementList& statements) override {
    refused_ = refused_ || !statements.empty();
  }
  Result<Rows> query(std::size_t, const RecordedStatement& statement) override {
    return sql::contained([&] {
      if (refused_) only_looks();
      connection_.begin_look();
      Pipe& pipe = connection_.pipe();
      if (auto refused = send(pipe, connection_.handler_texts(), statement, true)) {
        connection_.roll_back();
        sql::fail(std::move(refused->error));
      }
      const auto segments = pipe.run(Loss::kNothingDone);
      const PGresult* const answer = segments.back().results.back().get();
      const bool writes = state_of(answer) == "25006";
      auto judged = writes ? std::variant<Ran, Broke>(Ran{}) : judge(answer, statement);
      Rows rows;
      if (!writes && std::holds_alternative<Ran>(judged)) rows = rows_of(answer);
      connection_.roll_back();
      if (writes) only_looks();
      if (auto* const broke = std::get_if<Broke>(&judged)) sql::fail(std::move(broke->error));
      return rows;
    });
  }
  Result<FlushReport> flush() override {
    return sql::contained([&]() -> FlushReport {
      if (refused_) only_looks();
      return {};
    });
  }
  Result<void> undo(std::size_t) override { return {}; }
  Result<std::vector<Applied>> finish(std::span<const Finish>) override {
    return sql::contained([]() -> std::vector<Applied> { only_looks(); });
  }
  Result<void> commit() override {
    return sql::contained([] { only_looks(); });
  }

 private:
  sql::Lent lent_;
  Connection& connection_;
  bool refused_ = false;  // something was to be written
};

class Units final : public TransactionalStore {
 public:
  explicit Units(Core& core) : core_(core) {}

  Result<std::unique_ptr<UnitOfWork>> begin(const UnitOptions& options) override {
    return sql::contained([&]() -> std::unique_ptr<UnitOfWork> {
      if (options.only_looks) return std::make_unique<LookUnit>(core_);
      return std::make_unique<Unit>(core_, options);
    });
  }

 private:
  Core& core_;
};

}  // namespace

std::unique_ptr<TransactionalStore> make_units(Core& core) { return std::make_unique<Units>(core); }

}  // namespace semel::postgres
