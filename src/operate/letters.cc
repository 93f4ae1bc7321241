#include "operate/letters.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <semel/spi/record_machine.h>

#include "operate/cause.h"
#include "system/utc_clock.h"

namespace semel::operate {

namespace {

using std::chrono::steady_clock;

constexpr std::size_t kPage = 1'000;
// A first page has room for some letters that are left out.
constexpr std::size_t kSpare = 50;

constexpr WhereField kLetterFields[] = {{"consumer"},
                                        {"reason"},
                                        {"key"},
                                        {"type"},
                                        {"error"},
                                        {"attempts", WhereField::Kind::kNumber},
                                        {"age", WhereField::Kind::kAge},
                                        {"cause"}};

// The result that a replay of the letter would have, with this record.
ReplayReport::Result foreseen(const std::optional<RecordView>& record, const DeadLetter& letter) {
  if (!record) return ReplayReport::Result::kReplayed;
  if (!spi::same_fingerprint(record->fingerprint, letter.fingerprint)) {
    return ReplayReport::Result::kSkippedConflict;
  }
  return record->state == RecordState::kCompleted ? ReplayReport::Result::kSkippedCompleted
                                                  : ReplayReport::Result::kReplayed;
}

class Walk {
 public:
  Walk(const StoreAccess& access, const LetterQuery& query)
      : access_(access),
        query_(query),
        now_(query.now.value_or(system::utc_now())),
        records_(access) {
    filter_.consumer = query.where.equal_to("consumer");
    if (!query.consumer.empty()) filter_.consumer = query.consumer;
    foreign_ = query.foreign && filter_.consumer.has_value();
    filter_.after = query.after;
    filter_.limit = query.limit < kPage ? std::min(kPage, query.limit + kSpare) : kPage;
  }

  Result<LetterWalk> run(const std::function<void(const DeadLetter&)>& see) {
    if (query_.limit == 0) {
      walk_.next = filter_.after;
      return walk_;
    }
    do {
      auto page = access_.facets.dead_letters->list(filter_);
      if (!page) return failure(std::move(page.error()));
      for (const DeadLetter& letter : *page) {
        if (query_.up_to && letter.id > *query_.up_to) return walk_;
        const auto wanted = wants(letter);
        if (!wanted) return failure(wanted.error());
        filter_.after = letter.id;
        if (*wanted) {
          see(letter);
          ++walk_.seen;
        }
        if (must_stop()) break;
      }
      const bool whole = page->empty() || filter_.after == page->back().id;
      if (whole && page->size() < filter_.limit) return walk_;
      // A filter that matches little takes few pages nevertheless.
      filter_.limit = std::min(kPage, filter_.limit * 2);
    } while (!must_stop());
    walk_.next = filter_.after;
    return walk_;
  }

 private:
  // At least one letter is read in any case, so that repeated walks come to an end.
  bool must_stop() const {
    return walk_.seen == query_.limit || (query_.until && steady_clock::now() >= *query_.until);
  }

  Result<bool> wants(const DeadLetter& letter) {
    if (!query_.reason.empty() && letter.reason != query_.reason &&
        cause_of(letter.reason, letter.error) != query_.reason) {
      return false;
    }
    if (!matches(query_.where, letter, now_)) return false;
    if (!foreign_ && access_.config.find(letter.consumer) == nullptr) {
      ++walk_.foreign;
      return false;
    }
    const bool was_replayed = letter.replayed > 0;
    if (!was_replayed && query_.replayed) return false;
    if (!was_replayed && !query_.foresees) return true;
    const auto record = records_.of(letter);
    if (!record) return failure(record.error());
    if (was_replayed && !wants_since_replay(*record, letter)) return false;
    if (query_.foresees) note(foreseen(*record, letter));
    return true;
  }

  // Whether a replayed letter is wanted, with the state that its record has since.
  bool wants_since_replay(const std::optional<RecordView>& record, const DeadLetter& letter) {
    const bool about_it = record && spi::same_fingerprint(record->fingerprint, letter.fingerprint);
    const bool done = about_it && record->state == RecordState::kCompleted;
    if (done && !query_.replayed) ++walk_.done;
    if (done != query_.replayed) return false;
    const bool waits = about_it && (record->state == RecordState::kRetrying ||
                                    record->state == RecordState::kConsuming);
    if (query_.settled && waits) ++walk_.on_their_way;
    return !query_.settled || !waits;
  }

  void note(ReplayReport::Result result) {
    if (result == ReplayReport::Result::kSkippedCompleted) ++walk_.skipped_completed;
    if (result == ReplayReport::Result::kSkippedConflict) ++walk_.skipped_conflict;
  }

