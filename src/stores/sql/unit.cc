#include "stores/sql/unit.h"

#include <utility>

#include <semel/spi/failpoints.h>

#include "stores/sql/statement_run.h"

namespace semel::sql {
namespace {

[[noreturn]] void misuse(const char* what) {
  fail({ErrorKind::kRejected, "R200", what, "claim or confirm, then statements, finish, commit"});
}

class Unit final : public UnitOfWork {
 public:
  Unit(std::unique_ptr<UnitWork> work, const StoreContext& context, const UnitOptions& options,
       Environment& environment)
      : environment_(environment),
        patience_(options.patience),
        work_(std::move(work)),
        session_(work_->session()),
        tables_(context.tables(session_)),
        statements_(work_->wire(), options.savepoints,
                    // The owner of a borrowed transaction decides about its constraints.
                    options.check_deferred && !session_.borrowed()) {
    failpoint::hit(environment_, failpoint::kBegun);
  }
  ~Unit() override { session_.roll_back(); }

  Result<std::vector<Claim>> claim(std::span<const Message* const> messages) override {
    return guarded([&] {
      enter(Stage::kBegun, "claim comes first, and once");
      stage_ = Stage::kClaimed;
      if (messages.empty()) {
        session_.begin(patience_);
        return std::vector<Claim>();
      }
      auto claims = work_->claim(messages);
      failpoint::hit(environment_, failpoint::kClaimed);
      return claims;
    });
  }

  Result<std::vector<Applied>> confirm(std::span<const Lease> leases) override {
    return guarded([&] {
      enter(Stage::kBegun, "confirm comes first, and once");
      stage_ = Stage::kClaimed;
      auto applied = work_->confirm(leases);
      failpoint::hit(environment_, failpoint::kConfirmed);
      return applied;
    });
  }

  void run(std::size_t message, const StatementList& statements) override {
    if (stage_ == Stage::kClaimed) statements_.add(message, statements);
  }

  Result<Rows> query(std::size_t message, const RecordedStatement& statement) override {
    return contained([&] {
      if (stage_ != Stage::kClaimed) misuse("a query before the claim, or after finish");
      try {
        return statements_.query(message, statement);
      } catch (const Failure& failed) {
        // An error of a statement leaves the transaction intact; one of the store does not.
        if (failed.code() != 0) {
          end();
        } else {
          work_->hand_back();
        }
        throw;
      }
    });
  }

  Result<FlushReport> flush() override {
    return guarded([&] {
      enter(Stage::kClaimed, "a flush before the claim, or after finish");
      FlushReport report = statements_.flush();
      if (report.all_undone) end();
      failpoint::hit(environment_, failpoint::kFlushed);
      return report;
    });
  }

  Result<FlushReport> flush_and_commit(std::span<const Finish> batch) override {
    std::vector<ManyRecords::Kept> kept;
    if (!commits_at_once(batch, kept)) return UnitOfWork::flush_and_commit(batch);
    return guarded([&] {
      if (!kept.empty()) work_->records().keep(kept);
      if (!batch.empty()) failpoint::hit(environment_, failpoint::kFinished);
      failpoint::hit(environment_, failpoint::kCommitBefore);
      // On a borrowed connection undone work must run again, so the culprit is reported now.
      FlushReport report = statements_.flush_and_commit(session_.borrowed());
      stage_ = Stage::kOver;
      if (!report.committed) {
        report.all_undone = true;
        session_.roll_back();
        return report;
      }
      session_.note_commit();
      failpoint::hit(environment_, failpoint::kCommitAfter);
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
      auto applied = BatchFinish(session_, tables_, work_->records(), &work_->claimed()).run(batch);
      failpoint::hit(environment_, failpoint::kFinished);
      return applied;
    });
  }

