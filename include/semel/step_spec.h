// StepSpec: which steps a handler has, and how each of them is undone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <semel/attempt.h>
#include <semel/bytes.h>
#include <semel/message.h>
#include <semel/verdict.h>

namespace semel {

// What an undo is given beside its message.
struct StepUndo {
  std::string name;
  Bytes id;      // the step's business id
  Bytes result;  // what the step came to
  Bytes key;     // the undo's own, for the service: the same at each try
};

// Undoes a finished step: done, or discard where there is nothing to undo; retry to be run again by
// the consumer's policy, in tries of its own; dead to leave it to a person. What it throws is a
// retry. It may be run again after a crash, under the same key, and in another process.
using UndoHandler = std::function<Verdict(const Message&, const StepUndo&, const Attempt&)>;

struct StepSpec {
  std::string name;
  UndoHandler undo = nullptr;  // empty: once done it stays done
};
using StepSpecs = std::vector<StepSpec>;

}  // namespace semel
