#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/views.h"

namespace semel::cli {

namespace {

constexpr std::size_t kShownByDefault = 100;
constexpr std::size_t kPage = 1'000;
constexpr std::size_t kAtOnce = 500;
constexpr std::size_t kSamples = 3;
constexpr std::size_t kKeyShown = 40;
constexpr std::size_t kErrorShown = 60;

struct DlqFlags {
  std::string consumer;
  std::string reason;
  std::size_t limit = 0;
  std::vector<std::int64_t> ids;
  bool all = false;
};

// Walks through what the filter matches, a page at a time, until `limit`.
template <class See>
Result<std::size_t> walk(DeadLetters& letters, const DlqFlags& flags, std::size_t limit, See see) {
  DeadLetterFilter filter;
  if (!flags.consumer.empty()) filter.consumer = flags.consumer;
  if (!flags.reason.empty()) filter.reason = flags.reason;
  std::size_t seen = 0;
  while (seen < limit) {
    filter.limit = std::min(kPage, limit - seen);
    auto page = letters.list(filter);
    if (!page) return failure(std::move(page.error()));
    if (page->empty()) break;
    for (const auto& letter : *page) see(letter);
    seen += page->size();
    filter.after = page->back().id;
    if (page->size() < filter.limit) break;
  }
  return seen;
}

std::size_t limit_of(const Console& console, const DlqFlags& flags) {
  if (flags.limit > 0) return flags.limit;
  return console.text() ? kShownByDefault : std::numeric_limits<std::size_t>::max();
}

int list_text(Console& console, DeadLetters& letters, const DlqFlags& flags) {
  Table table({"ID", "CONSUMER", "KEY", "REASON", "ATTEMPTS", "REPLAYED", "DEAD AT", "ERROR"});
  table.align_right(0);
  table.align_right(4);
  table.align_right(5);
  const std::size_t limit = limit_of(console, flags);
  const auto seen = walk(letters, flags, limit, [&](const DeadLetter& letter) {
    table.row({std::to_string(letter.id), letter.consumer,
               letter.key.empty() ? "-" : printable(letter.key, kKeyShown), letter.reason,
               std::to_string(letter.attempts), std::to_string(letter.replayed),
               console.time(letter.dead_at), printable(letter.error, kErrorShown)});
  });
  if (!seen) return console.fail(seen.error());
  if (*seen == 0) {
    console.note("no dead letters");
    return kOk;
  }
  console.out(table.text());
  if (*seen == limit) console.note("there may be more: --limit N");
  console.next("semel dlq show ID");
  return kOk;
}

int list(Console& console, const DlqFlags& flags) {
  auto session = open_session(console);
  if (!session) return session.error().code;
  DeadLetters& letters = *session->facets.dead_letters;
  if (console.text()) return list_text(console, letters, flags);
  const bool lines = console.format() == Format::kJsonl;
  json::Writer whole = document("dead_letters").name("dead_letters").begin_array();
  const auto seen = walk(letters, flags, limit_of(console, flags), [&](const DeadLetter& letter) {
    if (!lines) {
      add_dead_letter(whole, console, letter, false);
      return;
    }
    json::Writer line = document("dead_letter").name("dead_letter");
    add_dead_letter(line, console, letter, false);
    console.out(line.end_object());
  });
  if (!seen) return console.fail(seen.error());
  if (!lines) console.out(whole.end_array().member("count", *seen).end_object());
  return kOk;
}

int show(Console& console, const DlqFlags& flags) {
  auto session = open_session(console);
  if (!session) return session.error().code;
  const auto letter = session->facets.dead_letters->show(flags.ids.front());
  if (!letter) return console.fail(letter.error());
  if (!*letter) {
    return console.fail(kNothing, fmt::format("there is no dead letter {}", flags.ids.front()),
                        "semel dlq list");
  }
  if (console.text()) {
    console.out(dead_letter_text(console, **letter));
    console.next(fmt::format("semel dlq replay {} --yes", (*letter)->id));
  } else {
    json::Writer writer = document("dead_letter").name("dead_letter");
    add_dead_letter(writer, console, **letter, true);
    console.out(writer.end_object());
  }
  return kOk;
}

// What a bulk command is about to touch.
struct Plan {
  std::vector<std::int64_t> ids;
  std::size_t missing = 0;
  std::optional<StoreTime> oldest;
  std::optional<StoreTime> newest;
  std::vector<std::string> samples;

