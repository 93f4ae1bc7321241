// A Guard on any store of its own: how it stores the steps of outside work that are done or in
// doubt, and what a window answers it. Each test has its own consumer.
#pragma once

#include <memory>

#include <semel/front.h>
#include <semel/spi/store.h>

namespace semel::conformance {

void guard_keeps_steps(Store& store);
void guard_undoes_steps(Store& store);
void guard_tries_at_most_once(Store& store);
// It answers kAck only for work that is not needed again.
void guard_leaves_what_nobody_keeps(Store& store);
// `window`: empty.
void guard_behind_a_window(Store& store, std::shared_ptr<FrontWindow> window);

}  // namespace semel::conformance
