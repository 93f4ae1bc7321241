// Positions over one hash, and reservations of names by one reader at a time.
#include "stores/redis/positions.h"

#include <fmt/format.h>

#include <utility>

#include "stores/redis/reservation.h"

namespace semel::redis {
namespace {

class RedisPositions final : public Positions {
 public:
  explicit RedisPositions(StoreContext& context)
      : context_(context),
        positions_(context.names.of_store("positions")),
        readers_(context.names.of_store("reader:")) {}

  Result<std::optional<Bytes>> load(ConsumerNumber consumer, std::string_view partition) override {
    return core::contained([&]() -> std::optional<Bytes> {
      const std::string whose = field(consumer, partition);
      Reply reply = context_.router.ask({"HGET", positions_, whose}, Loss::kNothingDone);
      if (reply.kind == Reply::Kind::kNil) return std::nullopt;
      return std::move(reply.bytes);
    });
  }

  // Idempotent.
  Result<void> save(ConsumerNumber consumer, std::string_view partition,
                    BytesView position) override {
    return core::contained([&] {
      const std::string whose = field(consumer, partition);
      context_.router.ask({"HSET", positions_, whose, position}, Loss::kNothingDone);
    });
  }

  Result<std::unique_ptr<Reservation>> reserve(ConsumerNumber consumer,
                                               std::string_view partition) override {
    return core::contained([&]() -> std::unique_ptr<Reservation> {
      const auto connect = [this] {
        return context_.router.connect_to(*context_.router.owner(positions_));
      };
      auto held = NameReservation::take(readers_ + field(consumer, partition), connect, scripts_,
                                        *context_.environment.random, {});
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

  StoreContext& context_;
  const std::string positions_;
  const std::string readers_;
  const std::shared_ptr<NameScripts> scripts_ = std::make_shared<NameScripts>();
};

}  // namespace

std::unique_ptr<Positions> make_positions(StoreContext& context) {
  return std::make_unique<RedisPositions>(context);
}

}  // namespace semel::redis
