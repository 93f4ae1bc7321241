// How the dlq commands choose dead letters.
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
  bool replayed = false;  // only those that were replayed and are done
  BulkFlags bulk;
};

using operate::letter_fields;
using operate::LetterWalk;

// Calls `see` for the letters that the flags select, at most `limit`.
Result<LetterWalk> walk_letters(const Session& session, const DlqFlags& flags, const Where& where,
                                std::size_t limit,
                                const std::function<void(const DeadLetter&)>& see);

// The opened store and the chosen letters.
struct ChosenLetters {
  Session session;
  Plan plan;
  std::optional<Rate> rate;
  std::vector<std::int64_t> ids;
  // The letters that a replay would skip; empty unless it was asked for.
  ReplayReport foreseen{};
};
enum class Unnamed { kRefused, kAll };
// `unnamed`: what it means if neither ids nor a filter are given. `foresees`: counts the letters
// that a replay would skip.
OrEnded<ChosenLetters> choose_letters(Console& console, const DlqFlags& flags, Unnamed unnamed,
                                      bool foresees = false);

// Chooses the letters and asks for confirmation. `verb`: "Replay".
OrEnded<ChosenLetters> begin_bulk(Console& console, const DlqFlags& flags, std::string_view verb,
                                  bool foresees = false);

// Adds --consumer, --reason and --replayed, which lists and bulk verbs share.
void letter_filter_options(CLI::App& command, DlqFlags& flags);
void letter_bulk_options(CLI::App& command, DlqFlags& flags);

// Reports on stderr what a walk left out.
void note_left_out(Console& console, const LetterWalk& walk);

// The default limit of a list as text; otherwise all, unless --limit is given.
std::size_t letters_shown(const Console& console, const DlqFlags& flags);
// The table of a list, and the lines below it.
class LetterTable {
 public:
  explicit LetterTable(const Console& console);
  void add(const DeadLetter& letter);
  int show(Console& console, const LetterWalk& walk, std::size_t limit) const;

 private:
  const Console& console_;
  Table table_;
};

// Returns a usage error if the arguments do not choose letters: ids, or a filter.
std::optional<int> refuse_choice(Console& console, const DlqFlags& flags, Unnamed unnamed);
void add_to_plan(Plan& plan, const DeadLetter& letter);

int show_letter(Console& console, const DeadLetter& letter);
// Prints groups as text or as JSON, and reports on stderr what they leave out.
int show_groups(Console& console, const operate::LetterGroups& made);

// Returns the exit code after an error. Work done before it remains done, and is reported.
int stopped_early(Console& console, Error error, std::size_t done, std::string_view verb);

// Prints the summary of a bulk verb, after the work or, in a dry run, instead of it; returns the
// exit code. `sum`: over the letters of the plan.
int report_replay(Console& console, const Plan& plan, const ReplayReport& sum);
int report_discard(Console& console, const Plan& plan, std::size_t discarded);

// For a run that is asked (--url).
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
