#include "directory_store.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include <semel/spi/failpoints.h>
#include <semel/spi/finish_plan.h>
#include <semel/spi/record_machine.h>

#include "directory.h"
#include "stored.h"

namespace directory_store {
namespace {

using semel::Applied;
using semel::Claim;
using semel::ConsumerNumber;
using semel::ErrorKind;
using semel::failure;
using semel::KeyId;
using semel::RecordState;
using semel::Result;
using semel::StoreTime;
using std::chrono::milliseconds;

constexpr std::string_view kConsumer = "consumer-";
const std::string kClock = "clock";
// How far the store's clock may leave the elapsed time before nothing is forgotten by it.
constexpr std::chrono::minutes kJump{1};

std::string names_of_records(ConsumerNumber number) {
  return "record-" + std::to_string(static_cast<std::uint32_t>(number)) + "-";
}

std::string name_of(const KeyId& id) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string name = names_of_records(id.consumer());
  for (const unsigned char byte : id.bytes) (name += kDigits[byte >> 4U]) += kDigits[byte & 15U];
  return name;
}

std::string name_of(ConsumerNumber number) {
  return std::string(kConsumer) + std::to_string(static_cast<std::uint32_t>(number));
}

// None: there is no such file.
template <class Stored>
Result<std::optional<Stored>> load(const Directory& directory, const std::string& name) {
  auto text = directory.read(name);
  if (!text) return failure(std::move(text.error()));
  if (!*text) return std::optional<Stored>();
  if (auto stored = stored_in<Stored>(**text)) return stored;
  std::string why = unreadable(**text);
  if (why.empty()) why = "is damaged";
  return failure({ErrorKind::kUnavailable,
                  {},
                  "the file " + name + " " + why,
                  "use the program that wrote it, or another directory"});
}

using Consumers = std::map<ConsumerNumber, StoredConsumer>;
Result<Consumers> load_consumers(const Directory& directory) {
  auto names = directory.names(kConsumer);
  if (!names) return failure(std::move(names.error()));
  Consumers consumers;
  for (const std::string& name : *names) {
    auto consumer = load<StoredConsumer>(directory, name);
    if (!consumer) return failure(std::move(consumer.error()));
    std::uint32_t number = 0;
    std::from_chars(name.data() + kConsumer.size(), name.data() + name.size(), number);
    if (*consumer) consumers[ConsumerNumber{number}] = **std::move(consumer);
  }
  return consumers;
}

// The records of one call: loaded, decided upon, and written together.
class Call {
 public:
  struct Entry {
    std::optional<semel::spi::Record> record;
    semel::Bytes key;
    StoreTime changed_at{};
    bool changed = false;
  };

  Call(Directory& directory, StoreTime its_time) : now(its_time), directory_(directory) {}

  // As the call has left it so far.
  Result<Entry*> find(const std::string& name) {
    const auto known = entries_.find(name);
    if (known != entries_.end()) return &known->second;
    auto stored = load<StoredRecord>(directory_, name);
    if (!stored) return failure(std::move(stored.error()));
    Entry& entry = entries_[name];
    if (*stored) entry = {(*stored)->record, (*stored)->key, (*stored)->changed_at, false};
    return &entry;
  }
  Result<void> commit() {
    std::vector<Change> changes;
    for (auto& [name, entry] : entries_) {
      if (!entry.changed) continue;
      changes.push_back({name, std::nullopt});
      if (entry.record)
        changes.back().content = text_of(StoredRecord{*entry.record, entry.key, now});
    }
    return directory_.write(changes);
  }

  const StoreTime now;

 private:
  Directory& directory_;
  std::map<std::string, Entry> entries_;
};

class DirectoryStore final : public semel::Store {
 public:
  DirectoryStore(std::unique_ptr<Directory> directory, semel::Environment& environment,
                 std::function<StoreTime()> clock)
      : directory_(std::move(directory)),
        environment_(environment),
        clock_(std::move(clock)),
        lead_(lead()) {}

  const semel::StoreTraits& traits() const noexcept override { return kTraits; }
  semel::StoreFacets facets() noexcept override { return {}; }

  Result<ConsumerNumber> attach(const semel::ConsumerSpec& consumer) override;
  Result<std::vector<Claim>> claim(std::span<const semel::Message* const> messages,
                                   const semel::ClaimOptions& options) override;
  Result<std::vector<Applied>> renew(std::span<const semel::Lease> leases,
                                     milliseconds lease) override;
  Result<std::vector<Applied>> finish(std::span<const semel::Finish> batch) override;
  Result<semel::PurgeReport> purge(milliseconds budget) override;

