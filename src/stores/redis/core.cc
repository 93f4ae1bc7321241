#include "stores/redis/core.h"

#include <algorithm>
#include <utility>

namespace semel::redis {
namespace {

// Where a part of what was sent together was refused, the rest was done.
core::Failure refused_among(const Reply& refused, std::span<const Reply> all) {
  Error error = failure_of(refused).error();
  const bool all_refused = std::ranges::all_of(all, &Reply::is_error);
  if (!all_refused) error.kind = ErrorKind::kInDoubt;
  return {std::move(error), 1};
}

}  // namespace

void refuse_recipe(const std::string& consumer) {
  core::fail({ErrorKind::kRejected, "R220",
              "the key recipe of consumer \"" + consumer +
                  "\" changed: every key would be new, and what was handled before would be "
                  "handled again",
              "accept: [key_recipe] on the consumer, or the recipe as it was"});
}

std::vector<Reply> Core::run(Script& script, std::span<const Call> calls, Loss loss) {
  std::vector<Reply> replies = router.run(script, calls, loss);
  for (const Reply& reply : replies) {
    if (reply.is_error()) throw refused_among(reply, replies);
  }
  return replies;
}

Reply Core::run_one(Script& script, const Call& call, Loss loss) {
  return std::move(run(script, {&call, 1}, loss).front());
}

}  // namespace semel::redis
