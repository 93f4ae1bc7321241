// The store of the run, for a route that needs it.
#pragma once

#include <cstdint>
#include <functional>

#include <semel/admin/records.h>

#include "admin/api_route.h"
#include "operate/store_access.h"

namespace semel::admin {

// The answer of `use`; 503 while the run has no store, and 409 where the store has no
// RecordInspector.
HttpResponse with_store(const ApiSources& sources,
                        const std::function<HttpResponse(const operate::StoreAccess&)>& use);

// The same, and 409 (R267) where the store keeps no dead letters.
HttpResponse with_dead_letters(const ApiSources& sources,
                               const std::function<HttpResponse(const operate::StoreAccess&)>& use);

// The letter's id that the path begins with; 400 where it is none.
tl::expected<std::int64_t, HttpResponse> letter_id_of(const ApiCall& call);

// The same for one letter, that of a consumer of this config; 404 for any other: another config's
// consumers are another one's to decide about.
HttpResponse with_own_letter(
    const ApiSources& sources, std::int64_t id,
    const std::function<HttpResponse(const operate::StoreAccess&, const DeadLetter&)>& use);

// Replays the letter, and reports it to the run's counters.
Result<ReplayReport> replay_one(const operate::StoreAccess& access, const ApiSources& sources,
                                const DeadLetter& letter);

}  // namespace semel::admin
