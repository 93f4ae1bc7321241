// Housekeeper: maintains the store of a run, concurrently with the engines.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include <semel/spi/run_markers.h>
#include <semel/spi/store.h>

#include "compose/purge_pace.h"
#include "system/periodic.h"

namespace semel::compose {

// Frees what dead processes held and purges expired data, concurrently with the engines.
class Housekeeper {
 public:
  // `expire`: removes dead letters past their time within about that time; true where more is left.
  using Expire = std::function<bool(std::chrono::milliseconds budget)>;
  Housekeeper(Store& store, std::function<void()> freed, Expire expire)
      : store_(store),
        freed_(std::move(freed)),
        expire_(std::move(expire)),
        turns_(PurgePace::kTurn, [this] { turn(); }) {}

 private:
  // A failure is retried at the next turn; the engines report an unavailable store.
  void turn() {
    RunMarkers* const runs = store_.facets().runs;
    if (runs != nullptr && runs->sweep().value_or(false)) freed_();
    const std::chrono::milliseconds budget = pace_.turn();
    if (budget == std::chrono::milliseconds(0)) return;
    const auto purged = store_.purge(budget);
    // After a clock jump the purge stops, and so does this.
    pace_.note(purged && (expire_(budget) || purged->more));
  }

  Store& store_;
  const std::function<void()> freed_;
  const Expire expire_;
  PurgePace pace_;
  system::Periodic turns_;
};

}  // namespace semel::compose