  Result<void> commit() override {
    return guarded([&] {
      if (stage_ != Stage::kClaimed && stage_ != Stage::kFinished) misuse("nothing to commit");
      if (statements_.pending()) misuse("statements were not flushed before commit");
      // Otherwise the claim itself would record work that was never reported as done.
      if (work_->claimed().unfinished()) misuse("a claim was not finished");
      failpoint::hit(environment_, failpoint::kCommitBefore);
      session_.commit();
      stage_ = Stage::kOver;
      failpoint::hit(environment_, failpoint::kCommitAfter);
    });
  }

 private:
  enum class Stage { kBegun, kClaimed, kFinished, kOver };

  void enter(Stage needed, const char* otherwise) const {
    if (stage_ != needed) misuse(otherwise);
  }

  bool commits_at_once(std::span<const Finish> batch, std::vector<ManyRecords::Kept>& kept) {
    if (stage_ != Stage::kClaimed) return false;
    if (!statements_.pending() || !statements_.needs_no_answers()) return false;
    // Each key once: then everything that was claimed is finished.
    return batch.size() == work_->claimed().size() &&
           stands_since_claim(batch, work_->claimed(), kept);
  }

  void end() noexcept {
    stage_ = Stage::kOver;
    session_.roll_back();
  }

  // After a failure of the store, nothing may be committed.
  template <class ScopedTransaction>
  auto guarded(ScopedTransaction&& work) noexcept
      -> Result<std::invoke_result_t<ScopedTransaction&>> {
    return contained([&] {
      try {
        if constexpr (std::is_void_v<std::invoke_result_t<ScopedTransaction&>>) {
          work();
          work_->hand_back();
        } else {
          auto result = work();
          work_->hand_back();
          return result;
        }
      } catch (...) {
        end();
        throw;
      }
    });
  }

  Environment& environment_;
  const std::chrono::milliseconds patience_;
  std::unique_ptr<UnitWork> work_;
  Session& session_;
  Tables tables_;
  StatementRun statements_;
  Stage stage_ = Stage::kBegun;
};

[[noreturn]] void only_looks() {
  fail({ErrorKind::kRejected, "handler.sql.refused", "this unit only looks: it writes nothing",
        "leave UnitOptions::only_looks off"});
}

class LookUnit final : public UnitOfWork {
 public:
  explicit LookUnit(std::unique_ptr<LookWork> work) : work_(std::move(work)) {}

  Result<std::vector<Claim>> claim(std::span<const Message* const>) override {
    return contained([]() -> std::vector<Claim> { only_looks(); });
  }
  Result<std::vector<Applied>> confirm(std::span<const Lease>) override {
    return contained([]() -> std::vector<Applied> { only_looks(); });
  }
  void run(std::size_t, const StatementList& statements) override {
    refused_ = refused_ || !statements.empty();
  }
  Result<Rows> query(std::size_t, const RecordedStatement& statement) override {
    return contained([&] {
      if (refused_) only_looks();
      auto rows = work_->look(statement);
      if (!rows) only_looks();
      return *std::move(rows);
    });
  }
  Result<FlushReport> flush() override {
    return contained([&]() -> FlushReport {
      if (refused_) only_looks();
      return {};
    });
  }
  Result<void> undo(std::size_t) override { return {}; }
  Result<std::vector<Applied>> finish(std::span<const Finish>) override {
    return contained([]() -> std::vector<Applied> { only_looks(); });
  }
  Result<void> commit() override {
    return contained([] { only_looks(); });
  }

 private:
  std::unique_ptr<LookWork> work_;
  bool refused_ = false;  // there was something to write
};

}  // namespace

std::unique_ptr<UnitOfWork> make_unit(std::unique_ptr<UnitWork> work, const StoreContext& context,
                                      const UnitOptions& options, Environment& environment) {
  return std::make_unique<Unit>(std::move(work), context, options, environment);
}

std::unique_ptr<UnitOfWork> make_look_unit(std::unique_ptr<LookWork> work) {
  return std::make_unique<LookUnit>(std::move(work));
}

}  // namespace semel::sql