 private:
  // How far the store's clock is ahead of the elapsed time: that stays until somebody sets it.
  milliseconds lead() const {
    return std::chrono::duration_cast<milliseconds>(clock_().time_since_epoch() -
                                                    environment_.clock->elapsed());
  }
  // Whether records may be forgotten by the clock. The next process that opens the store knows the
  // time that it has seen.
  Result<void> check_clock();
  Result<bool> forget_if_over(const std::string& name, milliseconds ttl);

  const std::unique_ptr<Directory> directory_;
  semel::Environment& environment_;
  const std::function<StoreTime()> clock_;
  const milliseconds lead_;
};

Result<ConsumerNumber> DirectoryStore::attach(const semel::ConsumerSpec& consumer) {
  return directory_->locked([&]() -> Result<ConsumerNumber> {
    auto consumers = load_consumers(*directory_);
    if (!consumers) return failure(std::move(consumers.error()));
    auto known = std::ranges::find_if(
        *consumers, [&](const auto& one) { return one.second.name == consumer.name; });
    if (known == consumers->end()) {
      const auto last =
          consumers->empty() ? 0 : static_cast<std::uint32_t>(consumers->rbegin()->first);
      known = consumers
                  ->emplace(ConsumerNumber{last + 1},
                            StoredConsumer{consumer.name, consumer.recipe_hash})
                  .first;
    }
    auto& [number, stored] = *known;
    if (stored.recipe_hash != consumer.recipe_hash && !consumer.accept_recipe) {
      return failure(
          {ErrorKind::kRejected, "R220",
           "the key recipe of consumer \"" + consumer.name + "\" changed: every key would be new",
           "accept the change, or use the recipe as it was"});
    }
    stored.recipe_hash = consumer.recipe_hash;
    stored.ttl = consumer.ttl ? consumer.ttl->count() : -1;
    const Change change{name_of(number), text_of(stored)};
    if (auto saved = directory_->write({&change, 1}); !saved) return failure(saved.error());
    return number;
  });
}

Result<std::vector<Claim>> DirectoryStore::claim(std::span<const semel::Message* const> messages,
                                                 const semel::ClaimOptions& options) {
  return directory_->locked([&]() -> Result<std::vector<Claim>> {
    semel::failpoint::hit(environment_, semel::failpoint::kBegun);
    Call call(*directory_, clock_());
    std::vector<Claim> claims;
    for (const semel::Message* message : messages) {
      auto entry = call.find(name_of(message->key().id));
      if (!entry) return failure(std::move(entry.error()));
      auto token = directory_->count(1, false);
      if (!token) return failure(std::move(token.error()));
      semel::spi::ClaimRequest request;
      request.key = message->key().id;
      request.fingerprint = message->fingerprint();
      request.token = semel::Token{*token};
      request.nonce = semel::spi::draw_nonce(*environment_.random);
      request.lease = options.lease;
      Claim answer = semel::spi::decide_claim((*entry)->record, request, call.now);
      if (std::holds_alternative<semel::Acquired>(answer)) {
        (*entry)->key = message->key().text;
        (*entry)->changed = true;
      } else if (auto* done = std::get_if<semel::Completed>(&answer);
                 done && !options.want_result) {
        done->result.clear();
      }
      claims.push_back(std::move(answer));
    }
    if (auto committed = call.commit(); !committed) return failure(committed.error());
    semel::failpoint::hit(environment_, semel::failpoint::kClaimed);
    return claims;
  });
}

Result<std::vector<Applied>> DirectoryStore::renew(std::span<const semel::Lease> leases,
                                                   milliseconds lease) {
  return directory_->locked([&]() -> Result<std::vector<Applied>> {
    Call call(*directory_, clock_());
    std::vector<Applied> applied;
    for (const semel::Lease& held : leases) {
      auto entry = call.find(name_of(held.key));
      if (!entry) return failure(std::move(entry.error()));
      auto& record = (*entry)->record;
      const bool renewed = record && semel::spi::decide_renew(*record, held.nonce, lease, call.now);
      (*entry)->changed = (*entry)->changed || renewed;
      applied.push_back(renewed ? Applied::kYes : Applied::kLeaseLost);
    }
    if (auto committed = call.commit(); !committed) return failure(committed.error());
    return applied;
  });
}

Result<std::vector<Applied>> DirectoryStore::finish(std::span<const semel::Finish> batch) {
  if (std::ranges::any_of(batch, semel::spi::touches_messages)) {
    return failure({ErrorKind::kRejected,
                    {},
                    "the directory store keeps no messages",
                    "use it with semel::Guard alone"});
  }
  return directory_->locked([&]() -> Result<std::vector<Applied>> {
    Call call(*directory_, clock_());
    std::vector<Applied> applied;
    for (const semel::Finish& finish : batch) {
      auto entry = call.find(name_of(finish.lease->key));
      if (!entry) return failure(std::move(entry.error()));
      // The record is all that a store without messages carries out of the plan.
      const auto plan = semel::spi::plan_finish((*entry)->record, finish, call.now);
      (*entry)->changed = (*entry)->changed || plan.applied == Applied::kYes;
      applied.push_back(plan.applied);
    }
    semel::failpoint::hit(environment_, semel::failpoint::kFinished);
    if (auto committed = call.commit(); !committed) return failure(committed.error());
    return applied;
  });
}

// One record for each lock, so that nobody waits for a purge.
Result<bool> DirectoryStore::forget_if_over(const std::string& name, milliseconds ttl) {
  return directory_->locked([&]() -> Result<bool> {
    Call call(*directory_, clock_());
    auto entry = call.find(name);
    if (!entry) return failure(std::move(entry.error()));
    auto& [record, key, changed_at, changed] = **entry;
    const bool finished =
        record && (record->state == RecordState::kCompleted || record->state == RecordState::kDead);
    changed = finished && call.now - changed_at >= ttl;
    if (!changed) return false;
    record.reset();
    if (auto committed = call.commit(); !committed) return failure(committed.error());
    return true;
  });
}

Result<void> DirectoryStore::check_clock() {
  // Everything could look old.
  if (std::chrono::abs(lead() - lead_) > kJump) {
    return failure({ErrorKind::kUnavailable,
                    {},
                    "the clock was set since the store was opened, or the machine slept",
                    "look at the clock, then open the store anew"});
  }
  return directory_->locked([&]() -> Result<void> {
    auto stored = load<StoredClock>(*directory_, kClock);
    if (!stored) return failure(std::move(stored.error()));
    const StoreTime now = clock_();
    const StoreTime seen = *stored ? (*stored)->seen : now;
    // A record finished meanwhile looks older than it is once the clock is right again.
    if (now < seen - kJump) {
      return failure({ErrorKind::kUnavailable,
                      {},
                      "the clock is behind a time that the store has seen",
                      "set the clock; nothing is forgotten until it is past that time"});
    }
    const Change change{kClock, text_of(StoredClock{std::max(now, seen)})};
    return directory_->write({&change, 1});
  });
}

Result<semel::PurgeReport> DirectoryStore::purge(milliseconds budget) {
  semel::PurgeReport report;
  if (auto checked = check_clock(); !checked) return failure(std::move(checked.error()));
  const auto end = environment_.clock->now() + budget;
  auto consumers = directory_->locked([&] { return load_consumers(*directory_); });
  if (!consumers) return failure(std::move(consumers.error()));
  for (const auto& [number, consumer] : *consumers) {
    if (consumer.ttl < 0) continue;
    auto names = directory_->locked([&] { return directory_->names(names_of_records(number)); });
    if (!names) return failure(std::move(names.error()));
    // Each purge begins elsewhere: however short they are, all together they see every record.
    if (!names->empty()) {
      const auto first = environment_.random->next() % names->size();
      std::ranges::rotate(*names, names->begin() + static_cast<std::ptrdiff_t>(first));
    }
    for (const std::string& name : *names) {
      report.more = environment_.clock->now() >= end;
      if (report.more) return report;
      auto forgotten = forget_if_over(name, milliseconds(consumer.ttl));
      if (!forgotten) return failure(std::move(forgotten.error()));
      report.records += *forgotten ? 1U : 0U;
    }
  }
  return report;
}

}  // namespace

Result<std::unique_ptr<semel::Store>> open(Options options) {
  semel::Environment& environment =
      options.environment != nullptr ? *options.environment : semel::system_environment();
  if (!options.clock) {
    options.clock = [] {
      return std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now());
    };
  }
  auto directory = Directory::open(options.path, environment);
  if (!directory) return failure(std::move(directory.error()));
  auto epoch = (*directory)->locked([&]() -> Result<std::uint64_t> {
    // A directory of another version is not touched.
    if (auto read = load_consumers(**directory); !read) return failure(std::move(read.error()));
    return (*directory)->count(1, true);
  });
  if (!epoch) return failure(std::move(epoch.error()));
  return std::make_unique<DirectoryStore>(*std::move(directory), environment,
                                          std::move(options.clock));
}

}  // namespace directory_store
