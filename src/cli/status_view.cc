#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/source_view.h"
#include "cli/status.h"
#include "cli/text.h"
#include "cli/views.h"

namespace semel::cli {

namespace {

using operate::ConsumerStatus;
using operate::Status;

// A terminal shows so many characters of a text that may be long.
constexpr std::size_t kErrorShown = 200;
constexpr std::size_t kSourceShown = 40;

void show_trouble(Console& console, const ConsumerStatus& row) {
  const std::size_t most = console.shown(kErrorShown);
  for (const HealthView& view : row.health) {
    for (const HealthView::Trouble& trouble : view.troubles) {
      console.out_wrapped(fmt::format("{}: process {} has trouble with the {} since {}: {}\n",
                                      row.name, view.pid, trouble.where,
                                      console.time(trouble.since), printable(trouble.text, most)));
    }
  }
  if (!row.lag) return;
  if (row.lag->error) {
    console.out_wrapped(fmt::format("{}: how much waits at the source is not known: {}\n", row.name,
                                    printable(row.lag->error->message, most)));
  } else if (row.lag->messages > 0) {
    console.out_wrapped(fmt::format(
        "{}: {} at the source\n", row.name,
        counted(static_cast<std::uint64_t>(row.lag->messages), "message waits", "messages wait")));
  }
}

Table status_table(const std::vector<ConsumerStatus>& rows) {
  Table table(
      {"CONSUMER", "STATE", "CONSUMING", "RETRYING", "PARKED", "HELD", "DEAD LETTERS", "OLDEST"});
  constexpr std::size_t kFirstFigure = 2;
  constexpr std::size_t kColumns = 8;
  for (std::size_t i = kFirstFigure; i < kColumns; ++i) table.align_right(i);
  for (const auto& row : rows) {
    table.row({row.name, row.state, grouped(row.counts.consuming), grouped(row.counts.retrying),
               grouped(row.counts.parked), grouped(row.counts.held),
               grouped(row.counts.dead_letters),
               row.oldest_age ? duration_text(*row.oldest_age) : "-"});
  }
  table.may_cut(0, kConsumerLeast);
  constexpr std::size_t kLeavesOut[] = {4, 2};  // PARKED and CONSUMING, where figures are large
  for (const std::size_t column : kLeavesOut) table.may_leave_out(column);
  return table;
}

// Shows the source, the strategy and the guarantee, and the time of the last change.
void show_kind(Console& console, const ConsumerStatus& row) {
  std::string line =
      row.state == operate::kRemoved
          ? row.state
          : fmt::format("{}, {}, {}", printable(row.source, console.shown(kSourceShown)),
                        row.strategy, row.guarantee);
  if (row.last) line += "; changed " + console.time(*row.last);
  console.out_wrapped(fmt::format("{}: {}\n", row.name, line));
}

void show_status_text(Console& console, const Status& status) {
  console.out_wrapped(fmt::format(
      "{}: {} completed, {:.1f} MB, schema {}, epoch {}\n", status.where, grouped(status.completed),
      static_cast<double>(status.bytes) / 1e6, status.schema_version, status.epoch));
  console.out_wrapped(
      status.running_pids.empty()
          ? std::string("no process runs on it\n\n")
          : fmt::format("running: pid {}\n\n", fmt::join(status.running_pids, ", ")));
  console.out(status_table(status.consumers));
  for (const auto& row : status.consumers) {
    show_kind(console, row);
    for (const auto* views : {&row.sources, &row.windows}) {
      for (const auto& view : *views) {
        console.out_wrapped(fmt::format("{}: {}\n", row.name, source_text(view)));
      }
    }
  }
  for (const auto& row : status.consumers) show_trouble(console, row);
  for (const auto& row : status.consumers) {
    if (!row.gate) continue;
    const std::string until =
        row.gate->until ? " until " + console.time(*row.gate->until) : std::string();
    console.out_wrapped(fmt::format("{} is {} since {}{}: {}\n", row.name, gate_word(row.gate),
                                    console.time(row.gate->since), until,
                                    printable(row.gate->why, console.shown(kErrorShown))));
  }
}

std::string verdict_text(const ConsumerStatus& bad) {
  if (bad.state == operate::kFailing) {
    return fmt::format("semel: {} is failing: no process that runs it gets on", bad.name);
  }
  return fmt::format("semel: {} is down: {} for it and nobody runs it", bad.name,
                     counted(bad.waiting(), "message waits", "messages wait"));
}

// Reports each failing consumer; one that could not be asked counts only if none fails.
int verdict_on(Console& console, const std::vector<ConsumerStatus>& rows) {
  bool any = false;
  for (const ConsumerStatus& row : rows) {
    if (!row.bad()) continue;
    any = true;
    console.note(verdict_text(row));
  }
  if (any) return kBad;
  for (const ConsumerStatus& row : rows) {
    if (row.state == operate::kUnknown && row.lag && row.lag->error) {
      return console.fail(*row.lag->error);
    }
  }
  return kOk;
}

// Suggests the command for the first consumer that has some of what it lists.
void suggest(Console& console, const std::vector<ConsumerStatus>& rows,
             std::size_t StoreStats::Consumer::*figure, std::string_view command) {
  const auto first = std::ranges::find_if(
      rows, [figure](const ConsumerStatus& row) { return row.counts.*figure > 0; });
  if (first != rows.end()) console.next(fmt::format("{} --consumer {}", command, first->name));
}

}  // namespace

int show_status(Console& console, const Status& status) {
  if (console.text()) {
    show_status_text(console, status);
  } else {
    console.out(
        operate::status_document(status, [&](StoreTime time) { return console.time(time); }));
  }
  suggest(console, status.consumers, &StoreStats::Consumer::dead_letters, "semel dlq list");
  suggest(console, status.consumers, &StoreStats::Consumer::parked,
          "semel records list --state parked");
  return verdict_on(console, status.consumers);
}

}  // namespace semel::cli
