#include "stores/redis/dead_letters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "stores/redis/byte_reader.h"
#include "stores/redis/cluster_letters.h"
#include "stores/redis/letter.h"
#include "stores/redis/parts.h"

namespace semel::redis {
namespace {

// 0 where it is none.
std::int64_t number_in_text(BytesView text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

class Letters final : public DeadLetters {
 public:
  explicit Letters(StoreContext& context) : context_(context) {}

  Result<std::vector<DeadLetter>> list(const DeadLetterFilter& filter) override {
    return core::contained([&] { return list_now(filter); });
  }
  Result<std::optional<DeadLetter>> show(std::int64_t id) override {
    return core::contained([&]() -> std::optional<DeadLetter> {
      DeadLetterFilter filter;
      filter.after = id - 1;
      filter.limit = 1;
      filter.payloads = true;
      auto letters = list_now(filter);
      if (letters.empty() || letters.front().id != id) return std::nullopt;
      return std::move(letters.front());
    });
  }
  Result<ReplayReport> replay(std::span<const std::int64_t> ids) override {
    return core::contained([&] {
      ReplayReport report;
      if (context_.names.cluster) {
        replay_each_on_cluster(ids, report);
        return report;
      }
      std::vector<std::int64_t> left(ids.begin(), ids.end());
      for (int look = 0; !left.empty(); ++look) {
        if (look == kLooks) never_stands_still();
        left = replay_now(left, report);
      }
      return report;
    });
  }
  Result<std::size_t> discard(std::span<const std::int64_t> ids) override {
    return core::contained([&] {
      let_records_expire(ids);
      std::size_t count = 0;
      for (const Reply& reply :
           context_.run(context_.scripts.discard, about_each(ids), Loss::kInDoubt)) {
        count += static_cast<std::size_t>(reply.number);
      }
      return count;
    });
  }
  Result<Edited> edit(const LetterEdit& edit) override {
    return core::contained([&] {
      context_.need_room(bytes_of(edit.payload, edit.headers));
      return context_.names.cluster ? edit_on_cluster(context_, edit) : edit_now(edit);
    });
  }
  Result<bool> replaces(const KeyId& record, BytesView, const Fingerprint& now,
                        const Fingerprint& original) override {
    return core::contained([&] {
      Call call = about_none();
      for (const BytesView part : {record.view(), now.view(), original.view()}) {
        call.arguments.push_back(part);
      }
      return context_.run_one(context_.scripts.replaces, call, Loss::kNothingDone).number == 1;
    });
  }
  Result<AddReport> add(std::span<const ForeignLetter> letters) override {
    return core::contained([&] { return add_now(letters); });
  }
  Result<ExpiryReport> expire(std::span<const LetterLife> lives, std::int64_t after,
                              std::size_t most) override {
    return core::contained([&] { return expire_now(lives, after, most); });
  }

 private:
  void replay_each_on_cluster(std::span<const std::int64_t> ids, ReplayReport& report);
  Call about_none() const {
    Call call;
    call.keys = {context_.names.letters};
    call.arguments = {context_.names.prefix};
    return call;
  }
  std::vector<Call> about_each(std::span<const std::int64_t> ids) const {
    std::vector<Call> calls;
    for (std::size_t first = 0; first < ids.size(); first += kMostKeys) {
      Call& call = calls.emplace_back(about_none());
      for (const std::int64_t id : ids.subspan(first, std::min(kMostKeys, ids.size() - first))) {
        call.arguments.push_back(std::to_string(id));
      }
    }
    return calls;
  }
  std::vector<DeadLetter> list_now(const DeadLetterFilter& filter);
  std::vector<std::string> records_of(std::span<const std::int64_t> ids);
  void let_records_expire(std::span<const std::int64_t> letters);
  std::vector<std::int64_t> replay_now(std::span<const std::int64_t> ids, ReplayReport& report);
  Edited edit_now(const LetterEdit& edit);
  AddReport add_now(std::span<const ForeignLetter> letters);

  // A letter that may be past its time, and the index of its consumer's life.
  struct Aged {
    std::int64_t id = 0;
    std::size_t life = 0;
  };
  ExpiryReport expire_now(std::span<const LetterLife> lives, std::int64_t after, std::size_t most);
  std::vector<Aged> past_of(std::span<const Aged> letters, std::span<const LetterLife> lives,
                            bool remove);

  StoreContext& context_;
};

std::vector<DeadLetter> Letters::list_now(const DeadLetterFilter& filter) {
  std::vector<DeadLetter> letters;
  std::map<std::uint32_t, std::string> names;
  Bytes wanted;
  for (const auto& [name, number] : known_consumers(context_)) {
    names[static_cast<std::uint32_t>(number)] = name;
    if (filter.consumer == name) wanted = std::to_string(static_cast<std::uint32_t>(number));
  }
  if (filter.consumer && wanted.empty()) return letters;
  Bytes after = std::to_string(filter.after);
  while (letters.size() < filter.limit && !after.empty()) {
    Call call = about_none();
    call.arguments.push_back(after);
    call.arguments.push_back(std::to_string(filter.limit - letters.size()));
    call.arguments.push_back(wanted);
    call.arguments.push_back(filter.reason ? "1" + *filter.reason : Bytes());
    call.arguments.push_back(filter.payloads ? "1" : "0");
    const Reply reply = context_.run_one(context_.scripts.list_letters, call, Loss::kNothingDone);
    for (std::size_t i = 1; i + 3 < reply.list.size(); i += 4) {
      Letter letter =
          letter_of(reply.list[i + 1].bytes, reply.list[i + 2].bytes, reply.list[i + 3].bytes);
      letter.told.id = number_in_text(reply.list[i].bytes);
      letter.told.consumer = names[static_cast<std::uint32_t>(letter.consumer)];
      letters.push_back(std::move(letter.told));
    }
    after = reply.list.at(0).bytes;
  }
  return letters;
}

// The names of their records; for a letter that is missing or has none, any name.
std::vector<std::string> Letters::records_of(std::span<const std::int64_t> ids) {
  std::vector<std::string> names;
  const auto calls = about_each(ids);
  for (const Reply& reply :
       context_.run(context_.scripts.letter_heads, calls, Loss::kNothingDone)) {
    for (const Reply& head : reply.list) {
      std::optional<KeyId> record;
      if (head.kind == Reply::Kind::kBytes) record = record_in(head.bytes);
      names.push_back(record ? context_.names.record(*record) : context_.names.letters);
    }
  }
  return names;
}

// Before the letters go: a crash in between leaves letters that can be removed again. A replay of
// such a letter takes the expiry away.
void Letters::let_records_expire(std::span<const std::int64_t> letters) {
  if (letters.empty()) return;
  const Reply kept = context_.router.ask({"HGETALL", context_.names.ttls}, Loss::kNothingDone);
  std::map<Bytes, Bytes> ttls;  // by the consumer's number
  for (std::size_t i = 0; i + 1 < kept.list.size(); i += 2) {
    ttls[kept.list[i].bytes] = kept.list[i + 1].bytes;
  }
  Parts parts(context_);
  for (const Reply& reply :
       context_.run(context_.scripts.letter_heads, about_each(letters), Loss::kNothingDone)) {
    for (const Reply& head : reply.list) {
      if (head.kind != Reply::Kind::kBytes) continue;
      const Letter letter = letter_in(head.bytes);
      if (!letter.record) continue;
      const auto number = static_cast<std::uint32_t>(letter.record->consumer());
      const auto ttl = ttls.find(std::to_string(number));
      if (ttl == ttls.end() || ttl->second.empty()) continue;
      Call& call = parts.add_record(*letter.record, 0, [](Call&) {});
      call.keys.push_back(context_.names.record(*letter.record));
      call.arguments.push_back(letter.told.fingerprint.view());
      call.arguments.push_back(ttl->second);
    }
  }
  context_.run(context_.scripts.let_expire, parts.calls(), Loss::kNothingDone);  // idempotent
}

// Returns those that must be looked at again.
std::vector<std::int64_t> Letters::replay_now(std::span<const std::int64_t> ids,
                                              ReplayReport& report) {
  const std::vector<std::string> records = records_of(ids);
  std::vector<Call> calls = about_each(ids);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto first = records.begin() + static_cast<std::ptrdiff_t>(i * kMostKeys);
    calls[i].keys.assign(first, first + static_cast<std::ptrdiff_t>(calls[i].arguments.size() - 1));
  }
  std::vector<std::int64_t> again;
  std::size_t at = 0;
  for (const Reply& reply : context_.run(context_.scripts.replay, calls, Loss::kInDoubt)) {
    for (const char said : reply.bytes) {
      if (said == 'Y') report.note(ids[at], ReplayReport::Result::kReplayed);
      if (said == 'D') report.note(ids[at], ReplayReport::Result::kSkippedCompleted);
      if (said == 'C') report.note(ids[at], ReplayReport::Result::kSkippedConflict);
      if (said == 'M') report.note(ids[at], ReplayReport::Result::kMissing);
      if (said == 'A') again.push_back(ids[at]);
      ++at;
    }
  }
  return again;
}

// An error hides the report: once some are replayed it must say that they may be.
void Letters::replay_each_on_cluster(std::span<const std::int64_t> ids, ReplayReport& report) {
  for (const std::int64_t id : ids) {
    try {
      report.note(id, replay_on_cluster(context_, id));
    } catch (const core::Failure& failed) {
      if (report.replayed == 0) throw;
      Error error = failed.error();
      error.kind = ErrorKind::kInDoubt;
      core::fail(std::move(error), failed.code());
    }
  }
}

Edited Letters::edit_now(const LetterEdit& edit) {
  for (int look = 0; look < kLooks; ++look) {
    Call call = about_none();
    const std::vector<std::string> records = records_of({&edit.id, 1});
    call.keys.assign(records.begin(), records.end());
    call.arguments.push_back(std::to_string(edit.id));
    call.arguments.push_back(edit.before.view());
    call.arguments.push_back(edit.fingerprint.view());
    call.arguments.push_back(content_of(edit.headers_before, edit.payload_before));
    call.arguments.push_back(content_of(edit.headers, edit.payload));
    const Reply reply = context_.run_one(context_.scripts.edit, call, Loss::kInDoubt);
    if (reply.bytes != "again") return edited_of(reply.bytes);
  }
  never_stands_still();
}

AddReport Letters::add_now(std::span<const ForeignLetter> letters) {
  const auto known = known_consumers(context_);
  std::vector<Call> calls;
  std::size_t bytes = 0;
  for (const ForeignLetter& foreign : letters) {
    const auto consumer = known.find(foreign.letter.consumer);
    if (consumer == known.end()) {
      core::fail({ErrorKind::kRejected, "",
                  fmt::format("the store knows no consumer \"{}\"", foreign.letter.consumer),
                  "semel store init makes the consumers of the config known"});
    }
    if (calls.empty() || bytes > kMostBytes || calls.back().arguments.size() > kMostKeys) {
      calls.push_back(about_none());
      bytes = 0;
    }
    context_.need_room(bytes_of(foreign.letter.payload, foreign.letter.headers));
    Bytes body;
    append_sized(body, origin_of(foreign.letter));
    body += content_of(foreign.letter.headers, foreign.letter.payload);
    bytes += body.size();
    calls.back().arguments.push_back(head_of(letter_of(foreign, consumer->second)));
    calls.back().arguments.push_back(body);
  }
  AddReport report;
  for (const Reply& reply : context_.run(context_.scripts.add, calls, Loss::kInDoubt)) {
    report.added += static_cast<std::size_t>(reply.number);
  }
  report.present = letters.size() - report.added;
  return report;
}

ExpiryReport Letters::expire_now(std::span<const LetterLife> lives, std::int64_t after,
                                 std::size_t most) {
  Call call = about_none();
  for (const Bytes& word :
       {std::to_string(after), std::to_string(most), Bytes(), Bytes(), Bytes("0")}) {
    call.arguments.push_back(word);
  }
  const Reply page = context_.run_one(context_.scripts.list_letters, call, Loss::kNothingDone);
  ExpiryReport report{std::vector<std::size_t>(lives.size()),
                      number_in_text(page.list.at(0).bytes)};
  std::vector<Aged> letters;
  std::size_t seen = 0;
  for (std::size_t i = 1; i + 3 < page.list.size(); i += 4) {
    const std::int64_t id = number_in_text(page.list[i].bytes);
    if (++seen == most) report.next = id;
    const Letter letter = letter_of(page.list[i + 1].bytes, page.list[i + 2].bytes, {});
    const auto life = std::ranges::find(lives, letter.consumer, &LetterLife::consumer);
    if (life != lives.end())
      letters.push_back({id, static_cast<std::size_t>(life - lives.begin())});
  }
  std::vector<Aged> past = past_of(letters, lives, false);
  // A replay that begins after this look holds a copy with a payload of its own.
  if (context_.names.cluster) {
    std::erase_if(past, [&](const Aged& one) { return in_hand_on_cluster(context_, one.id); });
  }
  std::vector<std::int64_t> ids;
  for (const Aged& one : past) ids.push_back(one.id);
  let_records_expire(ids);
  for (const Aged& removed : past_of(past, lives, true)) ++report.removed[removed.life];
  return report;
}

std::vector<Letters::Aged> Letters::past_of(std::span<const Aged> letters,
                                            std::span<const LetterLife> lives, bool remove) {
  std::vector<Aged> past;
  while (!letters.empty()) {
    const auto part = letters.first(std::min(kMostKeys, letters.size()));
    letters = letters.subspan(part.size());
    std::vector<std::int64_t> ids;
    for (const Aged& one : part) ids.push_back(one.id);
    Call call = about_none();
    const bool asks_records = remove && !context_.names.cluster;
    const auto keys = asks_records ? records_of(ids)
                                   : std::vector<std::string>(ids.size(), context_.names.letters);
    call.keys.assign(keys.begin(), keys.end());
    call.arguments.push_back(remove ? "1" : "0");
    for (const Aged& one : part) {
      call.arguments.push_back(std::to_string(one.id));
      call.arguments.push_back(std::to_string(lives[one.life].kept_for.count()));
    }
    const Loss loss = remove ? Loss::kInDoubt : Loss::kNothingDone;
    const Reply reply = context_.run_one(context_.scripts.expire, call, loss);
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (reply.bytes.at(i) == '1') past.push_back(part[i]);
    }
  }
  return past;
}

}  // namespace

