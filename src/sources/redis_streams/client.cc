#include "sources/redis_streams/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/failure.h"
#include "sources/redis_streams/errors.h"

namespace semel::redis_streams {

using redis::Loss;
using redis::Reply;
using std::chrono::milliseconds;

namespace {

constexpr int kOldestWithStreams = 7;

// Deleting a member with pending entries would lose them, so the script checks that in the same
// step. KEYS: the stream. ARGV: the group, a name or a prefix of names, whether it is the latter,
// and for how long a member must have been silent.
constexpr const char* kForget = R"(local all = redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
for _, one in ipairs(all) do
  local told = {}
  for i = 1, #one, 2 do told[one[i]] = one[i + 1] end
  local named = told.name == ARGV[2]
  if ARGV[3] == '1' then named = string.sub(told.name, 1, #ARGV[2]) == ARGV[2] end
  if named and told.pending == 0 and told.idle >= tonumber(ARGV[4]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], told.name)
  end
end
return 'OK')";

// The value of a field in a list of names and values; null: there is none.
const Reply* field_of(const Reply& list, std::string_view name) {
  for (std::size_t i = 0; i + 1 < list.list.size(); i += 2) {
    if (list.list[i].bytes == name) return &list.list[i + 1];
  }
  return nullptr;
}

std::int64_t number_of(const Reply& list, std::string_view name) {
  const Reply* const found = field_of(list, name);
  return found == nullptr ? 0 : found->number;
}

EntryId id_of(const Reply& list, std::string_view name) {
  const Reply* const found = field_of(list, name);
  return found == nullptr ? EntryId{} : read_entry_id(found->bytes).value_or(EntryId{});
}

std::vector<BytesView> views_of(const std::vector<std::string>& words) {
  return {words.begin(), words.end()};
}

void append_ids(const std::vector<EntryId>& ids, std::vector<std::string>& words) {
  for (const EntryId& id : ids) words.push_back(id.text());
}

core::Failure no_group(const core::RedisStreamsSpec& spec) {
  Reply missing;
  missing.kind = Reply::Kind::kError;
  missing.bytes = "NOGROUP";
  return {refusal_of(missing, spec), 1};
}

// The server's lag counts entries that were trimmed unread, for ever.
GroupState state_from(const Reply& group, const Reply& stream) {
  GroupState state;
  state.pending = number_of(group, "pending");
  const std::int64_t length = number_of(stream, "length");
  const std::int64_t added = number_of(stream, "entries-added");
  const EntryId delivered = id_of(group, "last-delivered-id");
  const bool all_read = delivered >= id_of(stream, "last-generated-id");
  const bool none_read_left = length == 0 || delivered < id_of(stream, "recorded-first-entry-id");
  const Reply* const lag = field_of(group, "lag");
  state.unread = none_read_left ? length : std::min(lag == nullptr ? length : lag->number, length);
  if (lag != nullptr && lag->kind == Reply::Kind::kNil) state.unread = length;
  if (all_read) state.unread = 0;
  const Reply* const read = field_of(group, "entries-read");
  // If read entries are left next to unread ones, the two cannot be distinguished.
  const bool known = all_read || none_read_left;
  if (!known || read == nullptr || read->kind != Reply::Kind::kNumber) return state;
  const std::int64_t there = all_read ? 0 : length;
  state.missed = std::max<std::int64_t>(added - there - read->number, 0);
  return state;
}

}  // namespace

GroupState state_of_group(redis::Connection& connection, const core::RedisStreamsSpec& spec) {
  connection.send({"XINFO", "GROUPS", spec.stream});
  connection.send({"XINFO", "STREAM", spec.stream});
  const std::vector<Reply> replies = connection.run(Loss::kNothingDone);
  for (const Reply& reply : replies) {
    if (!reply.is_error()) continue;
    if (reply.bytes.find("no such key") != std::string::npos) throw no_group(spec);
    throw core::Failure(refusal_of(reply, spec), 1);
  }
  for (const Reply& group : replies[0].list) {
    const Reply* const name = field_of(group, "name");
    if (name != nullptr && name->bytes == spec.group) return state_from(group, replies[1]);
  }
  throw no_group(spec);
}

Client::Client(const core::RedisStreamsSpec& spec, const std::string& member, StreamPlace& place)
    : spec_(spec), member_(member), answer_timeout_(place.answer_timeout()) {
  auto both = place.connect(2);
  commands_ = std::move(both[0]);
  reads_ = std::move(both[1]);
  const Bytes info = commands_->ask({"INFO", "server"}, Loss::kNothingDone).bytes;
  const std::string version = redis::info_field(info, "redis_version");
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  if (major >= kOldestWithStreams) return;
  core::fail({ErrorKind::kRejected, "R373",
              fmt::format("the server is older than Redis {}: {}", kOldestWithStreams, version),
              "use a newer server: an older one does not tell what became of trimmed entries"});
}

// Also throws if the server refuses the command.
Reply Client::ask(const std::vector<BytesView>& words) {
  commands_->send(words);
  std::vector<Reply> replies = ask_all();
  if (replies.back().is_error()) throw core::Failure(refusal_of(replies.back(), spec_), 1);
  return std::move(replies.back());
}

std::vector<Reply> Client::ask_all() { return commands_->run(Loss::kNothingDone); }

void Client::declare() {
  if (!spec_.declare) return;
  const char* const from = spec_.from == core::RedisStreamsSpec::From::kEarliest ? "0" : "$";
  commands_->send({"XGROUP", "CREATE", spec_.stream, spec_.group, from, "MKSTREAM"});
  const Reply made = std::move(ask_all().back());
  if (!made.is_error() || made.bytes.starts_with("BUSYGROUP")) return;
  throw core::Failure(refusal_of(made, spec_), 1);
}

