// Steps: several outside calls in one message, each finished one remembered.
//
// A handler names each of its calls and gives its business id (docs/contract.md, rule 22):
//
//   const Bytes hold = attempt.step("lock_stock", order_id, [&](const Bytes& key) { … });
//
// A step that finished in an earlier attempt at the message is not called again: its result comes
// from the journal, which the store keeps with the record. A step that did not finish is called
// again, under the same key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <semel/bytes.h>

namespace semel {

// The steps of the message that a handler is running. One thread at a time.
//
// Both calls may throw an exception that is no std::exception and must pass through the handler:
// the lease was lost, the handler was asked to stop, the journal and the code disagree, or the step
// has no name that a step may have, or is none of those that were declared. A handler that swallows
// it ends in the same way.
class Steps {
 public:
  virtual ~Steps() = default;

  struct Begun {
    Bytes key;                    // of this step, for the service: the same at each attempt
    std::optional<Bytes> result;  // it finished before: do not call it again
  };
  // `input`: what the step's call is made from apart from the message, if anything. Where the step
  // finished before with another input, the message is parked.
  virtual Begun begin(std::string_view name, BytesView id, BytesView input) = 0;
  // Durable against power loss on return. Throws SemelError if the store stays unavailable for
  // long.
  virtual void finish(std::string_view name, BytesView id, BytesView input, BytesView result) = 0;
};

}  // namespace semel
