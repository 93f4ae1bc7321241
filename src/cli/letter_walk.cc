#include "cli/letter_walk.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "cli/cause.h"
#include "cli/text.h"
#include "core/record_machine.h"
#include "system/utc_clock.h"

namespace semel::cli {

namespace {

constexpr std::size_t kPage = 1'000;

class Walk {
 public:
  Walk(const Session& session, const DlqFlags& flags, const Where& where)
      : session_(session), flags_(flags), where_(where), now_(system::utc_now()) {
    filter_.consumer = where.equal_to("consumer");
    if (!flags.consumer.empty()) filter_.consumer = flags.consumer;
    named_ = filter_.consumer.has_value();
    filter_.limit = kPage;
  }

  Result<LetterWalk> run(std::size_t limit, const std::function<void(const DeadLetter&)>& see) {
    while (walk_.seen < limit) {
      auto page = session_.facets.dead_letters->list(filter_);
      if (!page) return failure(std::move(page.error()));
      for (const DeadLetter& letter : *page) {
        const auto wanted = wants(letter);
        if (!wanted) return failure(wanted.error());
        if (!*wanted) continue;
        see(letter);
        if (++walk_.seen == limit) break;
      }
      if (page->size() < filter_.limit) break;
      filter_.after = page->back().id;
    }
    return walk_;
  }

 private:
  Result<bool> wants(const DeadLetter& letter) {
    if (!flags_.reason.empty() && letter.reason != flags_.reason &&
        cause_of(letter.reason, letter.error) != flags_.reason) {
      return false;
    }
    if (!matches(where_, letter, now_)) return false;
    if (!named_ && session_.config.find(letter.consumer) == nullptr) {
      ++walk_.foreign;
      return false;
    }
    const auto done = is_done(letter);
    if (!done) return failure(done.error());
    if (*done && !flags_.replayed) ++walk_.done;
    return *done == flags_.replayed;
  }

  // A letter without a key has no record that tells.
  Result<bool> is_done(const DeadLetter& letter) {
    if (letter.replayed == 0 || letter.key.empty()) return false;
    const auto* consumer = session_.config.find(letter.consumer);
    if (consumer == nullptr) return false;
    const auto number = number_of(letter.consumer);
    if (!number) return failure(number.error());
    if (!*number) return false;
    const auto record = session_.facets.records->show(consumer->key.id_of(**number, letter.key));
    if (!record) return failure(record.error());
    return *record && (*record)->state == RecordState::kCompleted &&
           core::same_fingerprint((*record)->fingerprint, letter.fingerprint);
  }

  Result<std::optional<ConsumerNumber>> number_of(const std::string& consumer) {
    const auto known = numbers_.find(consumer);
    if (known != numbers_.end()) return known->second;
    auto number = session_.facets.records->consumer(consumer);
    if (number) numbers_.emplace(consumer, *number);
    return number;
  }

  const Session& session_;
  const DlqFlags& flags_;
  const Where& where_;
  const StoreTime now_;
  bool named_ = false;
  DeadLetterFilter filter_;
  std::map<std::string, std::optional<ConsumerNumber>> numbers_;
  LetterWalk walk_;
};

}  // namespace

Result<LetterWalk> walk_letters(const Session& session, const DlqFlags& flags, const Where& where,
                                std::size_t limit,
                                const std::function<void(const DeadLetter&)>& see) {
  return Walk(session, flags, where).run(limit, see);
}

void note_left_out(Console& console, const LetterWalk& walk) {
  if (walk.done > 0) {
    console.note(fmt::format("{} replayed and done: --replayed", grouped(walk.done)));
  }
  if (walk.foreign > 0) {
    console.note(fmt::format("{} of consumers that are not in the config: --consumer NAME",
                             grouped(walk.foreign)));
  }
}

}  // namespace semel::cli