  const StoreAccess& access_;
  const LetterQuery& query_;
  const StoreTime now_;
  bool foreign_ = false;  // letters of consumers that are not in the config match too
  DeadLetterFilter filter_;
  LetterRecords records_;
  LetterWalk walk_;
};

void add_letter(LetterGroup& group, const DeadLetter& letter) {
  if (group.count == 0 || letter.dead_at < group.oldest) group.oldest = letter.dead_at;
  if (group.count == 0 || letter.dead_at >= group.newest) {
    group.newest = letter.dead_at;
    group.newest_id = letter.id;
    group.newest_error = letter.error;
  }
  ++group.count;
}

}  // namespace

std::span<const WhereField> letter_fields() noexcept { return kLetterFields; }

bool matches(const Where& where, const DeadLetter& letter, StoreTime now) {
  return where.matches([&](std::string_view field) -> WhereValue {
    if (field == "consumer") return std::string_view(letter.consumer);
    if (field == "reason") return EitherText{letter.reason, cause_of(letter.reason, letter.error)};
    if (field == "key") return std::string_view(letter.key);
    if (field == "type") return std::string_view(letter.type);
    if (field == "error") return std::string_view(letter.error);
    if (field == "cause") return cause_of(letter.reason, letter.error);
    if (field == "attempts") return std::int64_t{letter.attempts};
    return (now - letter.dead_at).count();
  });
}

Result<std::optional<RecordView>> LetterRecords::of(const DeadLetter& letter) {
  const auto* const consumer = access_.config.find(letter.consumer);
  if (letter.key.empty() || consumer == nullptr) return std::optional<RecordView>();
  const auto number = number_of(letter.consumer);
  if (!number) return failure(number.error());
  if (!*number) return std::optional<RecordView>();
  return access_.facets.records->show(consumer->key.id_of(**number, letter.key));
}

Result<ReplayReport::Result> LetterRecords::foresee(const DeadLetter& letter) {
  const auto record = of(letter);
  if (!record) return failure(record.error());
  return foreseen(*record, letter);
}

Result<std::optional<ConsumerNumber>> LetterRecords::number_of(const std::string& consumer) {
  const auto known = numbers_.find(consumer);
  if (known != numbers_.end()) return known->second;
  auto number = access_.facets.records->consumer(consumer);
  if (number) numbers_.emplace(consumer, *number);
  return number;
}

std::string query_text(const LetterQuery& query, std::string_view where) {
  std::vector<std::string> parts;
  if (!query.consumer.empty()) parts.push_back("consumer=" + query.consumer);
  if (!query.reason.empty()) parts.push_back("reason=" + query.reason);
  if (!where.empty()) parts.emplace_back(where);
  if (query.replayed) parts.emplace_back("replayed");
  return parts.empty() ? "all" : fmt::format("{}", fmt::join(parts, " and "));
}

Result<LetterWalk> walk_letters(const StoreAccess& access, const LetterQuery& query,
                                const std::function<void(const DeadLetter&)>& see) {
  return Walk(access, query).run(see);
}

// Stores list from the oldest on: the end is found by halving, with few short lists.
Result<std::int64_t> last_letter(const StoreAccess& access) {
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  DeadLetterFilter filter;
  filter.limit = 1;
  std::int64_t last = 0;        // a letter that is there
  std::int64_t end = kHighest;  // there is none above it
  for (bool ended = false; last < end;) {
    filter.after = ended ? last + (end - last) / 2 : last * 2;
    const auto page = access.facets.dead_letters->list(filter);
    if (!page) return failure(page.error());
    if (page->empty()) {
      end = filter.after;
      ended = true;
    } else {
      last = page->front().id;
      ended = ended || last > kHighest / 2;
    }
  }
  return last;
}

Result<LetterGroups> group_letters(const StoreAccess& access, const LetterQuery& query,
                                   std::size_t most) {
  std::map<std::tuple<std::string, std::string, std::string>, LetterGroup> groups;
  LetterGroups made;
  auto walk = walk_letters(access, query, [&](const DeadLetter& letter) {
    const std::string cause(cause_of(letter.reason, letter.error));
    const auto key = std::make_tuple(letter.consumer, letter.reason, cause);
    auto found = groups.find(key);
    if (found == groups.end()) {
      if (groups.size() == most) {
        ++made.ungrouped;
        return;
      }
      found = groups.emplace(key, LetterGroup()).first;
      std::tie(found->second.consumer, found->second.reason, found->second.cause) = key;
    }
    add_letter(found->second, letter);
  });
  if (!walk) return failure(std::move(walk.error()));
  made.walk = *walk;
  for (auto& [key, group] : groups) made.groups.push_back(std::move(group));
  std::ranges::stable_sort(made.groups, std::greater<>(), &LetterGroup::count);
  return made;
}

}  // namespace semel::operate
