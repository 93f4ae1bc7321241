// What a Guard on any store of its own keeps of work outside: the steps that are done, and what may
// have happened; and what it is answered by a window. Each has a consumer of its own.
#pragma once

#include <memory>

#include <semel/front.h>
#include <semel/spi/store.h>

namespace semel::conformance {

void guard_keeps_steps(Store& store);
void guard_undoes_steps(Store& store);
void guard_tries_at_most_once(Store& store);
// It answers kAck only for what is not needed again.
void guard_leaves_what_nobody_keeps(Store& store);
// `window`: empty.
void guard_behind_a_window(Store& store, std::shared_ptr<FrontWindow> window);

}  // namespace semel::conformance
