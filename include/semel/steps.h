// Steps: several outside calls in one message, each finished one remembered.
//
// A handler names each of its calls and gives its business id (docs/contract.md, rule 22):
//
//   const Bytes hold = attempt.step("lock_stock", order_id, [&](const Bytes& key) { … });
//
// A step that finished in an earlier try of the message is not called again: its result comes from
// the journal, which stands in the store beside the record. One that did not finish is called
// again, under the same key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <semel/bytes.h>

namespace semel {

// The steps of the message that a handler has in hand. One thread at a time.
//
// Both calls may throw what is no std::exception and must pass through the handler: the lease was
// lost, the handler was told to stop, or the journal and the code disagree. A handler that
// swallows it ends the same way.
class Steps {
 public:
  virtual ~Steps() = default;

  struct Begun {
    Bytes key;                    // the step's own, for the service: the same at each try
    std::optional<Bytes> result;  // it finished before: not to be called again
  };
  // `input`: what the step's call is made of, where that is more than the message; a step that
  // finished with another one parks the message.
  virtual Begun begin(std::string_view name, BytesView id, BytesView input) = 0;
  // Durable against power loss on return. Throws SemelError where the store is away for long.
  virtual void finish(std::string_view name, BytesView id, BytesView input, BytesView result) = 0;
};

}  // namespace semel
