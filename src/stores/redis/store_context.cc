#include "stores/redis/store_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace semel::redis {
namespace {

// Bytes of a value for each message, in addition to its payload and headers.
constexpr std::size_t kBesideMessage = 1 << 10;

// If some of the calls sent together were refused, the others were carried out.
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

void StoreContext::need_room(std::size_t bytes, std::size_t messages) const {
  const std::size_t beside = messages * kBesideMessage;
  if (beside <= largest && bytes <= largest - beside) return;
  core::fail(
      {ErrorKind::kLimit, "R200",
       fmt::format("a message of {} bytes is more than the Redis server takes: {}", bytes, largest),
       "raise proto-max-bulk-len on the server"});
}

std::size_t bytes_of(BytesView payload, const Headers& headers) noexcept {
  std::size_t bytes = payload.size();
  for (const Header& header : headers) bytes += header.name.size() + header.value.size();
  return bytes;
}

void StoreContext::stay_known(Loss loss) {
  if (life_signs == nullptr) return;
  try {
    life_signs->stay_known();
  } catch (const core::Failure& failed) {
    if (loss == Loss::kInDoubt) throw in_doubt(failed);
    throw;
  }
}

std::vector<Reply> StoreContext::run(Script& script, std::span<const Call> calls, Loss loss) {
  std::vector<Reply> replies = router.run(script, calls, loss);
  for (const Reply& reply : replies) {
    if (reply.is_error()) throw refused_among(reply, replies);
  }
  return replies;
}

Reply StoreContext::run_one(Script& script, const Call& call, Loss loss) {
  return std::move(run(script, {&call, 1}, loss).front());
}

}  // namespace semel::redis
