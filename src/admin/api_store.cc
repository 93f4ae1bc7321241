#include "admin/api_store.h"

#include <utility>

#include "admin/problem.h"

namespace semel::admin {

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

}  // namespace semel::admin