  void add(const DeadLetter& letter) {
    ids.push_back(letter.id);
    if (!oldest || letter.dead_at < *oldest) oldest = letter.dead_at;
    if (!newest || letter.dead_at > *newest) newest = letter.dead_at;
    if (samples.size() < kSamples) {
      samples.push_back(fmt::format("{}  {}  {}  {}", letter.id, letter.consumer,
                                    letter.key.empty() ? "-" : printable(letter.key, kKeyShown),
                                    letter.reason));
    }
  }
};

OrEnded<Plan> plan_of(Console& console, DeadLetters& letters, const DlqFlags& flags) {
  const auto ended = [](int code) { return tl::unexpected<Ended>(Ended{code}); };
  const bool filtered = !flags.consumer.empty() || !flags.reason.empty() || flags.limit > 0;
  if (flags.ids.empty() != flags.all || (!flags.all && filtered)) {
    return ended(console.fail(kUsage,
                              "say which dead letters: their ids, or --all with --consumer, "
                              "--reason and --limit as needed",
                              "semel dlq list"));
  }
  Plan plan;
  if (flags.all) {
    const std::size_t limit =
        flags.limit > 0 ? flags.limit : std::numeric_limits<std::size_t>::max();
    const auto seen =
        walk(letters, flags, limit, [&](const DeadLetter& letter) { plan.add(letter); });
    if (!seen) return ended(console.fail(seen.error()));
    return plan;
  }
  for (const auto id : flags.ids) {
    const auto letter = letters.show(id);
    if (!letter) return ended(console.fail(letter.error()));
    if (*letter) {
      plan.add(**letter);
    } else {
      ++plan.missing;
    }
  }
  return plan;
}

void tell_plan(Console& console, const Plan& plan) {
  if (plan.ids.empty()) return;
  console.note(fmt::format("{}, from {} to {}",
                           counted(plan.ids.size(), "dead letter", "dead letters"),
                           console.time(*plan.oldest), console.time(*plan.newest)));
  for (const auto& sample : plan.samples) console.note("  " + sample);
  if (plan.ids.size() > plan.samples.size()) console.note("  …");
}

// Opened, chosen and agreed to; or an end.
struct Bulk {
  Session session;
  Plan plan;
};

OrEnded<Bulk> begin_bulk(Console& console, const DlqFlags& flags, std::string_view verb) {
  const auto ended = [](int code) { return tl::unexpected<Ended>(Ended{code}); };
  auto session = open_session(console);
  if (!session) return ended(session.error().code);
  auto plan = plan_of(console, *session->facets.dead_letters, flags);
  if (!plan) return ended(plan.error().code);
  tell_plan(console, *plan);
  if (!plan->ids.empty() && !console.settings().dry_run) {
    const auto answer = console.confirm(
        fmt::format("{} {}?", verb, counted(plan->ids.size(), "dead letter", "dead letters")));
    if (answer == Console::Answer::kCannotAsk) return ended(kUsage);
    if (answer == Console::Answer::kNo) return ended(kBad);
  }
  return Bulk{std::move(*session), std::move(*plan)};
}

int bulk_code(std::size_t matched, std::size_t changed, std::size_t asked) {
  if (matched == 0) return kNothing;
  return changed == asked ? kOk : kPartly;
}

int replay(Console& console, const DlqFlags& flags) {
  auto bulk = begin_bulk(console, flags, "Replay");
  if (!bulk) return bulk.error().code;
  const bool dry_run = console.settings().dry_run;
  ReplayReport sum;
  sum.missing = bulk->plan.missing;
  std::span<const std::int64_t> rest(bulk->plan.ids);
  while (!rest.empty() && !dry_run) {
    const auto part = rest.first(std::min(kAtOnce, rest.size()));
    rest = rest.subspan(part.size());
    const auto report = bulk->session.facets.dead_letters->replay(part);
    if (!report) return console.fail(report.error());
    sum.replayed += report->replayed;
    sum.skipped_completed += report->skipped_completed;
    sum.skipped_conflict += report->skipped_conflict;
    sum.missing += report->missing;
    console.progress(fmt::format("{} left", grouped(rest.size())));
  }
  const std::size_t matched = bulk->plan.ids.size();
  if (console.text()) {
    std::string text = dry_run ? fmt::format("{} would be replayed", grouped(matched))
                               : fmt::format("{} replayed: due now", grouped(sum.replayed));
    if (sum.skipped_completed > 0) {
      text += fmt::format(", {} skipped: completed meanwhile", grouped(sum.skipped_completed));
    }
    if (sum.skipped_conflict > 0) {
      text += fmt::format(", {} skipped: the key belongs to another payload",
                          grouped(sum.skipped_conflict));
    }
    if (sum.missing > 0) text += fmt::format(", {} not there", grouped(sum.missing));
    console.out(text + "\n");
    if (sum.replayed > 0) console.next("semel run --once");
  } else {
    console.out(document("replay")
                    .member("dry_run", dry_run)
                    .member("matched", matched)
                    .member("replayed", sum.replayed)
                    .member("skipped_completed", sum.skipped_completed)
                    .member("skipped_conflict", sum.skipped_conflict)
                    .member("missing", sum.missing)
                    .end_object());
  }
  if (dry_run) return bulk_code(matched, matched, matched + sum.missing);
  return bulk_code(matched, sum.replayed, matched + bulk->plan.missing);
}

int discard(Console& console, const DlqFlags& flags) {
  auto bulk = begin_bulk(console, flags, "Discard");
  if (!bulk) return bulk.error().code;
  const bool dry_run = console.settings().dry_run;
  std::size_t discarded = 0;
  std::span<const std::int64_t> rest(bulk->plan.ids);
  while (!rest.empty() && !dry_run) {
    const auto part = rest.first(std::min(kAtOnce, rest.size()));
    rest = rest.subspan(part.size());
    const auto gone = bulk->session.facets.dead_letters->discard(part);
    if (!gone) return console.fail(gone.error());
    discarded += *gone;
    console.progress(fmt::format("{} left", grouped(rest.size())));
  }
  const std::size_t matched = bulk->plan.ids.size();
  const std::size_t missing = bulk->plan.missing;
  if (console.text()) {
    console.out(fmt::format("{} {}{}\n", grouped(dry_run ? matched : discarded),
                            dry_run ? "would be discarded" : "discarded; their records stay closed",
                            missing > 0 ? fmt::format(", {} not there", grouped(missing)) : ""));
  } else {
    console.out(document("discard")
                    .member("dry_run", dry_run)
                    .member("matched", matched)
                    .member("discarded", discarded)
                    .member("missing", missing)
                    .end_object());
  }
  return bulk_code(matched, dry_run ? matched : discarded, matched + missing);
}

void filter_options(CLI::App& command, DlqFlags& flags, const char* limit) {
  command.add_option("--consumer", flags.consumer, "Of this consumer only")->type_name("NAME");
  command.add_option("--reason", flags.reason, "With this reason only, as key.conflict")
      ->type_name("REASON");
  command.add_option("--limit", flags.limit, limit)->type_name("N");
}

void bulk_options(CLI::App& command, DlqFlags& flags) {
  command.add_option("ID", flags.ids, "Their numbers, from semel dlq list")->type_name("N");
  command.add_flag("--all", flags.all, "All of them, narrowed by the flags below");
  filter_options(command, flags, "At most so many, oldest first");
}

}  // namespace

void add_dlq(Program& program) {
  auto& family = program.family(
      {.name = "dlq", .description = "Dead letters: what was given up", .group = "Operate"});
  auto flags = std::make_shared<DlqFlags>();
  const unsigned shared = kConfigFlag | kOutput | kTime | kQuiet;

  auto& list_command = program.command({.name = "list",
                                        .description = "Dead letters, oldest first",
                                        .flags = shared,
                                        .parent = &family},
                                       [flags](Console& console) { return list(console, *flags); });
  filter_options(list_command, *flags, "At most so many (default: a hundred as text, else all)");

  auto& show_command = program.command({.name = "show",
                                        .description = "A dead letter with its payload and headers",
                                        .flags = shared,
                                        .parent = &family},
                                       [flags](Console& console) { return show(console, *flags); });
  show_command.add_option("ID", flags->ids, "Its number, from semel dlq list")
      ->type_name("N")
      ->required()
      ->expected(1);

  auto& replay_command =
      program.command({.name = "replay",
                       .description = "Try dead letters again; what is completed meanwhile is "
                                      "skipped",
                       .flags = shared | kYes | kDryRun,
                       .parent = &family},
                      [flags](Console& console) { return replay(console, *flags); });
  bulk_options(replay_command, *flags);

  auto& discard_command =
      program.command({.name = "discard",
                       .description = "Remove dead letters; their records stay closed",
                       .flags = shared | kYes | kDryRun,
                       .parent = &family},
                      [flags](Console& console) { return discard(console, *flags); });
  bulk_options(discard_command, *flags);
}

}  // namespace semel::cli
