// RecordInspector over the tables.
#pragma once

#include <memory>

#include <semel/environment.h>
#include <semel/records.h>

#include "stores/sql/core.h"
#include "stores/sql/facts.h"
#include "stores/sql/verify.h"

namespace semel::sql {

struct InspectorTexts {
  explicit InspectorTexts(const Dialect& dialect);
  Text version, epoch, generations, completed;
  VerifyTexts verify;
};

// All of it outlives the port.
std::unique_ptr<RecordInspector> make_inspector(const Core& core, const InspectorTexts& texts,
                                                Facts& facts, Random& random);

}  // namespace semel::sql
