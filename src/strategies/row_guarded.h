// RowGuarded: a handler's statements behind those that look at the business row they are about.
#pragma once

#include <span>

#include <semel/strategy.h>

#include "strategies/pipeline.h"
#include "strategies/strategies.h"

namespace semel::strategies {

// The claim is the record, in the transaction that does the work; the context's row guard goes
// before the handler's statements, in the same flush. For pessimistic_lock and optimistic_lock.
class RowGuarded {
 public:
  explicit RowGuarded(Context context);

  // Ends every delivery of `batch` at `sink`. Several threads may call it.
  void run(std::span<Delivery> batch, EndingSink& sink) const;

 private:
  const Context context_;
  const Pipeline pipeline_;
};

}  // namespace semel::strategies
