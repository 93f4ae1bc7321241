// Dead letters as the dlq commands choose them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bulk.h"
#include "cli/command.h"
#include "operate/letter_job.h"
#include "operate/letters.h"

namespace semel::cli {

struct DlqFlags {
  std::string consumer;
  std::string reason;
  std::vector<std::int64_t> ids;
  bool all = false;
  bool replayed = false;  // those that were replayed and are done, and no others
  BulkFlags bulk;
};

using operate::letter_fields;
using operate::LetterWalk;

// Shows `see` the letters that the flags narrow, at most `limit`.
Result<LetterWalk> walk_letters(const Session& session, const DlqFlags& flags, const Where& where,
                                std::size_t limit,
                                const std::function<void(const DeadLetter&)>& see);

// Opened, and chosen; or an end.
struct ChosenLetters {
  Session session;
  Plan plan;
  std::optional<Rate> rate;
  std::vector<std::int64_t> ids;
};
enum class Unnamed { kRefused, kAll };
// `unnamed`: what it means that neither ids nor a filter is given.
OrEnded<ChosenLetters> choose_letters(Console& console, const DlqFlags& flags, Unnamed unnamed);

// Chosen and agreed to; or an end. `verb`: "Replay".
OrEnded<ChosenLetters> begin_bulk(Console& console, const DlqFlags& flags, std::string_view verb);

// --consumer, --reason, --replayed: what a list and the bulk verbs share.
void letter_filter_options(CLI::App& command, DlqFlags& flags);
void letter_bulk_options(CLI::App& command, DlqFlags& flags);

// Says on stderr what a walk left out.
void note_left_out(Console& console, const LetterWalk& walk);

// A list as text has so many rows; else all where no --limit is given.
std::size_t letters_shown(const Console& console, const DlqFlags& flags);
// The table of a list, and what is said behind it.
class LetterTable {
 public:
  explicit LetterTable(const Console& console);
  void add(const DeadLetter& letter);
  int show(Console& console, const LetterWalk& walk, std::size_t limit) const;

 private:
  const Console& console_;
  Table table_;
};

// Says what is wrong with the words that say which letters a verb is about.
std::optional<std::string> flaw_of_choice(const DlqFlags& flags, Unnamed unnamed);
void add_to_plan(Plan& plan, const DeadLetter& letter);

int show_letter(Console& console, const DeadLetter& letter);
// Groups as text or as JSON, and on stderr what they leave out.
int show_groups(Console& console, const operate::LetterGroups& made);

// The exit code after an error. What was done before it stays done, and is told.
int stopped_early(Console& console, Error error, std::size_t done, std::string_view verb);

// The summary of a bulk verb, after the work or, in a dry run, in place of it; returns the exit
// code. `sum`: of the letters of the plan.
int report_replay(Console& console, const Plan& plan, const ReplayReport& sum);
int report_discard(Console& console, const Plan& plan, std::size_t discarded);

// For a run that is asked.
int remote_list_letters(Console& console, const DlqFlags& flags);
int remote_group_letters(Console& console, const DlqFlags& flags);
int remote_show_letter(Console& console, const DlqFlags& flags);
int remote_letter_verb(Console& console, const DlqFlags& flags, operate::LetterAct act);

void add_dlq_bulk(Program& program, CLI::App& family);
void add_dlq_compensate(Program& program, CLI::App& family);
void add_dlq_edit(Program& program, CLI::App& family);
void add_dlq_groups(Program& program, CLI::App& family);
void add_dlq_import(Program& program, CLI::App& family);

}  // namespace semel::cli
