#include "stores/redis/steps.h"

#include <semel/spi/failpoints.h>

#include "stores/redis/dead_letters.h"
#include "stores/redis/finisher.h"
#include "stores/redis/journal.h"

namespace semel::redis {
namespace {

class RedisSteps final : public StepStore {
 public:
  explicit RedisSteps(StoreContext& context) : context_(context) {}

  Result<StepJournal> read(const KeyId& record) override {
    return core::contained([&] {
      const std::string name = context_.names.record(record);
      const Reply reply = context_.router.ask({"GET", name}, Loss::kNothingDone);
      return reply.kind == Reply::Kind::kNil ? StepJournal() : journal_in(reply.bytes);
    });
  }

  // Idempotent.
  Result<Applied> keep(const Lease& lease, const StepEntry& entry) override {
    return core::contained([&] {
      Call call;
      call.keys = {context_.names.record(lease.key)};
      for (;;) {
        const std::size_t renames = context_.instance.renames();
        Lease compared = lease;
        compared.nonce = context_.instance.compared(lease.nonce);
        call.arguments = {nonce_of(compared), sized_entry(entry)};
        failpoint::hit(context_.environment, failpoint::kCommitBefore);
        const Reply reply = context_.run_one(context_.scripts.keep_step, call, Loss::kInDoubt);
        if (reply.number == 1) return Applied::kYes;
        // Unless a renewal has replaced the name that was compared.
        if (context_.instance.renames() == renames) return Applied::kLeaseLost;
      }
    });
  }

  Result<bool> give_up(const KeyId& record, const GivingUp& note) override {
    return core::contained([&] { return unlock_record(context_, record, note_of(note)); });
  }

 private:
  StoreContext& context_;
};

}  // namespace

std::unique_ptr<StepStore> make_steps(StoreContext& context) {
  return std::make_unique<RedisSteps>(context);
}

}  // namespace semel::redis
