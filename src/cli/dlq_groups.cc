#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <string>

#include "cli/dlq.h"
#include "cli/session.h"
#include "cli/text.h"
#include "operate/letters.h"
#include "operate/views.h"

namespace semel::cli {

namespace {

// The most groups that are kept apart: a handler may make up any number of reasons.
constexpr std::size_t kMostGroups = 1'000;
constexpr std::size_t kGroupErrorShown = 60;

void show_groups_text(Console& console, const operate::LetterGroups& made) {
  if (made.groups.empty()) return console.note("no dead letters");
  Table table({"COUNT", "CONSUMER", "REASON", "CAUSE", "OLDEST", "NEWEST", "ID", "ERROR"});
  table.align_right(0);
  table.align_right(6);
  constexpr std::size_t kLeast[] = {kConsumerLeast, kReasonLeast, kReasonLeast};
  for (std::size_t i = 0; i < std::size(kLeast); ++i) table.may_cut(i + 1, kLeast[i]);
  for (const std::size_t column : {4, 5}) table.may_leave_out(column);
  for (const operate::LetterGroup& group : made.groups) {
    table.row({grouped(group.count), group.consumer, group.reason,
               group.cause.empty() ? "-" : group.cause, console.time(group.oldest),
               console.time(group.newest), std::to_string(group.newest_id),
               printable(group.newest_error, console.shown(kGroupErrorShown))});
  }
  console.out(table);
  console.next("semel dlq list --reason REASON");
}

void show_groups_json(Console& console, const operate::LetterGroups& made) {
  const bool lines = console.format() == Format::kJsonl;
  const auto time = [&](StoreTime at) { return console.time(at); };
  json::Writer whole = document("dead_letter_groups").name("groups").begin_array();
  for (const operate::LetterGroup& group : made.groups) {
    if (!lines) {
      operate::add_letter_group(whole, time, group);
      continue;
    }
    json::Writer line = document("dead_letter_group").name("group");
    operate::add_letter_group(line, time, group);
    console.out(line.end_object());
  }
  if (lines) return;
  whole.end_array().member("count", made.walk.seen).member("ungrouped", made.ungrouped);
  console.out(whole.end_object());
}

int group_letters(Console& console, const DlqFlags& flags) {
  if (console.settings().url) return remote_group_letters(console, flags);
  const auto where = read_where(console, flags.bulk.where, letter_fields());
  if (!where) return where.error().code;
  auto session = need_messages(console, open_session(console));
  if (!session) return session.error().code;
  operate::LetterQuery query;
  query.consumer = flags.consumer;
  query.reason = flags.reason;
  query.replayed = flags.replayed;
  query.where = *where;
  query.limit = std::numeric_limits<std::size_t>::max();
  const auto made = operate::group_letters(session->access(), query, kMostGroups);
  if (!made) return console.fail(made.error());
  return show_groups(console, *made);
}

}  // namespace

int show_groups(Console& console, const operate::LetterGroups& made) {
  if (console.text()) {
    show_groups_text(console, made);
  } else {
    show_groups_json(console, made);
  }
  note_left_out(console, made.walk);
  if (made.ungrouped > 0) {
    console.note(fmt::format("{} of further reasons", grouped(made.ungrouped)));
  }
  return kOk;
}

void add_dlq_groups(Program& program, CLI::App& family) {
  auto flags = std::make_shared<DlqFlags>();
  auto& command =
      program.command({.name = "groups",
                       .description = "Dead letters by consumer, reason and cause: how many, since "
                                      "when, and the newest one",
                       .flags = kConfigFlag | kConfigArgument | kUrlFlag | kOutput | kTime | kQuiet,
                       .parent = &family},
                      [flags](Console& console) { return group_letters(console, *flags); });
  where_option(command, flags->bulk, letter_fields());
  letter_filter_options(command, *flags);
}

}  // namespace semel::cli
