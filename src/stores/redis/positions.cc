// Positions over one hash, and names that one reader at a time has.
#include "stores/redis/positions.h"

#include <fmt/format.h>

#include <utility>

#include "stores/redis/reservation.h"

namespace semel::redis {
namespace {

class RedisPositions final : public Positions {
 public:
  RedisPositions(Pool& pool, const Names& names, Pool::Connect connect, Environment& environment)
      : pool_(pool),
        positions_(names.of_store("positions")),
        readers_(names.of_store("reader:")),
        connect_(std::move(connect)),
        environment_(environment) {}

  Result<std::optional<Bytes>> load(ConsumerNumber consumer, std::string_view partition) override {
    return core::contained([&]() -> std::optional<Bytes> {
      Lent wire(pool_);
      Reply reply = wire->ask({"HGET", positions_, field(consumer, partition)}, Loss::kNothingDone);
      if (reply.kind == Reply::Kind::kNil) return std::nullopt;
      return std::move(reply.bytes);
    });
  }

  // Said twice it comes to the same.
  Result<void> save(ConsumerNumber consumer, std::string_view partition,
                    BytesView position) override {
    return core::contained([&] {
      Lent wire(pool_);
      wire->ask({"HSET", positions_, field(consumer, partition), position}, Loss::kNothingDone);
    });
  }

  Result<std::unique_ptr<Reservation>> reserve(ConsumerNumber consumer,
                                               std::string_view partition) override {
    return core::contained([&]() -> std::unique_ptr<Reservation> {
      auto held = HeldName::take(readers_ + field(consumer, partition), connect_, scripts_,
                                 *environment_.random, {});
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

  Pool& pool_;
  const std::string positions_;
  const std::string readers_;
  const Pool::Connect connect_;
  Environment& environment_;
  const std::shared_ptr<NameScripts> scripts_ = std::make_shared<NameScripts>();
};

}  // namespace

std::unique_ptr<Positions> make_positions(Pool& pool, const Names& names, Pool::Connect connect,
                                          Environment& environment) {
  return std::make_unique<RedisPositions>(pool, names, std::move(connect), environment);
}

}  // namespace semel::redis
