// Attempt: the attempt at a message that a handler is running, and when it should stop.
//
// Borrowed for the call; read it from any thread that the call uses.
#pragma once

#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <semel/gate.h>
#include <semel/spi/lease.h>
#include <semel/steps.h>

namespace semel {

struct Attempt {
  int number = 1;  // counts from 1
  // An earlier attempt ended with an unknown outcome; its effect may already exist.
  bool taken_over = false;
  std::chrono::milliseconds since_first{0};  // since the key was first met, by the store's clock
  std::string_view position{};  // of this copy within its source; valid during the call only
  // Fence for outside services: grows with each claim. Zero where the record's transaction is the
  // fence.
  Token token{};
  // Fires when the handler's timeout passes, the lease is lost, or a drain reaches its deadline. A
  // handler that ignores it is not killed; its late result is refused.
  std::stop_token stop{};
  // The consumer's gate, where a runner runs the handler; else null. Valid until the call is
  // answered.
  Gate* gate = nullptr;
  // The message's steps. Null where the store keeps no journal, the strategy has no lease, or the
  // handler does not end when it returns. Valid during the call only.
  Steps* steps = nullptr;

  // Returns the result of a step that finished in an earlier attempt; if none did, calls `work` and
  // journals its result before this returns. `work` takes the step's key (const Bytes&) or nothing,
  // and returns its result or nothing; its exceptions pass through. `id`: the business id, which
  // distinguishes steps of one name. Throws std::logic_error where there is no journal; else as
  // Steps.
  template <class F>
  Bytes step(std::string_view name, BytesView id, F&& work, BytesView input = {}) const {
    if (steps == nullptr) {
      throw std::logic_error(
          "step \"" + std::string(name) +
          "\": there is no journal here (semel explain E063 says where there is)");
    }
    Steps::Begun begun = steps->begin(name, id, input);
    if (begun.result) return *std::move(begun.result);
    Bytes result;
    if constexpr (std::is_invocable_v<F&, const Bytes&>) {
      result = result_of(work, begun.key);
    } else {
      result = result_of(work);
    }
    steps->finish(name, id, input, result);
    return result;
  }

 private:
  template <class F, class... Args>
  static Bytes result_of(F& work, const Args&... args) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, const Args&...>>) {
      work(args...);
      return {};
    } else {
      return Bytes(work(args...));
    }
  }
};

}  // namespace semel
