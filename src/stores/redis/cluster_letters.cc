#include "stores/redis/cluster_letters.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/failpoints.h"
#include "stores/redis/byte_reader.h"
#include "stores/redis/cluster_script.h"
#include "stores/redis/dead_letters.h"
#include "stores/redis/finisher.h"
#include "stores/redis/letter.h"
#include "stores/redis/record.h"

namespace semel::redis {
namespace {

// A copy left behind by a crash becomes visible after this long, and meets its record.
constexpr const char* kHiddenMs = "30000";
constexpr char kRowFlag = 2;
constexpr std::size_t kFlags = 2;
constexpr std::size_t kTokenAt = 7;
constexpr std::size_t kTokenLength = 7;
// A flag in the head of a row.
constexpr std::int64_t kParkedRow = 8;

struct Kept {
  Bytes head, origin, content;
};

std::optional<Kept> read_letter(StoreContext& context, BytesView number) {
  const std::string name = context.names.of_store("letter:" + std::string(number));
  Reply reply = context.router.ask({"HMGET", name, "m", "o", "b"}, Loss::kNothingDone);
  if (reply.list.at(0).kind == Reply::Kind::kNil) return std::nullopt;
  return Kept{reply.list[0].bytes, reply.list[1].bytes, reply.list[2].bytes};
}

// The first bytes of a record; empty where there is none. Throws where it cannot be read.
Bytes head_of_record(StoreContext& context, const std::string& name) {
  const std::string last = std::to_string(kHead - 1);
  Bytes head = context.router.ask({"GETRANGE", name, "0", last}, Loss::kNothingDone).bytes;
  if (head.empty()) return head;
  if (head.size() != kHead || !is_known_format(head.front())) decoded(head);
  return head;
}

char state_in(const Bytes& head) { return head[1]; }
BytesView print_in(const Bytes& head) { return BytesView(head).substr(26, 16); }

Call about_rows(const StoreContext& context, ConsumerNumber consumer) {
  Call call;
  call.keys = {context.names.last_row(consumer)};
  call.arguments = {context.names.prefix};
  return call;
}

// Returns how many rows were dropped, hidden or unparked.
std::int64_t settle(StoreContext& context, ConsumerNumber consumer, const std::vector<Bytes>& how) {
  Call call = about_rows(context, consumer);
  for (const Bytes& word : how) call.arguments.push_back(word);
  return context.run_one(context.on_cluster->settle, call, Loss::kInDoubt).list.at(0).number;
}

bool unpark(StoreContext& context, const KeyId& id) {
  return settle(context, id.consumer(), {"unpark", Bytes(id.view()), {}, "0"}) > 0;
}

// Returns the row in the format of ack_of().
Bytes hold_copy(StoreContext& context, const Kept& kept, const char* hidden, BytesView record) {
  const ConsumerNumber consumer = letter_of(kept.head, kept.origin, {}).consumer;
  Call call = about_rows(context, consumer);
  const Bytes no_headers(4, '\0');
  for (const Bytes& part :
       {kept.head, kept.origin, kept.content.empty() ? no_headers : kept.content, Bytes(hidden),
        Bytes(record)}) {
    call.arguments.push_back(part);
  }
  const Reply reply = context.run_one(context.on_cluster->copy, call, Loss::kInDoubt);
  RowPlace place;
  place.consumer = static_cast<std::uint32_t>(consumer);
  place.lane = static_cast<unsigned>(reply.list.at(0).number);
  place.number = std::stoull(reply.list.at(1).bytes);
  return ack_of(place);
}

void count_replay(StoreContext& context, const Bytes& letter) {
  Call call;
  call.keys = {context.names.letters};
  call.arguments = {context.names.prefix, letter};
  context.run_one(context.on_cluster->count_replay, call, Loss::kInDoubt);
}

bool reopen(StoreContext& context, const std::string& name, const Bytes& head, bool held,
            const Bytes* note) {
  Call call;
  call.keys = {name};
  call.arguments = {head, held ? "1" : "0"};
  if (note != nullptr) call.arguments.push_back(*note);
  return context.run_one(context.on_cluster->reopen, call, Loss::kInDoubt).number == 1;
}

// The row becomes visible before the record is due: a delivery that finds the record parked parks
// the row again, and it becomes visible when the record is written.
bool reopen_parked(StoreContext& context, const KeyId& id, const std::string& name,
                   const Bytes& head, const Bytes* note) {
  bool held = false;
  if (head[kFlags] >= kRowFlag) {
    Call call = about_rows(context, id.consumer());
    call.arguments.push_back(id.view());
    call.arguments.push_back(BytesView());
    held = !context.run_one(context.on_cluster->bodies, call, Loss::kNothingDone)
                .list.at(0)
                .bytes.empty();
  }
  if (held) settle(context, id.consumer(), {"show", Bytes(id.view()), {}, {}});
  failpoint::hit(context.environment, failpoint::kKept);
  if (!reopen(context, name, head, held, note)) return false;
  if (held) unpark(context, id);
  return true;
}

// The letter of a dead record, and its number, which is empty where there is none. `known`: the
// letter, if its caller has read it. It may be removed meanwhile, and has the only payload.
struct FoundLetter {
  std::optional<Kept> kept;
  Bytes number;
};
FoundLetter letter_for(StoreContext& context, const KeyId& id, const Bytes& head,
                       const Kept* known) {
  const std::string ids = context.names.of_store("letter-ids");
  const Bytes field = "k" + Bytes(id.view()) + Bytes(print_in(head));
  FoundLetter found;
  found.number = context.router.ask({"HGET", ids, field}, Loss::kNothingDone).bytes;
  if (!found.number.empty()) found.kept = read_letter(context, found.number);
  if (!found.kept && known != nullptr) found.kept = *known;
  return found;
}

// A slow unlock may find that its row has shown, met the dead record and gone.
bool reopen_dead(StoreContext& context, const KeyId& id, const std::string& name, const Bytes& head,
                 const Bytes* note, const Kept* known) {
  const auto [kept, letter] = letter_for(context, id, head, known);
  if (!kept) return reopen(context, name, head, false, note);
  const Bytes row = hold_copy(context, *kept, kHiddenMs, id.view());
  failpoint::hit(context.environment, failpoint::kKept);
  if (!reopen(context, name, head, true, note)) {
    settle(context, id.consumer(), {"go", {}, row, {}});
    return false;
  }
  failpoint::hit(context.environment, failpoint::kRecorded);
  if (settle(context, id.consumer(), {"wait", {}, row, "0"}) == 0) {
    hold_copy(context, *kept, "0", id.view());
  }
  if (!letter.empty()) count_replay(context, letter);
  return true;
}

bool is_of_token(const Bytes& head, const SeenRecord& seen) {
  return seen.token == head.substr(kTokenAt, kTokenLength);
}

bool is_seen(const Bytes& head, const SeenRecord& seen) {
  return seen.state == Bytes(1, state_in(head)) && is_of_token(head, seen);
}

// It was seen closed, and no attempt has begun since.
bool was_unlocked_as(const Bytes& head, const SeenRecord& seen) {
  return seen.state != Bytes(1, state_in(head)) && is_of_token(head, seen);
}

// An earlier unlock may have stopped between the record and its row: the row is parked still, or,
// where the record was dead, has met it and gone.
bool reopen_row(StoreContext& context, const KeyId& id, const Bytes& head, const Kept* known) {
  if (head[kFlags] < kRowFlag) return false;
  if (unpark(context, id)) return true;
  if (linked_row(context, id)) return false;
  const auto [kept, letter] = letter_for(context, id, head, known);
  if (!kept) return false;
  hold_copy(context, *kept, "0", id.view());
  return true;
}

// nullopt where it changed meanwhile.
std::optional<bool> try_to_unlock(StoreContext& context, const KeyId& id, const Bytes* note,
                                  const Kept* letter, const SeenRecord* seen) {
  const std::string name = context.names.record(id);
  const Bytes head = head_of_record(context, name);
  // A parked row whose record is gone comes back as a new message.
  if (head.empty()) {
    const bool any = seen == nullptr || seen->state == "P";
    return any && note == nullptr && unpark(context, id);
  }
  const char state = state_in(head);
  if (state == 'R') {
    if (seen != nullptr && !was_unlocked_as(head, *seen)) return false;
    return reopen_row(context, id, head, letter);
  }
  if (state != 'P' && state != 'X') return false;
  if (seen != nullptr && !is_seen(head, *seen)) return false;
  const bool done = state == 'P' ? reopen_parked(context, id, name, head, note)
                                 : reopen_dead(context, id, name, head, note, letter);
  return done ? std::optional(true) : std::nullopt;
}

bool unlock_with(StoreContext& context, const KeyId& id, const Bytes* note, const Kept* letter,
                 const SeenRecord* seen = nullptr) {
  for (int look = 0; look < kLooks; ++look) {
    if (const auto done = try_to_unlock(context, id, note, letter, seen)) return *done;
  }
  never_stands_still();
}

// Why the record forbids the edit; nullopt where it does not.
std::optional<Edited> refused_by(const Bytes& head, const LetterEdit& edit) {
  if (head.empty()) return std::nullopt;
  if (state_in(head) == 'D') return Edited::kCompleted;
  const bool known = edit.before != Fingerprint{};
  // The new one: an earlier edit stopped between the record and the letter.
  const bool begun = print_in(head) == edit.fingerprint.view();
  if (known && !begun && print_in(head) != edit.before.view()) return Edited::kConflict;
  if (state_in(head) != 'X') return Edited::kBusy;
  if ((head[kFlags] & 1) != 0) return Edited::kUnknownOutcome;
  return std::nullopt;
}

bool set_print(StoreContext& context, const std::string& record, const Bytes& head,
               BytesView print) {
  Call call;
  call.keys = {record};
  call.arguments = {head, Bytes(print)};
  return context.run_one(context.on_cluster->print, call, Loss::kInDoubt).number == 1;
}

// nullopt where its record changed meanwhile.
std::optional<Edited> try_to_edit(StoreContext& context, const LetterEdit& edit) {
  Call call;
  call.keys = {context.names.letters};
  call.arguments = {context.names.prefix, std::to_string(edit.id), edit.before.view(),
                    edit.fingerprint.view(), content_of(edit.headers_before, edit.payload_before)};
  const Loss look = Loss::kNothingDone;
  const Edited would = edited_of(context.run_one(context.on_cluster->edit, call, look).bytes);
  const auto kept = read_letter(context, call.arguments[1]);
  if (would != Edited::kYes || !kept) return would == Edited::kYes ? Edited::kMissing : would;
  const auto id = record_in(kept->head);
  std::string record;
  Bytes head;
  if (id) {
    record = context.names.record(*id);
    head = head_of_record(context, record);
    if (const auto refused = refused_by(head, edit)) return refused;
    if (!head.empty() && !set_print(context, record, head, edit.fingerprint.view())) {
      return std::nullopt;
    }
    failpoint::hit(context.environment, failpoint::kRecorded);
  }
  call.arguments.push_back(content_of(edit.headers, edit.payload));
  const Edited done =
      edited_of(context.run_one(context.on_cluster->edit, call, Loss::kInDoubt).bytes);
  if (done == Edited::kYes || head.empty()) return done;
  // Somebody has made the same edit meanwhile: the record speaks for the letter.
  const auto now = read_letter(context, call.arguments[1]);
  if (now && letter_of(now->head, now->origin, {}).told.fingerprint == edit.fingerprint) {
    return done;
  }
  Bytes changed = head;
  changed.replace(26, 16, edit.fingerprint.view());
  set_print(context, record, changed, print_in(head));
  return done;
}

}  // namespace

SeenRecord seen_now(StoreContext& context, const KeyId& id) {
  const Bytes head = head_of_record(context, context.names.record(id));
  if (head.empty()) return {};
  return {Bytes(1, state_in(head)), head.substr(kTokenAt, kTokenLength)};
}

bool unlock_on_cluster(StoreContext& context, const KeyId& id, const std::optional<Bytes>& note,
                       const SeenRecord* seen) {
  return unlock_with(context, id, note ? &*note : nullptr, nullptr, seen);
}

ReplayReport::Result replay_on_cluster(StoreContext& context, std::int64_t letter) {
  using enum ReplayReport::Result;
  const Bytes number = std::to_string(letter);
  const auto kept = read_letter(context, number);
  if (!kept) return kMissing;
  const Letter told = letter_of(kept->head, kept->origin, {});
  if (told.record) {
    const Bytes head = head_of_record(context, context.names.record(*told.record));
    const Fingerprint& print = told.told.fingerprint;
    if (!head.empty()) {
      if (print != Fingerprint{} && print.view() != print_in(head)) return kSkippedConflict;
      if (state_in(head) == 'D') return kSkippedCompleted;
      if (unlock_with(context, *told.record, nullptr, &*kept)) return kReplayed;
    }
  }
  // No record, or one in progress: a separate copy is handled like any other message.
  hold_copy(context, *kept, "0", {});
  count_replay(context, number);
  return kReplayed;
}

Edited edit_on_cluster(StoreContext& context, const LetterEdit& edit) {
  for (int look = 0; look < kLooks; ++look) {
    if (const auto done = try_to_edit(context, edit)) return *done;
  }
  never_stands_still();
}

bool in_hand_on_cluster(StoreContext& context, std::int64_t letter) {
  const auto kept = read_letter(context, std::to_string(letter));
  if (!kept) return false;
  const Letter told = letter_of(kept->head, kept->origin, {});
  if (!told.record) return false;
  const Bytes head = head_of_record(context, context.names.record(*told.record));
  if (head.empty() || BytesView("CRP").find(state_in(head)) == BytesView::npos) return false;
  const Fingerprint& print = told.told.fingerprint;
  return print == Fingerprint{} || print.view() == print_in(head);
}

std::optional<LinkedRow> linked_row(StoreContext& context, const KeyId& id) {
  Call call = about_rows(context, id.consumer());
  call.arguments.push_back(id.view());
  const Reply reply = context.run_one(context.on_cluster->linked, call, Loss::kNothingDone);
  if (reply.list.empty()) return std::nullopt;
  const auto time_at = [&](std::size_t at) {
    return StoreTime(std::chrono::milliseconds(reply.list.at(at).number));
  };
  LinkedRow row;
  row.place = place_at(reply.list, 0, static_cast<std::uint32_t>(id.consumer()));
  row.seen = reply.list.at(2).bytes;
  append_number(row.seen, static_cast<std::uint64_t>(reply.list.at(4).number), 6);
  row.parked = (reply.list.at(3).number & kParkedRow) != 0;
  RecordView& view = row.view;
  view.consumer = id.consumer();
  view.id = id;
  view.state = row.parked ? RecordState::kParked : RecordState::kRetrying;
  if (!row.parked) view.next_at = time_at(4);
  view.attempt = static_cast<int>(reply.list.at(5).number);
  view.first_seen = time_at(6);
  const Bytes& print = reply.list.at(7).bytes;
  if (print.size() == view.fingerprint.bytes.size()) {
    std::ranges::copy(print, view.fingerprint.bytes.begin());
  }
  view.key = reply.list.at(8).bytes;
  view.reason = "its record is gone";
  view.error = "its record was forgotten or lost, and its message was left";
  view.read_at = time_at(9);
  return row;
}

bool drop_row(StoreContext& context, const LinkedRow& row) {
  const std::vector<Bytes> how = {"drop", {}, ack_of(row.place), row.seen};
  return settle(context, row.view.consumer, how) > 0;
}

}  // namespace semel::redis
