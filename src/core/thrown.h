// Turns an exception of the user's function into the answer of a handler.
#pragma once

#include <exception>

#include <semel/message.h>
#include <semel/reason.h>
#include <semel/verdict.h>

#include "core/verdict_details.h"

namespace semel::core {

inline Verdict answer_to(const std::exception& thrown) {
  const bool invalid = dynamic_cast<const PayloadInvalid*>(&thrown) != nullptr;
  Verdict verdict = invalid ? dead(thrown.what()) : retry(thrown.what());
  set_code(verdict, std::string(invalid ? reason::kPayloadInvalid : reason::kHandlerNative));
  return verdict;
}

}  // namespace semel::core
