// Shows, unlocks and forgets records of the run that --url names, by their keys.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/records.h"
#include "cli/remote.h"
#include "cli/remote_read.h"
#include "cli/text.h"
#include "cli/views.h"

namespace semel::cli {

namespace {

std::string path_of_record(const std::string& consumer, const std::string& key) {
  return "consumers/" + path_part(consumer) + "/records/" + path_part(key);
}

// The documents of the consumers that have a record of the key.
Result<std::vector<JsonView>> documents_of(Remote& run, const std::vector<std::string>& consumers,
                                           const std::string& key) {
  std::vector<JsonView> all;
  for (const std::string& consumer : consumers) {
    auto document = run.get(path_of_record(consumer, key));
    if (document) {
      all.push_back(*std::move(document));
    } else if (!is_missing(document.error())) {
      return failure(std::move(document.error()));
    }
  }
  return all;
}

}  // namespace

int remote_show_record(Console& console, const RecordFlags& flags) {
  auto run = Remote::open(console);
  if (!run) return run.error().code;
  const auto consumers = run->consumers(console, flags.consumer);
  if (!consumers) return consumers.error().code;
  const auto documents = documents_of(*run, *consumers, flags.keys.front());
  if (!documents) return console.fail(documents.error());
  json::Writer whole = document("records").name("records").begin_array();
  bool any = false;
  for (const JsonView& document : *documents) {
    for (const JsonView& record : document.objects("records")) {
      if (any && console.text()) console.out("\n");
      any = true;
      if (console.text()) {
        console.out(record_text(console, record.text("consumer"), record_from(record),
                                journal_from(record)));
      } else {
        whole.embed(in_style(record.written(), console));
      }
    }
  }
  if (!console.text()) console.out(whole.end_array().end_object());
  if (any) return kOk;
  console.note(fmt::format("no record of \"{}\"", printable(flags.keys.front(), kRecordKeyShown)));
  return kNothing;
}

OrEnded<ChosenRecords> choose_remote_records(Console& console, Remote& run,
                                             const RecordFlags& flags) {
  if (flags.keys.empty() || flags.bulk.where || flags.bulk.limit > 0) {
    return ended(console.fail(kUsage, "of a run that is asked, records are named by their keys",
                              "semel records show KEY; a filter: -c FILE, where the store is"));
  }
  const auto consumers = run.consumers(console, flags.consumer);
  if (!consumers) return ended(consumers.error().code);
  return choose_by_keys(console, flags,
                        [&](const std::string& key) -> Result<std::vector<FoundRecord>> {
                          const auto documents = documents_of(run, *consumers, key);
                          if (!documents) return failure(documents.error());
                          std::vector<FoundRecord> found;
                          for (const JsonView& document : *documents) {
                            for (const JsonView& record : document.objects("records")) {
                              found.push_back({record.text("consumer"), key, record_from(record)});
                            }
                          }
                          return found;
                        });
}

Result<bool> change_remote_record(Remote& run, std::string_view verb, const RecordFlags& flags,
                                  const FoundRecord& seen) {
  json::Writer body = body_with_reason(flags.bulk);
  if (!flags.as.empty()) body.member("as", flags.as);
  // The user agreed to change this version of the record, and no later one.
  body.member("state", to_string(seen.record.state)).member("token", seen.record.token);
  const auto done = run.post(fmt::format("{}/{}", path_of_record(seen.consumer, seen.key), verb),
                             body.end_object());
  if (done) return true;
  // The record has changed meanwhile, or is gone.
  if (done.error().code == "R348" || is_missing(done.error())) return false;
  return failure(done.error());
}

}  // namespace semel::cli
