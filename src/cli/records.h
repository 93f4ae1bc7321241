// How the records commands find and choose records.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bulk.h"
#include "cli/command.h"
#include "cli/remote.h"
#include "operate/records.h"

namespace semel::cli {

// Characters of a key that a line shows.
inline constexpr std::size_t kRecordKeyShown = 48;

struct RecordFlags {
  std::string consumer;
  std::string state;
  std::vector<std::string> keys;
  std::string as;  // the outcome that a person decides: done, retry, dead
  BulkFlags bulk;
};

using operate::find_records;
using operate::FoundRecord;
using operate::record_fields;

// Adds the flag --consumer.
void consumer_option(CLI::App& command, RecordFlags& flags);

// The consumers whose records a command looks at.
struct Searched {
  std::vector<std::string> consumers;
  bool named = false;  // by a flag or the filter; otherwise they are all of the config
};

// A consumer that is named need not be in the config, but then the store must know it.
OrEnded<Searched> searched_consumers(Console& console, const Session& session,
                                     const RecordFlags& flags, const Where& where);
// Reports on stderr how many records are left out, because their consumers are not in the config:
// those of the keys, and those that match the filter, with `state` only those in it.
Result<void> note_foreign_keys(Console& console, const Session& session, const Searched& searched,
                               const std::vector<std::string>& keys);
Result<void> note_foreign_records(Console& console, const Session& session,
                                  const Searched& searched, const Where& where,
                                  std::optional<RecordState> state = std::nullopt);

// The records chosen by keys or by a filter.
struct ChosenRecords {
  std::vector<FoundRecord> records;
  Plan plan;

  void add(FoundRecord found);
};

// Returns the records of one key under the consumers.
using RecordsOfKey = std::function<Result<std::vector<FoundRecord>>(const std::string& key)>;
// Finds the one record for each key, or ends the command: a key may exist under several consumers.
OrEnded<ChosenRecords> choose_by_keys(Console& console, const RecordFlags& flags,
                                      const RecordsOfKey& find);

// For a run that is asked (--url).
int remote_show_record(Console& console, const RecordFlags& flags);
OrEnded<ChosenRecords> choose_remote_records(Console& console, Remote& run,
                                             const RecordFlags& flags);
// `verb`: "unlock" or "forget". False if the record has changed since it was seen.
Result<bool> change_remote_record(Remote& run, std::string_view verb, const RecordFlags& flags,
                                  const FoundRecord& seen);

void add_records_bulk(Program& program, CLI::App& family);

}  // namespace semel::cli
