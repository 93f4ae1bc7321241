#include "stores/redis/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "base/printable.h"
#include "stores/redis/cluster_letters.h"
#include "stores/redis/held_rows.h"
#include "stores/redis/journal.h"
#include "stores/redis/record.h"
#include "stores/redis/record_view.h"
#include "stores/redis/scan.h"
#include "stores/redis/store_context.h"

namespace semel::redis {
namespace {

std::string hex_of(BytesView bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// A record's flag: a row is held for it.
constexpr char kHasHeldRow = 2;

class Verify {
 public:
  Verify(StoreContext& context, InspectorScripts& scripts, bool full)
      : context_(context),
        router_(context.router),
        names_(context.names),
        scripts_(scripts),
        full_(full) {}

  std::vector<StoreFinding> run() {
    look_at_consumers();
    each_name(router_, names_, [&](std::span<const std::string> page) {
      std::vector<std::string> records;
      for (const std::string& name : page) {
        if (names_.id_of(name)) records.push_back(name);
      }
      look_at(records);
    });
    if (full_) look_at_rows();
    return std::move(findings_);
  }

 private:
  void wrong(std::string what, std::string where, std::string detail) {
    findings_.push_back({true, std::move(what), std::move(where), std::move(detail)});
  }

  // Data cut off in the middle of a part would look damaged.
  BytesView whole_part(const Bytes& bytes) const {
    const bool consuming = bytes.size() > 1 && bytes[1] == 'C';
    return full_ || consuming ? BytesView(bytes) : BytesView(bytes).substr(0, kHead);
  }

  // The two hashes of consumers must agree.
  void look_at_consumers() {
    const Reply known = router_.ask({"HGETALL", names_.consumers}, Loss::kNothingDone);
    const Reply given = router_.ask({"HGETALL", names_.numbers}, Loss::kNothingDone);
    std::map<std::string, std::string> owners;
    for (std::size_t i = 0; i + 1 < given.list.size(); i += 2) {
      owners[given.list[i].bytes] = given.list[i + 1].bytes;
    }
    for (std::size_t i = 0; i + 1 < known.list.size(); i += 2) {
      const std::string& name = known.list[i].bytes;
      const auto number = static_cast<std::uint32_t>(number_in(known.list[i + 1].bytes));
      const auto owner = owners.find(std::to_string(number));
      numbers_.insert({ConsumerNumber{number}, name});
      if (owner != owners.end() && owner->second == name) continue;
      wrong("consumer.number", name,
            fmt::format("its number {} is {}", number,
                        owner == owners.end() ? "nobody's" : owner->second + "'s"));
    }
  }

  void look_at(const std::vector<std::string>& records) {
    constexpr std::size_t kFlags = 2;
    const std::vector<Reply> bytes =
        beginnings(router_, records, full_ ? -1 : static_cast<int>(kNonceEnd) - 1);
    std::vector<std::string> unfinished, waiting;
    for (std::size_t i = 0; i < records.size(); ++i) {
      const KeyId id = *names_.id_of(records[i]);
      const std::string where = hex_of(id.view());
      if (bytes[i].is_error()) {
        wrong("record.unreadable", where, failure_of(bytes[i]).error().message);
        continue;
      }
      if (bytes[i].bytes.empty()) continue;  // it was removed meanwhile
      if (!numbers_.contains(id.consumer())) {
        wrong("record.consumer_missing", where,
              fmt::format("it belongs to consumer {}, and there is none of that number",
                          static_cast<std::uint32_t>(id.consumer())));
      }
      try {
        const auto record = decoded(whole_part(bytes[i].bytes));
        if (full_) journal_in(bytes[i].bytes);
        const bool stays =
            record.state != RecordState::kCompleted && record.state != RecordState::kDead;
        if (stays) unfinished.push_back(records[i]);
        if ((bytes[i].bytes[kFlags] & kHasHeldRow) != 0) waiting.push_back(records[i]);
      } catch (const core::Failure& damaged) {
        wrong("record.unreadable", where, damaged.error().message);
      }
    }
    if (!full_) return;
    look_at_expiries(unfinished);
    look_for_rows(waiting);
  }

  // An unfinished record that expires would be forgotten while it is worked on.
  void look_at_expiries(const std::vector<std::string>& unfinished) {
    std::vector<Question> questions;
    for (const std::string& name : unfinished) {
      questions.push_back({name, {"PTTL", name}});
      questions.push_back({name, {"GETRANGE", name, "0", "1"}});
    }
    const std::vector<Reply> told = router_.ask_all(questions, Loss::kNothingDone);
    for (std::size_t i = 0; i < unfinished.size(); ++i) {
      const Reply& left = told[2 * i];
      const Bytes& now = told[2 * i + 1].bytes;
      const bool still =
          is_unfinished(now, std::nullopt) && !is_unfinished(now, RecordState::kDead);
      if (left.is_error() || left.number < 0 || !still) continue;
      wrong("record.expires", hex_of(names_.id_of(unfinished[i])->view()),
            fmt::format("it is not finished, and would be forgotten in {} ms", left.number));
    }
  }

  // Each call begins with the prefix.
  Reply run(Script& script, const Call& call) {
    return context_.run_one(script, call, Loss::kNothingDone);
  }

  void tell_of_missing(const std::string& record) {
    wrong("record.held_missing", hex_of(names_.id_of(record)->view()),
          "its message is kept, as it says, and is not there");
  }

  // A row may be removed, and its record updated, between two looks at them.
  void look_for_rows_elsewhere(const std::vector<std::string>& records) {
    std::map<ConsumerNumber, std::vector<std::string>> by_consumer;
    for (const std::string& record : records) {
      by_consumer[names_.id_of(record)->consumer()].push_back(record);
    }
    for (const auto& [consumer, its] : by_consumer) {
      Call call;
      call.keys = {names_.last_row(consumer)};
      call.arguments = {names_.prefix};
      for (const std::string& record : its) {
        call.arguments.push_back(names_.id_of(record)->view());
      }
      const Bytes letters = run(scripts_.check_linked, call).bytes;
      for (std::size_t i = 0; i < its.size(); ++i) {
        if (letters.at(i) == 'H' && still_says_so(its[i])) tell_of_missing(its[i]);
      }
    }
  }

  bool still_says_so(const std::string& record) {
    const Bytes flags = router_.ask({"GETRANGE", record, "2", "2"}, Loss::kNothingDone).bytes;
    return !flags.empty() && (flags.front() & kHasHeldRow) != 0;
  }

  // A record with the flag for a held message must have that row.
  void look_for_rows(const std::vector<std::string>& records) {
    if (names_.cluster) return look_for_rows_elsewhere(records);
    for (std::size_t first = 0; first < records.size(); first += kMostKeys) {
      Call call;
      call.keys.assign(records.begin() + static_cast<std::ptrdiff_t>(first),
                       records.begin() + static_cast<std::ptrdiff_t>(
                                             std::min(first + kMostKeys, records.size())));
      call.arguments = {names_.prefix};
      const Bytes letters = run(scripts_.check_held, call).bytes;
      for (std::size_t i = 0; i < letters.size(); ++i) {
        if (letters[i] == 'H') tell_of_missing(records[first + i]);
      }
    }
  }

  // Each held message must be complete, and findable when it is due.
  void look_at_rows() {
    for (const auto& [number, name] : numbers_) {
      for (unsigned lane = 0; lane < kLanes; ++lane) look_at_lane(number, name, lane);
    }
  }

  void look_at_lane(ConsumerNumber number, const std::string& name, unsigned lane) {
    const std::string consumer = std::to_string(static_cast<std::uint32_t>(number));
    const std::string heads = names_.lane(number, lane) + "m";
    std::string cursor = "0";
    do {
      Reply page = router_.ask({"HSCAN", heads, cursor, "COUNT", "256"}, Loss::kNothingDone);
      cursor = page.list.at(0).bytes;
      Call call;
      call.keys = {heads};
      call.arguments = {names_.prefix, consumer, std::to_string(lane)};
      const auto& fields = page.list.at(1).list;
      for (std::size_t i = 0; i < fields.size(); i += 2) call.arguments.push_back(fields[i].bytes);
      const Bytes letters = run(scripts_.check_rows, call).bytes;
      for (std::size_t i = 0; i < letters.size(); ++i) {
        if (letters[i] == '-') continue;
        const bool body = letters[i] == 'B';
        wrong(body ? "held.payload_missing" : "held.unreachable",
              fmt::format("{} row {}", name, call.arguments[i + 3]),
              body ? "its payload is not there" : "it is kept, and nothing would ever find it");
      }
      if (names_.cluster) look_at_parked(name, heads, fields);
    } while (cursor != "0");
  }

  // A failover may lose a record on its node, and not the row on another's. `rows`: numbers and
  // heads.
  void look_at_parked(const std::string& consumer, const std::string& heads,
                      const std::vector<Reply>& rows) {
    for (std::size_t i = 0; i + 1 < rows.size(); i += 2) {
      const auto id = parked_for(rows[i + 1].bytes);
      if (!id) continue;
      const std::string record = names_.record(*id);
      // C: a person is deciding its outcome, or was.
      const Bytes state = router_.ask({"GETRANGE", record, "1", "1"}, Loss::kNothingDone).bytes;
      if (state == "P" || state == "C") continue;
      // It may have been opened meanwhile.
      const Bytes& number = rows[i].bytes;
      if (!parked_for(router_.ask({"HGET", heads, number}, Loss::kNothingDone).bytes)) continue;
      const auto row = linked_row(context_, *id);
      wrong("held.parked_alone", fmt::format("{} row {}", consumer, number),
            fmt::format("it is parked, and its record is not: nothing brings it back, but semel "
                        "records unlock \"{}\"",
                        row ? printable_text(row->view.key) : ""));
    }
  }

  // In the format of a head in held_rows.h.
  static std::optional<KeyId> parked_for(const Bytes& head) {
    constexpr std::size_t kHeadFlags = 1, kHeadRecord = 52;
    constexpr char kParked = 8;
    KeyId id;
    if (head.size() < kHeadRecord + id.bytes.size()) return std::nullopt;
    if ((head[kHeadFlags] & kParked) == 0) return std::nullopt;
    std::copy_n(head.begin() + kHeadRecord, id.bytes.size(), id.bytes.begin());
    return id == KeyId{} ? std::nullopt : std::optional(id);
  }

  StoreContext& context_;
  Router& router_;
  const Names& names_;
  InspectorScripts& scripts_;
  const bool full_;
  std::vector<StoreFinding> findings_;
  std::map<ConsumerNumber, std::string> numbers_;
};

}  // namespace

std::vector<StoreFinding> verify_in(StoreContext& context, InspectorScripts& scripts, bool full) {
  return Verify(context, scripts, full).run();
}

}  // namespace semel::redis
