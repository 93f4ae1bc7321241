// Gates over one hash: for each shut consumer since when, until when, and why.
#include "stores/redis/gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stores/redis/lua.h"
#include "stores/redis/script_text.h"
#include "stores/redis/scripts.h"

namespace semel::redis {
namespace {

using std::chrono::milliseconds;

// Size of each of the two times, which come before the reason.
constexpr std::size_t kTimeBytes = 6;

StoreTime time_at(BytesView bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (const char byte : bytes.substr(at, kTimeBytes)) {
    value = value << 8U | static_cast<unsigned char>(byte);
  }
  return StoreTime(milliseconds(value));
}

class RedisGates final : public Gates {
 public:
  RedisGates(StoreContext& context, const std::string& clock)
      : context_(context),
        name_(context.names.of_store("gates")),
        state_(with_now(clock, fmt::format("{}{}", lua::kGate, lua::kGateState))),
        shut_(with_now(clock, fmt::format("{}{}", lua::kGate, lua::kGateShut))),
        open_(with_now(clock, fmt::format("{}{}", lua::kGate, lua::kGateOpen))),
        resume_(with_now(clock, fmt::format("{}{}", lua::kGate, lua::kGateResume))) {}

  Result<std::optional<ShutGate>> state(ConsumerNumber consumer) override {
    return core::contained([&]() -> std::optional<ShutGate> {
      const Bytes kept = ask(state_, consumer).bytes;
      if (kept.size() < 2 * kTimeBytes) return std::nullopt;
      ShutGate gate;
      gate.since = time_at(kept, 0);
      const StoreTime until = time_at(kept, kTimeBytes);
      if (until != StoreTime()) gate.until = until;
      gate.why = kept.substr(2 * kTimeBytes);
      return gate;
    });
  }

  Result<void> shut(ConsumerNumber consumer, std::string_view why,
                    std::optional<milliseconds> time) override {
    return core::contained([&] {
      Bytes length;
      if (time) length = std::to_string(std::max<std::int64_t>(time->count(), 0));
      ask(shut_, consumer, {Bytes(why), std::move(length)});
    });
  }

  Result<void> open(ConsumerNumber consumer) override {
    return core::contained([&] { ask(open_, consumer); });
  }

  Result<bool> resume(ConsumerNumber consumer) override {
    return core::contained([&] { return ask(resume_, consumer).number == 1; });
  }

 private:
  // Each of them is idempotent.
  Reply ask(Script& script, ConsumerNumber consumer, const std::vector<Bytes>& more = {}) {
    Call call;
    call.keys = {name_};
    call.arguments = {std::to_string(static_cast<std::uint32_t>(consumer))};
    for (const Bytes& one : more) call.arguments.push_back(one);
    return context_.run_one(script, call, Loss::kNothingDone);
  }

  StoreContext& context_;
  const std::string name_;
  Script state_;
  Script shut_;
  Script open_;
  Script resume_;
};

}  // namespace

std::unique_ptr<Gates> make_gates(StoreContext& context, const std::string& clock) {
  return std::make_unique<RedisGates>(context, clock);
}

}  // namespace semel::redis
