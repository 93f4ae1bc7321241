// Positions over one hash, and reservations of names by one reader at a time.
#include "stores/redis/positions.h"

#include <fmt/format.h>

#include <utility>

#include "stores/redis/reservation.h"

namespace semel::redis {
namespace {

class RedisPositions final : public Positions {
 public:
  explicit RedisPositions(Core& core)
      : core_(core),
        positions_(core.names.of_store("positions")),
        readers_(core.names.of_store("reader:")) {}

  Result<std::optional<Bytes>> load(ConsumerNumber consumer, std::string_view partition) override {
    return core::contained([&]() -> std::optional<Bytes> {
      const std::string whose = field(consumer, partition);
      Reply reply = core_.router.ask({"HGET", positions_, whose}, Loss::kNothingDone);
      if (reply.kind == Reply::Kind::kNil) return std::nullopt;
      return std::move(reply.bytes);
    });
  }

  // Idempotent.
  Result<void> save(ConsumerNumber consumer, std::string_view partition,
                    BytesView position) override {
    return core::contained([&] {
      const std::string whose = field(consumer, partition);
      core_.router.ask({"HSET", positions_, whose, position}, Loss::kNothingDone);
    });
  }

  Result<std::unique_ptr<Reservation>> reserve(ConsumerNumber consumer,
                                               std::string_view partition) override {
    return core::contained([&]() -> std::unique_ptr<Reservation> {
      const auto connect = [this] {
        return core_.router.connect_to(*core_.router.owner(positions_));
      };
      auto held = HeldName::take(readers_ + field(consumer, partition), connect, scripts_,
                                 *core_.environment.random, {});
      if (held) return held;
      core::fail({ErrorKind::kBlocked, "R230",
                  fmt::format("another process, or another part of this one, already reads \"{}\" "
                              "for this consumer",
                              partition),
                  "one consumer of this name and file at a time"});
    });
  }

 private:
  static std::string field(ConsumerNumber consumer, std::string_view partition) {
    return fmt::format("{}:{}", static_cast<std::uint32_t>(consumer), partition);
  }

  Core& core_;
  const std::string positions_;
  const std::string readers_;
  const std::shared_ptr<NameScripts> scripts_ = std::make_shared<NameScripts>();
};

}  // namespace

std::unique_ptr<Positions> make_positions(Core& core) {
  return std::make_unique<RedisPositions>(core);
}

}  // namespace semel::redis
