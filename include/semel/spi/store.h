// Store: the record of what was handled. One contract for every database behind it.
//
// All calls take a batch and answer in request order. None blocks on another holder of a key: it
// answers Busy. Expiry is decided by the store's own clock inside the statement that claims;
// callers pass durations, never timestamps. A failed call never means "no record": nothing may be
// handled on it. Safe to call from several threads.
//
// docs/extending/store.md says how to write one. Each passes the suites of
// semel/conformance/store_case.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <semel/message.h>
#include <semel/result.h>
#include <semel/spi/claim.h>
#include <semel/spi/finish.h>

namespace semel {

class TransactionalStore;
class HeldMessages;
class DeadLetters;
class RecordInspector;
class Positions;
class RunMarkers;
class Gates;
class LiveChecks;
class StepStore;
class AuditLog;

// Facts about a store, read by `check`, by the guarantee and by the conformance suite. Each adapter
// has a constant of what is known before it is opened (kSqliteTraits); an open store may know more.
struct StoreTraits {
  std::string_view name;         // "sqlite"
  bool durable = false;          // survives the process, and power loss
  bool forgets = false;          // bounded memory: may lose finished records before their ttl
  bool single_writer = false;    // one write transaction at a time in the whole database
  std::size_t best_batch = 100;  // messages a transaction where throughput is flat
  bool decimals = false;         // its columns can keep a decimal number digit by digit
  // The largest message that it keeps, in bytes with its headers; all ones: unknown.
  std::size_t largest_message = static_cast<std::size_t>(-1);
  bool borrowed = false;  // the caller's own connection: all work belongs in its open transaction
  bool transactions = false;  // statements of a handler commit with the record
  bool takes_back = false;    // a crash or failover of its server may forget the last writes
};

// Abilities that only some stores have. Null where this one lacks it; never a method that fails.
//
// held and dead_letters require each other, and records: a message moves between them in the commit
// of its record. transactional and runs require held, steps requires records. A store without held
// refuses a Finish that touches messages (semel/spi/finish_plan.h).
struct StoreFacets {
  TransactionalStore* transactional = nullptr;
  HeldMessages* held = nullptr;
  DeadLetters* dead_letters = nullptr;
  RecordInspector* records = nullptr;
  Positions* positions = nullptr;
  RunMarkers* runs = nullptr;
  Gates* gates = nullptr;
  LiveChecks* live = nullptr;
  StepStore* steps = nullptr;
  AuditLog* audit = nullptr;
};

struct ConsumerSpec {
  std::string name;
  Bytes recipe_hash;  // of key recipe and fingerprint fields; a change would make every key new
  bool accept_recipe = false;                      // the user accepts such a change
  std::optional<std::chrono::milliseconds> ttl{};  // of finished records; none: kept for ever
};

// How far a claim must reach before it is answered. A claim lost at a power cut is a claim whose
// claimer died too, so an embedded store may skip its sync; a completion never.
enum class Durability { kProcessCrash, kPowerLoss };

struct ClaimOptions {
  std::chrono::milliseconds lease{60'000};
  Durability durability = Durability::kProcessCrash;
  bool want_result = false;  // fill Completed::result, at the cost of one look-up each
  // For a claimer in another process: the end of this process says nothing about its work, so only
  // the lease's time ends the claim.
  bool outlives_process = false;
};

struct PurgeReport {
  std::size_t records = 0;  // finished records forgotten
  bool more = false;        // the budget ended first
};

class Store {
 public:
  virtual ~Store() = default;
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  virtual const StoreTraits& traits() const noexcept = 0;
  virtual StoreFacets facets() noexcept = 0;

  // Finds or makes the consumer's number. kRejected (R220) when its key recipe changed and the
  // change is not accepted. Must precede every other use of a key id with that number.
  virtual Result<ConsumerNumber> attach(const ConsumerSpec& consumer) = 0;

  // Claims each message's key. Keys must differ within a call.
  virtual Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                           const ClaimOptions& options) = 0;

  // Moves the end of each lease to `lease` from now. Refused (kLeaseLost) where the nonce is no
  // longer the record's, even if it once was. Each lease is answered by its key and nonce: two of
  // one key are judged apart.
  virtual Result<std::vector<Applied>> renew(std::span<const Lease> leases,
                                             std::chrono::milliseconds lease) = 0;

  // Ends a mixed batch in one commit, durable against power loss when it returns. Entries are
  // independent: one whose lease is lost changes nothing and delays no other. The records of those
  // whose leases hold must differ within a call.
  virtual Result<std::vector<Applied>> finish(std::span<const Finish> batch) = 0;

  // Forgets finished records past their ttl, for at most about `budget`; never one in progress.
  virtual Result<PurgeReport> purge(std::chrono::milliseconds budget) = 0;
};

}  // namespace semel
