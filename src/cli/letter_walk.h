// Dead letters in the order they died, as the flags of a dlq command narrow them.
#pragma once

#include <cstddef>
#include <functional>

#include <semel/records.h>

#include "cli/dlq.h"

namespace semel::cli {

struct LetterWalk {
  std::size_t seen = 0;
  std::size_t done = 0;     // left out: replayed, and completed since
  std::size_t foreign = 0;  // left out: their consumers are not in the config
};

// Shows `see` what the flags match, until the limit. Without a consumer's name only letters of the
// config's consumers match; replayed letters that are done only with --replayed, and then alone.
Result<LetterWalk> walk_letters(const Session& session, const DlqFlags& flags, const Where& where,
                                std::size_t limit,
                                const std::function<void(const DeadLetter&)>& see);

// Says on stderr what a list leaves out.
void note_left_out(Console& console, const LetterWalk& walk);

}  // namespace semel::cli
