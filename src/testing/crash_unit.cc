#include "testing/crash_unit.h"

#include <utility>

#include <semel/environment.h>
#include <semel/spi/failpoints.h>

namespace semel::testkit {

namespace {

// In production a store may do all of this in one round trip; here it runs step by step, because
// each step is a crash point.
class CrashUnit final : public UnitOfWork {
 public:
  CrashUnit(std::unique_ptr<UnitOfWork> inner, Life& life) : inner_(std::move(inner)), life_(life) {
    life_.unit_opened();
  }
  ~CrashUnit() override { close(); }

  Result<std::vector<Claim>> claim(std::span<const Message* const> messages) override {
    return call(failpoint::kClaimed, [&] { return inner_->claim(messages); });
  }
  Result<std::vector<Applied>> confirm(std::span<const Lease> leases) override {
    return call(failpoint::kConfirmed, [&] { return inner_->confirm(leases); });
  }
  void run(std::size_t message, const StatementList& statements) override {
    if (inner_ && !life_.over()) inner_->run(message, statements);
  }
  Result<Rows> query(std::size_t message, const RecordedStatement& statement) override {
    return call({}, [&] { return inner_->query(message, statement); });
  }
  Result<FlushReport> flush() override {
    return call(failpoint::kFlushed, [&] { return inner_->flush(); });
  }
  Result<void> undo(std::size_t message) override {
    return call({}, [&] { return inner_->undo(message); });
  }
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    return call(failpoint::kFinished, [&] { return inner_->finish(batch); });
  }
  Result<void> commit() override {
    if (!inner_ || !life_.pass(failpoint::kCommitBefore)) return failure(ended_error());
    auto committed = inner_->commit();
    close();
    if (committed && !life_.pass(failpoint::kCommitAfter)) return failure(ended_error());
    return committed;
  }

 private:
  template <class Work>
  auto call(std::string_view point, Work&& work) -> decltype(work()) {
    if (!inner_ || life_.over()) return failure(ended_error());
    auto answer = work();
    if (answer && !point.empty() && !life_.pass(point)) return failure(ended_error());
    return answer;
  }
  void close() noexcept {
    if (!inner_) return;
    inner_.reset();
    life_.unit_closed();
  }

  std::unique_ptr<UnitOfWork> inner_;  // null: over
  Life& life_;
};

}  // namespace

std::unique_ptr<UnitOfWork> make_crash_unit(std::unique_ptr<UnitOfWork> inner, Life& life) {
  return std::make_unique<CrashUnit>(std::move(inner), life);
}

}  // namespace semel::testkit
