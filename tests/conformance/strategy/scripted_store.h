// A transactional store for the strategies' own tests: its state is plain to see, and what its
// statements do is written in their text. One thread. Wrap it in a fault store to make it fail.
//
//   INSERT INTO effect VALUES (?)   an effect of that name
//   UPDATE broken …                 fails with class constraint
//   INSERT INTO taken …             violates taken(id)
//   UPDATE nothing …                changes no row
//   UPDATE lethal …                 breaks its transaction: `lethal`
//   UPDATE missing …                fails as no message can mend
//   INSERT INTO deferred …          violates a constraint that is checked at the commit
//   UPDATE locked … WHERE id = ?    waits in vain where `locked` names the row
//   SELECT effects, SELECT broken   the number of effects; an error
//   SELECT locked … WHERE id = ?    waits in vain as the update does
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <semel/spi/record_machine.h>
#include <semel/spi/step_store.h>
#include <semel/spi/store.h>
#include <semel/spi/unit_of_work.h>

namespace semel::strategies {

struct ScriptedState {
  std::map<KeyId, std::optional<spi::Record>> records;
  std::map<std::string, int> effects;
  std::vector<std::string> made;  // in the order of the statements, whatever was undone by itself
  struct Kept {
    Bytes key;
    std::string reason;
    std::string error;
    int attempts;
    Bytes payload = {};
  };
  std::vector<Kept> held;
  std::vector<Kept> dead_letters;
  std::set<std::int64_t> rows;  // held rows that are there
  std::vector<Bytes> inbox;     // keys
  std::map<KeyId, StepJournal> steps;
};

class ScriptedStore final : public Store, private TransactionalStore, private StepStore {
 public:
  ScriptedState state;
  StoreTime now{std::chrono::milliseconds(1'000'000)};
  // A failed statement undoes the whole transaction: where marks are sparse, or always.
  bool sparse_undoes_all = false;
  bool always_undoes_all = false;
  RunMarkers* runs = nullptr;  // borrowed
  bool has_transactions = true;
  // A claim that names this key is refused.
  Bytes refuse_key;
  Error lethal{ErrorKind::kUnavailable, "R200", "the server closed the connection", {}};
  // Every access to a journal has it.
  std::optional<Error> journal_error;
  // A larger payload is not kept.
  std::size_t largest = 1 << 20;
  std::set<std::string> locked;            // rows locked by another session
  int waits = 0;                           // for one of them
  std::vector<Savepoints> begun;           // the marks of each transaction
  std::vector<std::size_t> claimed_count;  // the size of each claim

  const StoreTraits& traits() const noexcept override { return traits_; }
  StoreFacets facets() noexcept override;
  Result<ConsumerNumber> attach(const ConsumerSpec&) override { return ConsumerNumber{1}; }
  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override;
  Result<std::vector<Applied>> renew(std::span<const Lease> leases,
                                     std::chrono::milliseconds lease) override;
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override;
  Result<PurgeReport> purge(std::chrono::milliseconds) override { return PurgeReport{}; }

  StoreTraits traits_{"scripted", true, false, false, 100};

 private:
  Result<StepJournal> read(const KeyId& record) override {
    if (journal_error) return failure(*journal_error);
    return state.steps[record];
  }
  Result<Applied> keep(const Lease& lease, const StepEntry& entry) override;
  Result<bool> give_up(const KeyId& record, const GivingUp& note) override;
  Result<std::unique_ptr<UnitOfWork>> begin(const UnitOptions& options) override;
  std::uint64_t next_nonce_ = 0;
};

}  // namespace semel::strategies
