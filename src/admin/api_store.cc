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
    const bool whole = access.facets.records != nullptr && access.facets.dead_letters != nullptr;
    made = whole ? use(access)
                 : problem(409, {ErrorKind::kRejected,
                                 "R343",
                                 "this store keeps no records that an operator can see",
                                 {}});
  });
  return made;
}

}  // namespace semel::admin