[[noreturn]] void never_stands_still() {
  core::fail({ErrorKind::kUnavailable, "R200", "a dead letter changes all the time", {}});
}

Edited edited_of(BytesView word) {
  constexpr std::pair<BytesView, Edited> kWords[] = {{"yes", Edited::kYes},
                                                     {"missing", Edited::kMissing},
                                                     {"moved", Edited::kMoved},
                                                     {"twin", Edited::kTwin},
                                                     {"completed", Edited::kCompleted},
                                                     {"busy", Edited::kBusy},
                                                     {"conflict", Edited::kConflict},
                                                     {"unknown", Edited::kUnknownOutcome}};
  for (const auto& [known, edited] : kWords) {
    if (word == known) return edited;
  }
  core::fail({ErrorKind::kUnavailable, "R200", "the server gave an answer of no meaning", {}});
}

std::unique_ptr<DeadLetters> make_dead_letters(StoreContext& context) {
  return std::make_unique<Letters>(context);
}

bool unlock_record(StoreContext& context, const KeyId& id, const std::optional<Bytes>& note) {
  if (context.names.cluster) return unlock_on_cluster(context, id, note);
  Call call;
  call.keys = {context.names.record(id)};
  call.arguments = {context.names.prefix};
  if (note) call.arguments.push_back(*note);
  return context.run_one(context.scripts.unlock, call, Loss::kInDoubt).number == 1;
}

std::map<std::string, ConsumerNumber> known_consumers(StoreContext& context) {
  const Reply reply = context.router.ask({"HGETALL", context.names.consumers}, Loss::kNothingDone);
  std::map<std::string, ConsumerNumber> consumers;
  for (std::size_t i = 0; i + 1 < reply.list.size(); i += 2) {
    ByteReader cut(reply.list[i + 1].bytes);
    consumers[reply.list[i].bytes] = ConsumerNumber{static_cast<std::uint32_t>(cut.number(4))};
  }
  return consumers;
}

}  // namespace semel::redis
