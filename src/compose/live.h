// What the live store says, against what the config promises.
#pragma once

#include <string>
#include <vector>

#include <semel/guarantee.h>
#include <semel/live_checks.h>

#include "compose/compose.h"

namespace semel::compose {

struct Live {
  std::vector<LiveSetting> settings;
  // Of the consumers' statements; of native handlers nothing is known.
  struct Checked {
    LiveStatement statement;
    std::string consumer;
  };
  std::vector<Checked> statements;
};

// Looks; changes nothing. A store that says nothing of itself has nothing to tell.
Result<Live> look_live(Store& store, const config::Config& config);

// kRejected (D133) where its table is not there, or is in no transaction.
Result<void> refuse(const Live::Checked& checked);

// Of each setting that carries one: "synchronous_commit = off: …".
std::vector<std::string> risks_of(const Live& live);
// Lowered by them.
Guarantee lowered(Guarantee promise, const Live& live);

}  // namespace semel::compose
