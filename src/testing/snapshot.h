// Counts the results of a run, by name: rows, outside effects, messages sent, dead letters.
#pragma once

#include "testing/process.h"

namespace semel::testkit {

Counts snapshot(const Subject& subject, const RunNames& names);

}  // namespace semel::testkit
