#include "stores/sqlite/look_unit.h"

#include <sqlite3.h>

#include <utility>

namespace semel::sqlite {
namespace {

// More workers than this seldom read at the same time.
constexpr std::size_t kKept = 4;

[[noreturn]] void only_looks() {
  fail({ErrorKind::kRejected, "handler.sql.refused", "this unit only looks: it writes nothing",
        "leave UnitOptions::only_looks off"});
}

}  // namespace

class LookUnit final : public UnitOfWork {
 public:
  LookUnit(Looks& looks, std::unique_ptr<Looks::Lent> lent) noexcept
      : looks_(looks), lent_(std::move(lent)) {}
  ~LookUnit() override { looks_.give_back(std::move(lent_)); }

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
      Rows rows;
      try {
        auto went = lent_->statements.run(statement, &rows);
        if (auto* const broke = std::get_if<HandlerStatements::Broke>(&went)) {
          fail(std::move(broke->error));
        }
      } catch (const Failure& failed) {
        if ((failed.code() & 0xff) == SQLITE_READONLY) only_looks();
        throw;
      }
      return rows;
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
  Looks& looks_;
  std::unique_ptr<Looks::Lent> lent_;
  bool refused_ = false;  // there was something to write
};

Looks::Looks(ConnectionOptions options, std::chrono::milliseconds patience)
    : options_([&] {
        options.only_look = true;
        return std::move(options);
      }()),
      patience_(patience) {}

std::unique_ptr<Looks::Lent> Looks::lend() {
  {
    const system::MutexLock lock(mutex_);
    if (!idle_.empty()) {
      auto lent = std::move(idle_.back());
      idle_.pop_back();
      return lent;
    }
  }
  return std::make_unique<Lent>(options_);
}

void Looks::give_back(std::unique_ptr<Lent> lent) noexcept {
  const system::MutexLock lock(mutex_);
  if (idle_.size() < kKept) idle_.push_back(std::move(lent));
}

std::unique_ptr<UnitOfWork> Looks::begin() {
  auto lent = lend();
  lent->connection.set_patience(patience_);
  return std::make_unique<LookUnit>(*this, std::move(lent));
}

}  // namespace semel::sqlite
