#include "cli/dlq.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"
#include "cli/text.h"
#include "cli/views.h"
#include "operate/letter_edit.h"

namespace semel::cli {

namespace {

constexpr std::size_t kLetterKeyShown = 40;
constexpr std::size_t kEverything = std::numeric_limits<std::size_t>::max();

operate::LetterQuery letter_query_of(const DlqFlags& flags, const Where& where, std::size_t limit) {
  operate::LetterQuery query;
  query.consumer = flags.consumer;
  query.reason = flags.reason;
  query.replayed = flags.replayed;
  query.where = where;
  query.limit = limit;
  return query;
}

int list_letters_text(Console& console, const Session& session, const DlqFlags& flags,
                      const Where& where) {
  LetterTable table(console);
  const std::size_t limit = letters_shown(console, flags);
  const auto walk = walk_letters(session, flags, where, limit,
                                 [&](const DeadLetter& letter) { table.add(letter); });
  return walk ? table.show(console, *walk, limit) : console.fail(walk.error());
}

int list_letters(Console& console, const DlqFlags& flags) {
  if (console.settings().url) return remote_list_letters(console, flags);
  const auto where = read_where(console, flags.bulk.where, letter_fields());
  if (!where) return where.error().code;
  auto session = need_messages(console, open_session(console));
  if (!session) return session.error().code;
  if (console.text()) return list_letters_text(console, *session, flags, *where);
  const bool lines = console.format() == Format::kJsonl;
  json::Writer whole = document("dead_letters").name("dead_letters").begin_array();
  const auto see = [&](const DeadLetter& letter) {
    if (!lines) {
      add_dead_letter(whole, console, letter, false);
      return;
    }
    json::Writer line = document("dead_letter").name("dead_letter");
    add_dead_letter(line, console, letter, false);
    console.out(line.end_object());
  };
  const auto walk = walk_letters(*session, flags, *where, letters_shown(console, flags), see);
  if (!walk) return console.fail(walk.error());
  if (!lines) console.out(whole.end_array().member("count", walk->seen).end_object());
  note_left_out(console, *walk);
  return kOk;
}

int find_letter(Console& console, const DlqFlags& flags) {
  if (console.settings().url) return remote_show_letter(console, flags);
  auto session = need_messages(console, open_session(console));
  if (!session) return session.error().code;
  const auto letter = session->facets.dead_letters->show(flags.ids.front());
  if (!letter) return console.fail(letter.error());
  if (*letter) return show_letter(console, **letter);
  return console.fail(kNothing, fmt::format("there is no dead letter {}", flags.ids.front()),
                      "semel dlq list");
}

Result<void> choose_by_filter(Console& console, const DlqFlags& flags, const Where& where,
                              bool foresees, ChosenLetters& chosen) {
  operate::LetterQuery query =
      letter_query_of(flags, where, flags.bulk.limit > 0 ? flags.bulk.limit : kEverything);
  query.foresees = foresees;
  const auto see = [&](const DeadLetter& letter) {
    add_to_plan(chosen.plan, letter);
    chosen.ids.push_back(letter.id);
  };
  const auto walk = operate::walk_letters(chosen.session.access(), query, see);
  if (!walk) return failure(walk.error());
  note_left_out(console, *walk);
  chosen.foreseen.skipped_completed = walk->skipped_completed;
  chosen.foreseen.skipped_conflict = walk->skipped_conflict;
  return {};
}

Result<void> choose_by_ids(const DlqFlags& flags, bool foresees, ChosenLetters& chosen) {
  const operate::StoreAccess access = chosen.session.access();
  operate::LetterRecords records(access);
  for (const std::int64_t id : flags.ids) {
    if (std::ranges::find(chosen.ids, id) != chosen.ids.end()) continue;
    const auto letter = access.facets.dead_letters->show(id);
    if (!letter) return failure(letter.error());
    if (!*letter) {
      ++chosen.plan.missing;
      continue;
    }
    add_to_plan(chosen.plan, **letter);
    chosen.ids.push_back(id);
    if (!foresees) continue;
    const auto result = records.foresee(**letter);
    if (!result) return failure(result.error());
    if (*result != ReplayReport::Result::kReplayed) chosen.foreseen.note(id, *result);
  }
  return {};
}

}  // namespace

std::size_t letters_shown(const Console& console, const DlqFlags& flags) {
  if (flags.bulk.limit > 0) return flags.bulk.limit;
  return console.text() ? kRowsShown : kEverything;
}

LetterTable::LetterTable(const Console& console)
    : console_(console),
      table_({"ID", "CONSUMER", "KEY", "REASON", "ATTEMPTS", "REPLAYED", "DEAD AT", "ERROR"}) {
  table_.align_right(0);
  table_.align_right(4);
  table_.align_right(5);
  constexpr std::size_t kLeast[] = {kConsumerLeast, kKeyLeast, kReasonLeast};
  for (std::size_t i = 0; i < std::size(kLeast); ++i) table_.may_cut(i + 1, kLeast[i]);
  for (const std::size_t column : {5, 4, 6}) table_.may_leave_out(column);
}

void LetterTable::add(const DeadLetter& letter) {
  table_.row({std::to_string(letter.id), letter.consumer,
              letter.key.empty() ? "-" : printable(letter.key, console_.shown(kLetterKeyShown)),
              letter.reason, std::to_string(letter.attempts), std::to_string(letter.replayed),
              console_.time(letter.dead_at), printable(letter.error)});
}

int LetterTable::show(Console& console, const LetterWalk& walk, std::size_t limit) const {
  if (walk.seen == 0) {
    console.note("no dead letters");
  } else {
    console.out(table_);
  }
  note_left_out(console, walk);
  if (walk.seen == limit) console.note("there may be more: --limit N");
  if (walk.seen > 0) console.next("semel dlq show ID");
  return kOk;
}

int show_letter(Console& console, const DeadLetter& letter) {
  if (console.text()) {
    console.out(dead_letter_text(console, letter));
    console.next(fmt::format("semel dlq replay {} --yes", letter.id));
  } else {
    json::Writer writer = document("dead_letter").name("dead_letter");
    add_dead_letter(writer, console, letter, true);
    console.out(writer.member("revision", operate::revision_of(letter)).end_object());
  }
  return kOk;
}

void add_to_plan(Plan& plan, const DeadLetter& letter) {
  plan.add(letter.dead_at, [&] {
    return fmt::format("{}  {}  {}  {}", letter.id, letter.consumer,
                       letter.key.empty() ? "-" : printable(letter.key, kLetterKeyShown),
                       letter.reason);
  });
}

std::optional<int> refuse_choice(Console& console, const DlqFlags& flags, Unnamed unnamed) {
  const bool filtered = flags.bulk.where || flags.all || flags.replayed ||
                        !flags.consumer.empty() || !flags.reason.empty();
  if (!flags.ids.empty() && (filtered || flags.bulk.limit > 0)) {
    const char* const fix = flags.reason.empty()
                                ? "the ids alone, or the filter alone"
                                : "the ids alone; a reason for the audit log of a run is --why";
    return console.fail(kUsage, "ids and a filter do not go together", fix);
  }
  if (!flags.ids.empty() || filtered || unnamed == Unnamed::kAll) return std::nullopt;
  return console.fail(kUsage, "say which dead letters: their ids, or a filter",
                      "--where FILTER, --consumer NAME, --reason REASON, --replayed or --all; "
                      "semel dlq list shows them");
}

void note_left_out(Console& console, const LetterWalk& walk) {
  if (walk.done > 0) {
    console.note(fmt::format("{} replayed and done: --replayed", grouped(walk.done)));
  }
  note_foreign(console, walk.foreign);
}

Result<LetterWalk> walk_letters(const Session& session, const DlqFlags& flags, const Where& where,
                                std::size_t limit,
                                const std::function<void(const DeadLetter&)>& see) {
  return operate::walk_letters(session.access(), letter_query_of(flags, where, limit), see);
}

OrEnded<ChosenLetters> choose_letters(Console& console, const DlqFlags& flags, Unnamed unnamed,
                                      bool foresees) {
  if (const auto code = refuse_choice(console, flags, unnamed)) return ended(*code);
  const auto where = read_where(console, flags.bulk.where, letter_fields());
  if (!where) return ended(where.error().code);
  const auto rate = read_rate(console, flags.bulk);
  if (!rate) return ended(rate.error().code);
  auto session = need_messages(console, open_session(console));
  if (!session) return ended(session.error().code);
  ChosenLetters chosen{std::move(*session), {}, *rate, {}};
  const auto done = flags.ids.empty() ? choose_by_filter(console, flags, *where, foresees, chosen)
                                      : choose_by_ids(flags, foresees, chosen);
  if (!done) return ended(console.fail(done.error()));
  return chosen;
}

void letter_filter_options(CLI::App& command, DlqFlags& flags) {
  // An empty value is mostly a variable that was not set; it would select everything.
  const CLI::Validator not_empty(
      [](const std::string& value) { return value.empty() ? "it is empty" : std::string(); }, "");
  command.add_option("--consumer", flags.consumer, "Only this consumer's")
      ->type_name("NAME")
      ->check(not_empty);
  command
      .add_option("--reason", flags.reason,
                  "Only with this reason or cause, such as key.conflict or handler.http.500")
      ->type_name("REASON")
      ->check(not_empty);
  command.add_flag("--replayed", flags.replayed, "Those that were replayed and are done since");
}

void letter_bulk_options(CLI::App& command, DlqFlags& flags) {
  command.add_option("ID", flags.ids, "Their numbers, from semel dlq list")->type_name("N");
  command.add_flag("--all", flags.all,
                   "All of the config's consumers, also without one of the filters below");
  bulk_options(command, flags.bulk, letter_fields());
  letter_filter_options(command, flags);
}

void add_dlq(Program& program) {
  auto& family = program.family(
      {.name = "dlq", .description = "Dead letters: what was given up", .group = "Operate"});
  auto flags = std::make_shared<DlqFlags>();
  const unsigned shared = kConfigFlag | kOutput | kTime | kQuiet;

  auto& list_command =
      program.command({.name = "list",
                       .description = "Dead letters, oldest first",
                       .flags = shared | kConfigArgument | kUrlFlag,
                       .parent = &family},
                      [flags](Console& console) { return list_letters(console, *flags); });
  where_option(list_command, flags->bulk, letter_fields());
  list_command
      .add_option("--limit", flags->bulk.limit,
                  "At most this many (default: a hundred as text, else all)")
      ->type_name("N");
  letter_filter_options(list_command, *flags);

  auto& show_command =
      program.command({.name = "show",
                       .description = "A dead letter with its payload and headers",
                       .flags = shared | kUrlFlag,
                       .parent = &family},
                      [flags](Console& console) { return find_letter(console, *flags); });
  show_command.add_option("ID", flags->ids, "Its number, from semel dlq list")
      ->type_name("N")
      ->required()
      ->expected(1);

  add_dlq_bulk(program, family);
  add_dlq_compensate(program, family);
  add_dlq_edit(program, family);
  add_dlq_groups(program, family);
  add_dlq_import(program, family);
}

}  // namespace semel::cli
