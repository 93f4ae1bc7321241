#include "admin/api_store.h"

#include <utility>

#include <fmt/format.h>

#include "admin/api_number.h"
#include "admin/problem.h"
#include "operate/words.h"

namespace semel::admin {

namespace {

constexpr std::size_t kWrongIdShown = 80;

}  // namespace

HttpResponse with_store(const ApiSources& sources,
                        const std::function<HttpResponse(const operate::StoreAccess&)>& use) {
  HttpResponse made =
      problem(503, {ErrorKind::kUnavailable, "R345", "the run has no store now",
                    "it opens its store at its start and closes it at its end: look at /readyz"});
  (void)sources.with_store([&](Store& store) {
    const operate::StoreAccess access{*sources.config, store, store.facets()};
    made = access.facets.records != nullptr
               ? use(access)
               : problem(409, {ErrorKind::kRejected,
                               "R343",
                               "this store keeps no records that an operator can see",
                               {}});
  });
  return made;
}

HttpResponse with_dead_letters(
    const ApiSources& sources,
    const std::function<HttpResponse(const operate::StoreAccess&)>& use) {
  return with_store(sources, [&](const operate::StoreAccess& access) {
    if (access.facets.dead_letters == nullptr) return problem(operate::no_messages(access.store));
    return use(access);
  });
}

tl::expected<std::int64_t, HttpResponse> letter_id_of(const ApiCall& call) {
  const std::string& text = call.path[0];
  if (const auto id = whole_number(text)) return *id;
  return tl::unexpected(bad_request(
      fmt::format("\"{}\" is no id of a dead letter", operate::printable(text, kWrongIdShown)),
      "GET /api/v1/dead-letters"));
}

HttpResponse with_own_letter(
    const ApiSources& sources, std::int64_t id,
    const std::function<HttpResponse(const operate::StoreAccess&, const DeadLetter&)>& use) {
  return with_dead_letters(sources, [&](const operate::StoreAccess& access) {
    const auto letter = access.facets.dead_letters->show(id);
    if (!letter) return problem(letter.error());
    if (!*letter || access.config.find((*letter)->consumer) == nullptr) {
      return not_found(fmt::format("there is no dead letter {}", id));
    }
    return use(access, **letter);
  });
}

Result<ReplayReport> replay_one(const operate::StoreAccess& access, const ApiSources& sources,
                                const DeadLetter& letter) {
  auto report = access.facets.dead_letters->replay({&letter.id, 1});
  if (report && sources.replayed) {
    for (const auto& [id, result] : report->letters) sources.replayed(letter.consumer, result);
  }
  return report;
}

}  // namespace semel::admin