void Client::begin_read(std::size_t most, milliseconds block, TimePoint now) {
  const std::string count = std::to_string(most);
  const std::string time = std::to_string(block.count());
  reads_->send({"XREADGROUP", "GROUP", spec_.group, member_, "COUNT", count, "BLOCK", time,
                "STREAMS", spec_.stream, ">"});
  reads_->begin();
  reading_until_ = now + block + answer_timeout_;
}

std::optional<std::vector<Entry>> Client::take_read(TimePoint now) {
  auto replies = reads_->take_replies(Loss::kNothingDone);
  if (!replies) {
    if (now < *reading_until_) return std::nullopt;
    core::fail({ErrorKind::kUnavailable, "R250",
                fmt::format("the Redis server did not answer in {} ms", answer_timeout_.count()),
                "check that the server runs"});
  }
  reading_until_.reset();
  const Reply& reply = replies->back();
  if (reply.is_error()) throw core::Failure(refusal_of(reply, spec_), 1);
  if (reply.list.empty()) return std::vector<Entry>();
  return read_entries(reply.list.at(0).list.at(1), spec_.payload);
}

std::vector<Entry> Client::own_behind(const EntryId& id, std::size_t most) {
  const std::string count = std::to_string(most);
  const std::string behind = id.text();
  const Reply told = ask({"XREADGROUP", "GROUP", spec_.group, member_, "COUNT", count, "STREAMS",
                          spec_.stream, behind});
  if (told.list.empty()) return {};
  return read_entries(told.list.at(0).list.at(1), spec_.payload);
}

std::vector<Client::Idle> Client::idle_behind(const std::optional<EntryId>& id, std::size_t most) {
  const std::string idle = std::to_string(spec_.claim_after.count());
  const std::string begin = id ? "(" + id->text() : "-";
  const std::string count = std::to_string(most);
  const Reply told = ask({"XPENDING", spec_.stream, spec_.group, "IDLE", idle, begin, "+", count});
  std::vector<Idle> found;
  found.reserve(told.list.size());
  for (const Reply& one : told.list) {
    found.push_back({need_entry_id(one.list.at(0)), one.list.at(1).bytes});
  }
  return found;
}

// An entry without data is not claimed: the server would drop it from the group before its end is
// recorded.
std::vector<Entry> Client::take_over(const std::vector<EntryId>& ids) {
  if (ids.empty()) return {};
  for (const EntryId& id : ids) {
    const std::string text = id.text();
    commands_->send({"XRANGE", spec_.stream, text, text, "COUNT", "1"});
  }
  const std::vector<Reply> looked = ask_all();
  std::vector<Entry> taken;
  std::vector<std::string> words{"XCLAIM", spec_.stream, spec_.group, member_,
                                 std::to_string(spec_.claim_after.count())};
  const std::size_t head = words.size();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (looked[i].is_error()) throw core::Failure(refusal_of(looked[i], spec_), 1);
    if (looked[i].list.empty()) {
      taken.push_back({ids[i], nullptr});
    } else {
      words.push_back(ids[i].text());
    }
  }
  if (words.size() == head) return taken;
  std::vector<Entry> claimed = read_entries(ask(views_of(words)), spec_.payload);
  std::ranges::move(claimed, std::back_inserter(taken));
  std::ranges::sort(taken, {}, &Entry::id);
  return taken;
}

std::vector<EntryId> Client::renew(const std::vector<EntryId>& ids) {
  if (ids.empty()) return {};
  std::vector<std::string> words{"XCLAIM", spec_.stream, spec_.group, member_, "0"};
  append_ids(ids, words);
  words.emplace_back("JUSTID");
  return read_ids(ask(views_of(words)));
}

void Client::give_back(const std::vector<EntryId>& ids) {
  if (ids.empty()) return;
  std::vector<std::string> words{"XCLAIM", spec_.stream, spec_.group, member_, "0"};
  append_ids(ids, words);
  for (const auto* word : {"IDLE", "", "JUSTID"}) words.emplace_back(word);
  words[words.size() - 2] = std::to_string(spec_.claim_after.count());
  (void)ask(views_of(words));
}

void Client::acknowledge(const std::vector<EntryId>& ids) {
  if (ids.empty()) return;
  std::vector<std::string> words{"XACK", spec_.stream, spec_.group};
  append_ids(ids, words);
  (void)ask(views_of(words));
}

std::int64_t Client::pending_for_others() {
  const Reply told = ask({"XPENDING", spec_.stream, spec_.group});
  std::int64_t others = 0;
  if (told.list.size() < 4) return others;
  for (const Reply& one : told.list[3].list) {
    std::int64_t count = 0;
    const std::string& text = one.list.at(1).bytes;
    std::from_chars(text.data(), text.data() + text.size(), count);
    if (one.list.at(0).bytes != member_) others += count;
  }
  return others;
}

GroupState Client::state() { return state_of_group(*commands_, spec_); }

void Client::forget(BytesView name, milliseconds silence) {
  const std::string least = std::to_string(silence.count());
  const bool one = name != kRunsOwn;
  commands_->send({"EVAL", kForget, "1", spec_.stream, spec_.group, name, one ? "0" : "1", least});
  // If scripts are refused, a name without entries stays in the group, which is harmless.
  (void)ask_all();
}

void Client::forget_this_member() {
  if (spec_.consumer.empty()) forget(member_, milliseconds(0));
}

void Client::forget_members(milliseconds silence) { forget(kRunsOwn, silence); }

}  // namespace semel::redis_streams
