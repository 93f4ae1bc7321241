// Lists, groups and shows dead letters of the run that --url names. remote_letter_verbs.cc changes
// them.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "cli/dlq.h"
#include "cli/remote.h"
#include "cli/remote_letters.h"
#include "cli/remote_read.h"
#include "cli/text.h"

namespace semel::cli {

namespace {

// The API returns no larger page.
constexpr std::size_t kPage = 1'000;

void add_left_out(LetterWalk& walk, const JsonView& page) {
  const JsonView left_out = page.object("left_out");
  walk.done += left_out.count("replayed_and_done");
  walk.foreign += left_out.count("other_consumers");
}

// Passes the letters to `see`, page by page.
Result<LetterWalk> walk_pages(Remote& run, const DlqFlags& flags, std::size_t limit,
                              const std::function<void(const JsonView&)>& see) {
  LetterWalk walk;
  std::string after;
  do {
    QueryText query = letter_query("dead-letters", flags);
    query.add("limit", std::to_string(std::min(kPage, limit - walk.seen))).add("after", after);
    const auto page = run.get(query.text());
    if (!page) return failure(page.error());
    for (const JsonView& letter : page->objects("dead_letters")) {
      ++walk.seen;
      see(letter);
    }
    add_left_out(walk, *page);
    after = page->text("next");
  } while (!after.empty() && walk.seen < limit);
  return walk;
}

int list_as_text(Console& console, Remote& run, const DlqFlags& flags) {
  LetterTable table(console);
  const std::size_t limit = letters_shown(console, flags);
  const auto walk =
      walk_pages(run, flags, limit, [&](const JsonView& one) { table.add(letter_from(one)); });
  return walk ? table.show(console, *walk, limit) : console.fail(walk.error());
}

}  // namespace

QueryText letter_query(std::string_view path, const DlqFlags& flags) {
  QueryText query(path);
  query.add("consumer", flags.consumer).add("reason", flags.reason);
  query.add("replayed", flags.replayed ? "true" : "").add("where", flags.bulk.where.value_or(""));
  return query;
}

int remote_list_letters(Console& console, const DlqFlags& flags) {
  // Reports a wrong filter with its column, before any request.
  if (const auto where = read_where(console, flags.bulk.where, letter_fields()); !where) {
    return where.error().code;
  }
  auto run = Remote::open(console);
  if (!run) return run.error().code;
  if (console.text()) return list_as_text(console, *run, flags);
  const bool lines = console.format() == Format::kJsonl;
  json::Writer whole = document("dead_letters").name("dead_letters").begin_array();
  const auto walk =
      walk_pages(*run, flags, letters_shown(console, flags), [&](const JsonView& one) {
        const std::string letter = in_style(one.written(), console);
        if (!lines) {
          whole.embed(letter);
          return;
        }
        json::Writer line = document("dead_letter").name("dead_letter");
        console.out(line.embed(letter).end_object());
      });
  if (!walk) return console.fail(walk.error());
  if (!lines) console.out(whole.end_array().member("count", walk->seen).end_object());
  note_left_out(console, *walk);
  return kOk;
}

int remote_group_letters(Console& console, const DlqFlags& flags) {
  if (const auto where = read_where(console, flags.bulk.where, letter_fields()); !where) {
    return where.error().code;
  }
  auto run = Remote::open(console);
  if (!run) return run.error().code;
  const auto answer = run->get(letter_query("dead-letters/groups", flags).text());
  if (!answer) return console.fail(answer.error());
  operate::LetterGroups made;
  made.walk.seen = answer->count("count");
  made.ungrouped = answer->count("ungrouped");
  add_left_out(made.walk, *answer);
  for (const JsonView& group : answer->objects("groups")) {
    made.groups.push_back(group_from(group));
  }
  return show_groups(console, made);
}

int remote_show_letter(Console& console, const DlqFlags& flags) {
  auto run = Remote::open(console);
  if (!run) return run.error().code;
  const auto answer = run->get(fmt::format("dead-letters/{}", flags.ids.front()));
  if (!answer) return console.fail(answer.error());
  if (console.text()) return show_letter(console, letter_from(answer->object("dead_letter")));
  out_document(console, *answer);
  return kOk;
}

}  // namespace semel::cli
