// transacted: a whole transaction, repeated where the server undid it.
#pragma once

#include <type_traits>

#include "stores/sql/pool.h"

namespace semel::sql {

// Runs `done(work)` in a transaction and commits it. If the server ended it because of another one
// (a deadlock), it runs again, a few times: so `done` must not accumulate changes outside of the
// database.
template <class Done>
auto transacted(Pool& pool, Done&& done) -> std::invoke_result_t<Done&, ScopedTransaction&> {
  constexpr int kMostTries = 5;
  for (int tries = 1;; ++tries) {
    try {
      ScopedTransaction work(pool);
      if constexpr (std::is_void_v<std::invoke_result_t<Done&, ScopedTransaction&>>) {
        done(work);
        work.commit();
        return;
      } else {
        auto result = done(work);
        work.commit();
        return result;
      }
    } catch (const Failure& failed) {
      if (failed.error().kind != ErrorKind::kRetryTransaction || tries >= kMostTries) throw;
    }
  }
}

}  // namespace semel::sql
