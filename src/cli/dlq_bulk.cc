// dlq replay, discard and export: the same flags choose the letters.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <span>
#include <string>

#include "cli/dlq.h"
#include "cli/letter_line.h"
#include "cli/text.h"

namespace semel::cli {

namespace {

int replay(Console& console, const DlqFlags& flags) {
  if (console.settings().url) {
    return remote_letter_verb(console, flags, operate::LetterAct::kReplay);
  }
  if (const auto code = refuse_why(console, flags.bulk)) return *code;
  auto chosen = begin_bulk(console, flags, "Replay", console.settings().dry_run);
  if (!chosen) return chosen.error().code;
  const Plan& plan = chosen->plan;
  ReplayReport sum = chosen->foreseen;
  std::span<const std::int64_t> rest(chosen->ids);
  if (console.settings().dry_run) rest = {};
  Pace pace(console, chosen->rate, rest.size());
  while (!rest.empty()) {
    const auto part = rest.first(pace.next(rest.size()));
    rest = rest.subspan(part.size());
    auto report = chosen->session.facets.dead_letters->replay(part);
    if (!report) return stopped_early(console, std::move(report.error()), sum.replayed, "replayed");
    sum.replayed += report->replayed;
    sum.skipped_completed += report->skipped_completed;
    sum.skipped_conflict += report->skipped_conflict;
    sum.missing += report->missing;
    pace.done(part.size());
  }
  return report_replay(console, plan, sum);
}

int discard_letters(Console& console, const DlqFlags& flags) {
  if (console.settings().url) {
    return remote_letter_verb(console, flags, operate::LetterAct::kDiscard);
  }
  if (const auto code = refuse_why(console, flags.bulk)) return *code;
  auto chosen = begin_bulk(console, flags, "Discard");
  if (!chosen) return chosen.error().code;
  const Plan& plan = chosen->plan;
  std::size_t discarded = 0;
  std::span<const std::int64_t> rest(chosen->ids);
  if (console.settings().dry_run) rest = {};
  Pace pace(console, chosen->rate, rest.size());
  while (!rest.empty()) {
    const auto part = rest.first(pace.next(rest.size()));
    rest = rest.subspan(part.size());
    auto gone = chosen->session.facets.dead_letters->discard(part);
    if (!gone) return stopped_early(console, std::move(gone.error()), discarded, "discarded");
    discarded += *gone;
    pace.done(part.size());
  }
  return report_discard(console, plan, discarded);
}

int export_letters(Console& console, const DlqFlags& flags) {
  auto chosen = choose_letters(console, flags, Unnamed::kAll);
  if (!chosen) return chosen.error().code;
  const Plan& plan = chosen->plan;
  if (console.settings().dry_run) {
    agree(console, plan, {}, "dead letter", "dead letters");
    return bulk_code(plan.count, plan.count, plan.count + plan.missing);
  }
  std::size_t exported = 0;
  Pace pace(console, chosen->rate, chosen->ids.size());
  for (auto at = chosen->ids.begin(); at != chosen->ids.end() && !console.out_broken();) {
    const std::size_t part = pace.next(static_cast<std::size_t>(chosen->ids.end() - at));
    for (std::size_t i = 0; i < part; ++i, ++at) {
      auto letter = chosen->session.facets.dead_letters->show(*at);
      if (!letter) return stopped_early(console, std::move(letter.error()), exported, "exported");
      if (!*letter) continue;
      console.out(letter_line(**letter));
      ++exported;
    }
    pace.done(part);
  }
  console.note(fmt::format("{} exported", counted(exported, "dead letter", "dead letters")));
  return bulk_code(plan.count, exported, plan.count + plan.missing);
}

}  // namespace

int stopped_early(Console& console, Error error, std::size_t done, std::string_view verb) {
  error.message += fmt::format("; {} {} before it", grouped(done), verb);
  const int code = console.fail(error);
  return done > 0 && code == kBad ? kPartly : code;
}

int report_replay(Console& console, const Plan& plan, const ReplayReport& sum) {
  const bool dry_run = console.settings().dry_run;
  // The counts of a plan are those of letters that were there a moment ago.
  const std::size_t skipped = std::min(plan.count, sum.skipped_completed + sum.skipped_conflict);
  const std::size_t replayed = dry_run ? plan.count - skipped : sum.replayed;
  const int code = bulk_code(plan.count, replayed, plan.count + plan.missing);
  if (!console.text()) {
    json::Writer writer = document("replay");
    add_plan(writer, console, plan);
    console.out(writer.member("replayed", sum.replayed)
                    .member("skipped_completed", sum.skipped_completed)
                    .member("skipped_conflict", sum.skipped_conflict)
                    .member("gone", sum.missing)
                    .end_object());
    return code;
  }
  std::string text = dry_run ? fmt::format("{}{} would be replayed",
                                           plan.complete ? "" : "at least ", grouped(replayed))
                             : fmt::format("{} replayed: due now", grouped(replayed));
  if (sum.skipped_completed > 0) {
    text += fmt::format(", {} skipped: completed meanwhile", grouped(sum.skipped_completed));
  }
  if (sum.skipped_conflict > 0) {
    text += fmt::format(", {} skipped: the key belongs to another payload",
                        grouped(sum.skipped_conflict));
  }
  const std::size_t missing = sum.missing + plan.missing;
  if (missing > 0) text += fmt::format(", {} not there", grouped(missing));
  console.out(text + "\n");
  if (sum.replayed > 0 && !console.settings().url) console.next("semel run --once");
  return code;
}

int report_discard(Console& console, const Plan& plan, std::size_t discarded) {
  const bool dry_run = console.settings().dry_run;
  if (console.text()) {
    const std::string missing =
        plan.missing > 0 ? fmt::format(", {} not there", grouped(plan.missing)) : std::string();
    console.out(fmt::format("{} {}{}\n", dry_run ? count_text(plan) : grouped(discarded),
                            dry_run ? "would be discarded" : "discarded; their records stay closed",
                            missing));
  } else {
    json::Writer writer = document("discard");
    add_plan(writer, console, plan);
    console.out(writer.member("discarded", discarded).end_object());
  }
  return bulk_code(plan.count, dry_run ? plan.count : discarded, plan.count + plan.missing);
}

OrEnded<ChosenLetters> begin_bulk(Console& console, const DlqFlags& flags, std::string_view verb,
                                  bool foresees) {
  auto chosen = choose_letters(console, flags, Unnamed::kRefused, foresees);
  if (!chosen) return chosen;
  const auto code =
      agree(console, chosen->plan,
            fmt::format("{} {}?", verb, counted(chosen->plan.count, "dead letter", "dead letters")),
            "dead letter", "dead letters");
  if (code) return tl::unexpected<Ended>(Ended{*code});
  return chosen;
}

void add_dlq_bulk(Program& program, CLI::App& family) {
  auto flags = std::make_shared<DlqFlags>();
  const unsigned shared = kConfigFlag | kOutput | kTime | kQuiet | kYes | kDryRun;
  CLI::App& replaying =
      program.command({.name = "replay",
                       .description = "Try dead letters again; what is completed meanwhile is "
                                      "skipped",
                       .flags = shared | kUrlFlag,
                       .parent = &family},
                      [flags](Console& console) { return replay(console, *flags); });
  CLI::App& discarding =
      program.command({.name = "discard",
                       .description = "Remove dead letters; their records stay closed",
                       .flags = shared | kUrlFlag,
                       .parent = &family},
                      [flags](Console& console) { return discard_letters(console, *flags); });
  for (CLI::App* const command : {&replaying, &discarding}) {
    letter_bulk_options(*command, *flags);
    why_option(*command, flags->bulk);
  }
  letter_bulk_options(
      program.command({.name = "export",
                       .description = "Write dead letters to stdout, whole, one JSON document a "
                                      "line; all of them where none are named",
                       .flags = kConfigFlag | kTime | kQuiet | kDryRun,
                       .parent = &family},
                      [flags](Console& console) { return export_letters(console, *flags); }),
      *flags);
}

}  // namespace semel::cli
