// Records as the records commands find and choose them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/bulk.h"
#include "cli/command.h"

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

// A record found by its key, under one consumer of the config.
struct FoundRecord {
  std::string consumer;
  Bytes key;
  RecordView record;
};

std::span<const WhereField> record_fields() noexcept;
// Whether the filter matches the record; its age is since it was first met, or completed.
bool matches(const Where& where, std::string_view consumer, const RecordView& record);

// The consumers a command is about: the one that was named, or all of the config's.
OrEnded<std::vector<std::string>> consumers_of(Console& console, const Session& session,
                                               const std::string& named);
Result<std::vector<FoundRecord>> find_records(const Session& session,
                                              const std::vector<std::string>& consumers,
                                              const Bytes& key);

void add_records_bulk(Program& program, CLI::App& family);

}  // namespace semel::cli
