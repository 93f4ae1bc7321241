// dlq compensate: undoes the completed steps of dead letters.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include <semel/spi/step_store.h>

#include "cli/dlq.h"
#include "cli/records.h"
#include "cli/text.h"

namespace semel::cli {

namespace {

struct CompensationSum {
  std::size_t asked = 0;
  std::size_t nothing = 0;  // no step left to undo
  std::size_t moved = 0;    // its record is not dead, or belongs to another payload
  std::size_t gone = 0;
};

bool stands(const StepEntry& entry) { return entry.state == StepEntry::State::kDone; }

// The consumer undoes the steps when it runs, because only its handler knows how.
Result<void> ask_one(const Session& session, std::int64_t id, bool dry_run, CompensationSum& sum) {
  const auto letter = session.facets.dead_letters->show(id);
  if (!letter) return failure(letter.error());
  if (!*letter) {
    ++sum.gone;
    return {};
  }
  const auto found = find_records(session.access(), {(*letter)->consumer}, (*letter)->key);
  if (!found) return failure(found.error());
  const bool dead = !found->empty() && found->front().record.state == RecordState::kDead &&
                    found->front().record.fingerprint == (*letter)->fingerprint;
  if (!dead) {
    ++sum.moved;
    return {};
  }
  const KeyId& record = found->front().record.id;
  const auto journal = session.facets.steps->read(record);
  if (!journal) return failure(journal.error());
  if (std::ranges::none_of(journal->entries, stands)) {
    ++sum.nothing;
    return {};
  }
  if (dry_run) {
    ++sum.asked;
    return {};
  }
  const auto given = session.facets.steps->give_up(
      record, {(*letter)->reason, (*letter)->error, (*letter)->attempts, 0});
  if (!given) return failure(given.error());
  ++(*given ? sum.asked : sum.moved);
  return {};
}

void report_compensations(Console& console, const Plan& plan, const CompensationSum& sum) {
  if (!console.text()) {
    json::Writer writer = document("compensate");
    add_plan(writer, console, plan);
    console.out(writer.member("asked", sum.asked)
                    .member("skipped_nothing_done", sum.nothing)
                    .member("skipped_moved", sum.moved)
                    .member("gone", sum.gone)
                    .end_object());
    return;
  }
  const bool dry_run = console.settings().dry_run;
  std::string text = fmt::format("{} {}", grouped(sum.asked),
                                 dry_run ? "would be undone" : "to be undone: due now");
  if (sum.nothing > 0) {
    text += fmt::format(", {} skipped: no step of it is done", grouped(sum.nothing));
  }
  if (sum.moved > 0) text += fmt::format(", {} skipped: its record moved on", grouped(sum.moved));
  const std::size_t missing = sum.gone + plan.missing;
  if (missing > 0) text += fmt::format(", {} not there", grouped(missing));
  console.out(text + "\n");
  if (sum.asked > 0 && !dry_run) console.next("semel run --once");
}

int compensate(Console& console, const DlqFlags& flags) {
  auto chosen = begin_bulk(console, flags, "Undo the steps of");
  if (!chosen) return chosen.error().code;
  if (chosen->session.facets.steps == nullptr) {
    return console.fail(kUsage, fmt::format("{} keeps no journal of steps", chosen->session.where),
                        fmt::format("steps are kept in {}", core::kStoresWithSteps));
  }
  CompensationSum sum;
  Pace pace(console, chosen->rate, chosen->ids.size());
  for (auto at = chosen->ids.begin(); at != chosen->ids.end();) {
    const std::size_t part = pace.next(static_cast<std::size_t>(chosen->ids.end() - at));
    for (std::size_t i = 0; i < part; ++i, ++at) {
      if (auto asked = ask_one(chosen->session, *at, console.settings().dry_run, sum); !asked) {
        Error error = std::move(asked.error());
        error.message += fmt::format("; {} asked before it", grouped(sum.asked));
        return console.fail(error);
      }
    }
    pace.done(part);
  }
  report_compensations(console, chosen->plan, sum);
  return bulk_code(chosen->plan.count, sum.asked, chosen->plan.count + chosen->plan.missing);
}

}  // namespace

void add_dlq_compensate(Program& program, CLI::App& family) {
  auto flags = std::make_shared<DlqFlags>();
  letter_bulk_options(
      program.command(
          {.name = "compensate",
           .description = "Undo the steps of dead letters, by the undos of their consumer",
           .flags = kConfigFlag | kOutput | kTime | kQuiet | kYes | kDryRun,
           .parent = &family},
          [flags](Console& console) { return compensate(console, *flags); }),
      *flags);
}

}  // namespace semel::cli
