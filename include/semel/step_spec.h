// StepSpec: the steps of a handler, and how each of them is undone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <semel/attempt.h>
#include <semel/bytes.h>
#include <semel/message.h>
#include <semel/verdict.h>

namespace semel {

// A finished step that is to be undone.
struct StepUndo {
  std::string name;
  Bytes id;      // the step's business id
  Bytes result;  // of the step
  Bytes key;     // of this undo, for the service: the same at each attempt
};

// Undoes a finished step. Returns done, or discard where there is nothing to undo; retry to run
// again by the consumer's retry policy, which counts its attempts apart; dead to leave it to a
// person. An exception is a retry. It may run again after a crash, under the same key, and in
// another process.
using UndoHandler = std::function<Verdict(const Message&, const StepUndo&, const Attempt&)>;

struct StepSpec {
  std::string name;
  UndoHandler undo = nullptr;  // empty: the step is not undone
};
using StepSpecs = std::vector<StepSpec>;

}  // namespace semel
