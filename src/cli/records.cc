#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cli/records.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/views.h"

namespace semel::cli {

namespace {

constexpr std::size_t kConsumerShown = 63;

constexpr RecordState kUnfinished[] = {RecordState::kConsuming, RecordState::kRetrying,
                                       RecordState::kParked, RecordState::kDead};

std::optional<RecordState> state_from(const std::string& word) {
  for (const auto state : kUnfinished) {
    if (word == to_string(state)) return state;
  }
  return std::nullopt;
}

// The filters of a list, read from its flags.
struct ListRequest {
  Where where;
  std::optional<RecordState> state;
  std::optional<Bytes> key;  // with a key, completed records are found too
};

OrEnded<ListRequest> read_list(Console& console, const RecordFlags& flags) {
  auto where = read_where(console, flags.bulk.where, record_fields());
  if (!where) return ended(where.error().code);
  ListRequest request;
  request.key = where->equal_to("key");
  request.state = state_from(flags.state);
  const std::string completed = to_string(RecordState::kCompleted);
  const bool done = flags.state == completed || where->equal_to("state") == completed;
  if (done && request.key) {
    if (flags.state == completed) request.state = RecordState::kCompleted;
  } else if (done) {
    return ended(console.fail(kUsage, "completed records are found by their key only",
                              "semel records show KEY"));
  } else if (!flags.state.empty() && !request.state) {
    return ended(console.fail(kUsage, fmt::format("--state cannot be \"{}\"", flags.state),
                              "consuming, retrying, parked or dead"));
  }
  request.where = *std::move(where);
  return request;
}

// At most `most` records of one consumer that may match.
Result<std::vector<FoundRecord>> candidates(const Session& session, const ListRequest& request,
                                            const std::string& consumer, std::size_t most) {
  if (request.key) return find_records(session.access(), {consumer}, *request.key);
  std::vector<FoundRecord> found;
  const auto number = session.facets.records->consumer(consumer);
  if (!number) return failure(number.error());
  if (!*number) return found;
  auto records = session.facets.records->list(**number, request.state, most);
  if (!records) return failure(std::move(records.error()));
  for (auto& record : *records) found.push_back({consumer, record.key, std::move(record)});
  return found;
}

void print_records(Console& console, const std::vector<FoundRecord>& found) {
  if (console.format() == Format::kJsonl) {
    for (const auto& one : found) {
      json::Writer line = document("record").name("record");
      add_record(line, console, one.consumer, one.record);
      console.out(line.end_object());
    }
  } else if (console.format() == Format::kJson) {
    json::Writer writer = document("records").name("records").begin_array();
    for (const auto& one : found) add_record(writer, console, one.consumer, one.record);
    console.out(writer.end_array().end_object());
  } else if (!found.empty()) {
    Table table({"CONSUMER", "KEY", "STATE", "ATTEMPT", "REASON", "ERROR"});
    table.align_right(3);
    table.may_cut(0, kConsumerLeast);
    table.may_cut(1, kKeyLeast);
    table.may_cut(4, kReasonLeast);
    table.may_leave_out(3);
    const std::size_t key_shown = console.shown(kRecordKeyShown);
    for (const auto& one : found) {
      table.row(
          {one.consumer,
           one.key.empty() ? "id " + hex_of(one.record.id.view()) : printable(one.key, key_shown),
           to_string(one.record.state), std::to_string(one.record.attempt), one.record.reason,
           printable(one.record.error)});
    }
    console.out(table);
  }
}

int list_records(Console& console, const RecordFlags& flags) {
  const auto request = read_list(console, flags);
  if (!request) return request.error().code;
  auto session = open_session(console);
  if (!session) return session.error().code;
  const auto searched = searched_consumers(console, *session, flags, request->where);
  if (!searched) return searched.error().code;
  const std::size_t everything = std::numeric_limits<std::int32_t>::max();
  const std::size_t limit = flags.bulk.limit > 0 ? flags.bulk.limit
                            : console.text()     ? kRowsShown
                                                 : everything;
  std::vector<FoundRecord> found;
  for (const auto& consumer : searched->consumers) {
    if (found.size() >= limit) continue;
    const std::size_t left = flags.bulk.where ? everything : limit - found.size();
    auto records = candidates(*session, *request, consumer, left);
    if (!records) return console.fail(records.error());
    for (auto& one : *records) {
      const bool fits = !request->state || one.record.state == *request->state;
      if (found.size() == limit || !fits) continue;
      if (matches(request->where, consumer, one.record)) found.push_back(std::move(one));
    }
  }
  print_records(console, found);
  if (console.text() && found.empty()) console.note("no such records");
  const auto noted =
      note_foreign_records(console, *session, *searched, request->where, request->state);
  if (!noted) return console.fail(noted.error());
  if (!console.text()) return kOk;
  if (!request->key) {
    console.note(
        "completed records are not listed: the store keeps no text of their keys; one by its key: "
        "semel records show KEY");
  }
  if (found.size() == limit) console.note("there may be more: --limit N");
  return kOk;
}

int show_record(Console& console, const RecordFlags& flags) {
  if (console.settings().url) return remote_show_record(console, flags);
  auto session = open_session(console);
  if (!session) return session.error().code;
  const auto searched = searched_consumers(console, *session, flags, {});
  if (!searched) return searched.error().code;
  const auto found = find_records(session->access(), searched->consumers, flags.keys.front());
  if (!found) return console.fail(found.error());
  const auto journals = operate::journals_of(session->access(), *found);
  if (!journals) return console.fail(journals.error());
  if (console.text()) {
    for (std::size_t i = 0; i < found->size(); ++i) {
      if (i > 0) console.out("\n");
      console.out(record_text(console, (*found)[i].consumer, (*found)[i].record, (*journals)[i]));
    }
  } else {
    json::Writer writer = document("records").name("records").begin_array();
    for (std::size_t i = 0; i < found->size(); ++i) {
      add_record(writer, console, (*found)[i].consumer, (*found)[i].record, (*journals)[i]);
    }
    console.out(writer.end_array().end_object());
  }
  if (found->empty()) {
    console.note(
        fmt::format("no record of \"{}\"", printable(flags.keys.front(), kRecordKeyShown)));
  }
  const auto noted = note_foreign_keys(console, *session, *searched, flags.keys);
  if (!noted) return console.fail(noted.error());
  return found->empty() ? kNothing : kOk;
}

// Neither the config nor the store has the consumer.
int refuse_consumer(Console& console, const Session& session, const std::string& named) {
  auto names = operate::foreign_consumers(session.access());
  if (!names) return console.fail(names.error());
  for (const auto& consumer : session.config.consumers) names->push_back(consumer.name);
  const auto near = nearest(named, *names);
  const std::string fix = near             ? fmt::format("did you mean \"{}\"?", *near)
                          : names->empty() ? "neither of them has any"
                                           : fmt::format("there are: {}", fmt::join(*names, ", "));
  return console.fail(kUsage,
                      fmt::format("there is no consumer \"{}\" in {}, nor in its store",
                                  printable(named, kConsumerShown), session.config.file),
                      fix);
}

}  // namespace

void consumer_option(CLI::App& command, RecordFlags& flags) {
  command
      .add_option("--consumer", flags.consumer, "Only this consumer's; the config need not have it")
      ->type_name("NAME");
}

OrEnded<Searched> searched_consumers(Console& console, const Session& session,
                                     const RecordFlags& flags, const Where& where) {
  const std::string named =
      flags.consumer.empty() ? where.equal_to("consumer").value_or("") : flags.consumer;
  Searched searched;
  searched.named = !named.empty();
  for (const auto& consumer : session.config.consumers) {
    if (named.empty() || consumer.name == named) searched.consumers.push_back(consumer.name);
  }
  if (!searched.named || !searched.consumers.empty()) return searched;
  const auto number = session.facets.records->consumer(named);
  if (!number) return ended(console.fail(number.error()));
  if (*number) {
    searched.consumers.push_back(named);
  } else if (!flags.consumer.empty()) {
    return ended(refuse_consumer(console, session, named));
  }
  return searched;
}

Result<void> note_foreign_keys(Console& console, const Session& session, const Searched& searched,
                               const std::vector<std::string>& keys) {
  if (searched.named) return {};
  const auto consumers = operate::foreign_consumers(session.access());
  if (!consumers) return failure(consumers.error());
  std::size_t count = 0;
  for (const std::string& key : keys) {
    const auto found = find_records(session.access(), *consumers, key);
    if (!found) return failure(found.error());
    count += found->size();
  }
  note_foreign(console, count);
  return {};
}

Result<void> note_foreign_records(Console& console, const Session& session,
                                  const Searched& searched, const Where& where,
                                  std::optional<RecordState> state) {
  if (searched.named) return {};
  const auto count = operate::count_foreign(session.access(), where, state);
  if (!count) return failure(count.error());
  note_foreign(console, *count);
  return {};
}

void add_records(Program& program) {
  auto& family = program.family(
      {.name = "records", .description = "Show what is known of keys", .group = "Operate"});
  auto flags = std::make_shared<RecordFlags>();
  const unsigned shared = kConfigFlag | kOutput | kTime | kQuiet;

  auto& list_command =
      program.command({.name = "list",
                       .description = "Unfinished records, and those that are parked or dead",
                       .flags = shared | kConfigArgument,
                       .parent = &family},
                      [flags](Console& console) { return list_records(console, *flags); });
  consumer_option(list_command, *flags);
  where_option(list_command, flags->bulk, record_fields());
  list_command.add_option("--state", flags->state, "Only consuming, retrying, parked or dead ones")
      ->type_name("STATE");
  list_command
      .add_option("--limit", flags->bulk.limit,
                  "At most this many (default: a hundred as text, else all)")
      ->type_name("N");

  auto& show_command =
      program.command({.name = "show",
                       .description = "The record of a key",
                       .flags = shared | kUrlFlag,
                       .parent = &family},
                      [flags](Console& console) { return show_record(console, *flags); });
  show_command.add_option("KEY", flags->keys, "The key as the producer wrote it")
      ->required()
      ->expected(1);
  consumer_option(show_command, *flags);

  add_records_bulk(program, family);
}

}  // namespace semel::cli
