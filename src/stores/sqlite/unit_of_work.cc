#include "stores/sqlite/unit_of_work.h"

#include <utility>

#include <semel/spi/failpoints.h>

#include "stores/sqlite/look_unit.h"
#include "stores/sqlite/store_context.h"

namespace semel::sqlite {
namespace {

[[noreturn]] void misuse(const char* what) {
  fail({ErrorKind::kRejected, "R200", what, "claim or confirm, then statements, finish, commit"});
}

class Unit final : public UnitOfWork {
 public:
  Unit(std::unique_ptr<UnitSession> session, const UnitOptions& options)
      : session_(std::move(session)), options_(options) {
    session_->claims().begin();
    session_->statements().begin(options.savepoints,
                                 [session = session_.get()] { session->undo_all(); });
    failpoint::hit(session_->environment(), failpoint::kBegun);
  }

  Result<std::vector<Claim>> claim(std::span<const Message* const> messages) override {
    return guarded([&] {
      enter(Stage::kBegun, "claim comes first, and once");
      stage_ = Stage::kClaimed;
      auto claims = session_->claims().claim(messages, options_, session_->now());
      failpoint::hit(session_->environment(), failpoint::kClaimed);
      return claims;
    });
  }

  Result<std::vector<Applied>> confirm(std::span<const Lease> leases) override {
    return guarded([&] {
      enter(Stage::kBegun, "confirm comes first, and once");
      stage_ = Stage::kClaimed;
      std::vector<Applied> applied;
      applied.reserve(leases.size());
      for (const Lease& lease : leases) {
        const bool held = session_->tables().live.held_by(lease.key, lease.nonce);
        applied.push_back(held ? Applied::kYes : Applied::kLeaseLost);
      }
      failpoint::hit(session_->environment(), failpoint::kConfirmed);
      return applied;
    });
  }

  void run(std::size_t message, const StatementList& statements) override {
    if (stage_ == Stage::kClaimed) session_->statements().add(message, statements);
  }

  Result<Rows> query(std::size_t message, const RecordedStatement& statement) override {
    return contained([&] {
      if (stage_ != Stage::kClaimed) misuse("a query before the claim, or after finish");
      try {
        return session_->statements().query(message, statement);
      } catch (const Failure& failed) {
        // An error of a statement leaves the transaction intact; one of the store does not.
        if (failed.code() != 0) end();
        throw;
      }
    });
  }

  Result<FlushReport> flush() override {
    return guarded([&] {
      enter(Stage::kClaimed, "a flush before the claim, or after finish");
      FlushReport report = session_->statements().flush();
      failpoint::hit(session_->environment(), failpoint::kFlushed);
      if (report.all_undone) stage_ = Stage::kOver;
      return report;
    });
  }

  Result<void> undo(std::size_t message) override {
    return guarded([&] {
      enter(Stage::kClaimed, "an undo before the claim, or after finish");
      session_->statements().undo(message);
    });
  }

  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    return guarded([&] {
      enter(Stage::kClaimed, "finish comes once, behind the claim");
      if (session_->statements().pending()) misuse("statements were not flushed before finish");
      stage_ = Stage::kFinished;
      session_->statements().release_mark();
      const StoreTime now = session_->now();
      std::vector<Applied> applied;
      applied.reserve(batch.size());
      for (const Finish& finish : batch) {
        applied.push_back(session_->claims().finish(finish, now));
      }
      failpoint::hit(session_->environment(), failpoint::kFinished);
      return applied;
    });
  }

  Result<void> commit() override {
    return guarded([&] {
      if (stage_ != Stage::kClaimed && stage_ != Stage::kFinished) misuse("nothing to commit");
      if (session_->statements().pending()) misuse("statements were not flushed before commit");
      session_->statements().release_mark();
      // Otherwise the claim itself would record work that was never reported as done.
      if (session_->claims().unfinished()) misuse("a claim was not finished");
      failpoint::hit(session_->environment(), failpoint::kCommitBefore);
      session_->commit();
      stage_ = Stage::kOver;
      failpoint::hit(session_->environment(), failpoint::kCommitAfter);
    });
  }

 private:
  enum class Stage { kBegun, kClaimed, kFinished, kOver };

  void enter(Stage needed, const char* otherwise) const {
    if (stage_ != needed) misuse(otherwise);
  }

  void end() noexcept {
    stage_ = Stage::kOver;
    session_->roll_back();
  }

  // After a failure of the store, nothing may be committed.
  template <class Work>
  auto guarded(Work&& work) noexcept -> Result<std::invoke_result_t<Work&>> {
    return contained([&] {
      try {
        return work();
      } catch (...) {
        end();
        throw;
      }
    });
  }

  std::unique_ptr<UnitSession> session_;
  const UnitOptions options_;
  Stage stage_ = Stage::kBegun;
};

class OwnSession final : public UnitSession {
 public:
  OwnSession(StoreContext& context, std::chrono::milliseconds patience)
      : context_(context), transaction_(context.writer, Sync::kPowerLoss, patience) {}

  UnitClaims& claims() noexcept override { return context_.writer.unit_claims(); }
  StatementRun& statements() noexcept override { return context_.writer.statements(); }
  Tables& tables() noexcept override { return context_.writer.tables(); }
  Environment& environment() noexcept override { return context_.writer.environment(); }
  StoreTime now() noexcept override { return context_.clock.now(); }
  void commit() override { transaction_.commit(); }
  void undo_all() override { context_.writer.connection().execute("ROLLBACK"); }
  void roll_back() noexcept override { transaction_.roll_back(); }

 private:
  StoreContext& context_;
  WriteTransaction transaction_;
};

class Units final : public TransactionalStore {
 public:
  explicit Units(StoreContext& context)
      : context_(context), looks_(connection_options(context.options), context.options.busy) {}

  Result<std::unique_ptr<UnitOfWork>> begin(const UnitOptions& options) override {
    return contained([&] {
      if (options.only_looks) return looks_.begin();
      return make_unit(std::make_unique<OwnSession>(context_, options.patience), options);
    });
  }

 private:
  StoreContext& context_;
  Looks looks_;
};

}  // namespace

std::unique_ptr<UnitOfWork> make_unit(std::unique_ptr<UnitSession> session,
                                      const UnitOptions& options) {
  return std::make_unique<Unit>(std::move(session), options);
}

std::unique_ptr<TransactionalStore> make_units(StoreContext& context) {
  return std::make_unique<Units>(context);
}

}  // namespace semel::sqlite
