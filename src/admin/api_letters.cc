// Records and dead letters.
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "admin/api_number.h"
#include "admin/api_route.h"
#include "admin/api_store.h"
#include "admin/letter_filters.h"
#include "admin/problem.h"
#include "admin/shown.h"
#include "base/iso_time.h"
#include "base/json.h"
#include "operate/letter_edit.h"
#include "operate/letters.h"
#include "operate/records.h"
#include "operate/views.h"
#include "operate/words.h"

namespace semel::admin {

namespace {

constexpr std::size_t kPageSize = 100;
constexpr std::size_t kLargestPage = 1'000;
constexpr std::size_t kMostGroups = 1'000;
constexpr std::size_t kKeyShown = 80;

std::string time_of(StoreTime time) { return iso_time(time); }

tl::expected<operate::LetterQuery, HttpResponse> page_query(const ApiCall& call,
                                                            const ApiSources& sources) {
  auto query = letter_query(call, sources);
  if (!query) return query;
  query->limit = kPageSize;
  if (const std::string_view limit = call.value("limit"); !limit.empty()) {
    const auto number = whole_number(limit);
    if (!number || *number == 0 || static_cast<std::size_t>(*number) > kLargestPage) {
      return wrong_value("limit", limit, fmt::format("1 to {}", kLargestPage));
    }
    query->limit = static_cast<std::size_t>(*number);
  }
  if (const std::string_view after = call.value("after"); !after.empty()) {
    const auto number = whole_number(after);
    if (!number) return wrong_value("after", after, "the member next of the page before");
    query->after = *number;
  }
  return query;
}

void add_left_out(json::Writer& writer, const operate::LetterWalk& walk) {
  writer.name("left_out").begin_object().member("replayed_and_done", walk.done);
  writer.member("other_consumers", walk.foreign).end_object();
}

HttpResponse records_answer(const ApiCall& call, const ApiSources& sources,
                            const operate::StoreAccess& access) {
  const std::string& consumer = call.path[0];
  const auto found = operate::find_records(access, {consumer}, call.path[1]);
  if (!found) return problem(found.error());
  if (found->empty()) {
    return not_found(
        fmt::format("no record of \"{}\"", operate::printable(call.path[1], kKeyShown)),
        "the key as the producer wrote it, each byte that is no letter or digit as %XX");
  }
  const auto journals = operate::journals_of(access, *found);
  if (!journals) return problem(journals.error());
  json::Writer writer = operate::document("records");
  writer.name("records").begin_array();
  for (std::size_t i = 0; i < found->size(); ++i) {
    operate::add_record(writer, time_of, (*found)[i].consumer, (*found)[i].record, (*journals)[i],
                        shown_to(call, sources));
  }
  writer.end_array().end_object();
  return json_answer(writer.text());
}

HttpResponse groups_answer(const operate::LetterGroups& made, const core::Disclosure& shows) {
  if (made.walk.next) {
    return problem(
        422, {ErrorKind::kRejected, "R344", "there are too many dead letters to group in time",
              "group those of one consumer: ?consumer=NAME"});
  }
  json::Writer writer = operate::document("dead_letter_groups");
  writer.name("groups").begin_array();
  for (const operate::LetterGroup& group : made.groups) {
    operate::add_letter_group(writer, time_of, group, shows);
  }
  writer.end_array().member("count", made.walk.seen).member("ungrouped", made.ungrouped);
  add_left_out(writer, made.walk);
  writer.end_object();
  return json_answer(writer.text());
}

}  // namespace

namespace api {

HttpResponse show_record(const ApiCall& call, const ApiSources& sources) {
  const std::string& consumer = call.path[0];
  if (sources.config->find(consumer) == nullptr) {
    return not_found(
        fmt::format("there is no consumer \"{}\"", operate::printable(consumer, kKeyShown)),
        "GET /api/v1/consumers");
  }
  return with_store(sources, [&](const operate::StoreAccess& access) {
    return records_answer(call, sources, access);
  });
}

HttpResponse list_dead_letters(const ApiCall& call, const ApiSources& sources) {
  const auto query = page_query(call, sources);
  if (!query) return query.error();
  return with_dead_letters(sources, [&](const operate::StoreAccess& access) {
    const core::Disclosure shows = shown_in_lists(sources);
    json::Writer writer = operate::document("dead_letters");
    writer.name("dead_letters").begin_array();
    const auto walk = operate::walk_letters(access, *query, [&](const DeadLetter& letter) {
      operate::add_dead_letter(writer, time_of, letter, false, shows);
    });
    if (!walk) return problem(walk.error());
    writer.end_array().member("count", walk->seen);
    add_left_out(writer, *walk);
    if (walk->next) writer.member("next", std::to_string(*walk->next));
    writer.end_object();
    return json_answer(writer.text());
  });
}

HttpResponse group_dead_letters(const ApiCall& call, const ApiSources& sources) {
  auto query = letter_query(call, sources);
  if (!query) return query.error();
  query->limit = std::numeric_limits<std::size_t>::max();
  return with_dead_letters(sources, [&](const operate::StoreAccess& access) {
    const auto made = operate::group_letters(access, *query, kMostGroups);
    return made ? groups_answer(*made, shown_in_lists(sources)) : problem(made.error());
  });
}

HttpResponse show_dead_letter(const ApiCall& call, const ApiSources& sources) {
  const auto id = letter_id_of(call);
  if (!id) return id.error();
  return with_dead_letters(sources, [&](const operate::StoreAccess& access) {
    const auto letter = access.facets.dead_letters->show(*id);
    if (!letter) return problem(letter.error());
    if (!*letter) {
      return not_found(fmt::format("there is no dead letter {}", *id), "GET /api/v1/dead-letters");
    }
    json::Writer writer = operate::document("dead_letter");
    writer.name("dead_letter");
    operate::add_dead_letter(writer, time_of, **letter, true, shown_to(call, sources));
    if (call.has(core::Role::kOperator)) {
      writer.member("revision", operate::revision_of(**letter));
    }
    writer.end_object();
    return json_answer(writer.text());
  });
}

}  // namespace api

}  // namespace semel::admin
