// Records as the records commands find and choose them.
#pragma once

#include <string>
#include <vector>

#include "cli/bulk.h"
#include "cli/command.h"
#include "operate/records.h"

namespace semel::cli {

// Characters of a key that a line shows.
inline constexpr std::size_t kRecordKeyShown = 48;

struct RecordFlags {
  std::string consumer;
  std::string state;
  std::vector<std::string> keys;
  std::string as;  // what a person says became of them: done, retry, dead
  BulkFlags bulk;
};

using operate::find_records;
using operate::FoundRecord;
using operate::record_fields;

// The consumers a command is about: the one that was named, or all of the config's.
OrEnded<std::vector<std::string>> consumers_of(Console& console, const Session& session,
                                               const std::string& named);

void add_records_bulk(Program& program, CLI::App& family);

}  // namespace semel::cli
