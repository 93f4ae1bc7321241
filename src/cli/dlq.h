// Dead letters as the dlq commands choose them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/bulk.h"
#include "cli/command.h"
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

void add_dlq_bulk(Program& program, CLI::App& family);
void add_dlq_compensate(Program& program, CLI::App& family);
void add_dlq_edit(Program& program, CLI::App& family);
void add_dlq_groups(Program& program, CLI::App& family);
void add_dlq_import(Program& program, CLI::App& family);

}  // namespace semel::cli
