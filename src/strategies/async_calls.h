// AsyncCalls: asynchronous handlers of many batches in flight, and the recording of their answers.
//
// An answer may arrive on any thread at any time. It is noted there, and recorded by the context's
// completer together with others that arrived meanwhile, in one call to the store.
#pragma once

#include <memory>
#include <vector>

#include "strategies/calls.h"
#include "system/mutex.h"

namespace semel::strategies {

class AsyncCalls {
 public:
  // `context` is borrowed; its handler is asynchronous and it has a completer.
  explicit AsyncCalls(const Context& context) : context_(context) {}

  // Begins the calls and returns. The deliveries and `sink` must live until each has ended there.
  void begin(std::vector<Call> calls, OutcomeSink& sink);

 private:
  struct Batch;
  class Begun;
  struct Answered {
    std::shared_ptr<Batch> batch;
    std::size_t index;
    std::optional<Decision> decision;  // nullopt: it was not begun
  };

  void begin_one(const std::shared_ptr<Batch>& batch, std::size_t index);
  void take_down(Answered answered) SEMEL_EXCLUDES(mutex_);
  void record_all() SEMEL_EXCLUDES(mutex_);

  const Context& context_;
  system::Mutex mutex_;
  std::vector<Answered> answered_ SEMEL_GUARDED_BY(mutex_);
  bool posted_ SEMEL_GUARDED_BY(mutex_) = false;
};

}  // namespace semel::strategies
