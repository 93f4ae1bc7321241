// RunMarkers and Positions over the tables and the locks beside them.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/digest.h"
#include "stores/sqlite/core.h"

namespace semel::sqlite {
namespace {

class Runs final : public RunMarkers {
 public:
  explicit Runs(Core& core) : core_(core) {}

  Result<Begun> begin(ConsumerNumber consumer, std::size_t window) override {
    return contained([&] {
      const std::int64_t instance = core_.instances.number();
      core_.instances.sweep();
      WriteTransaction transaction(core_.writer, Sync::kPowerLoss, core_.options.busy);
      RunRows& runs = transaction.tables().runs;
      const RunRows::Died died = runs.take_died(consumer);
      runs.add_run(instance, consumer, window, transaction.now());
      transaction.commit();
      return Begun{died.any, died.window};
    });
  }

  Result<void> end(ConsumerNumber consumer) override {
    return contained([&] {
      const std::int64_t instance = core_.instances.number();
      WriteTransaction transaction(core_.writer, Sync::kProcessCrash, core_.options.busy);
      transaction.tables().runs.remove_run(instance, consumer);
      transaction.commit();
    });
  }

  Result<bool> sweep() override {
    return contained([&] { return core_.instances.sweep(); });
  }

  Result<int> count_crash(const Message& message) override {
    return contained([&] {
      WriteTransaction transaction(core_.writer, Sync::kProcessCrash, core_.options.busy);
      Tables& tables = transaction.tables();
      if (tables.generations.having(message.key().id) != nullptr) return 0;
      const int count = tables.runs.count_crash(message.key().id, transaction.now());
      transaction.commit();
      return count;
    });
  }

  Result<void> set_crashes(const Message& message, int crashes) override {
    return contained([&] {
      WriteTransaction transaction(core_.writer, Sync::kProcessCrash, core_.options.busy);
      transaction.tables().runs.set_crashes(message.key().id, crashes);
      transaction.commit();
    });
  }

 private:
  Core& core_;
};

std::int64_t reservation_byte(ConsumerNumber consumer, std::string_view partition) {
  const std::string number = std::to_string(static_cast<std::uint32_t>(consumer));
  const std::array<BytesView, 2> parts = {number, partition};
  const digest::Short bits = digest::shortened(digest::sha256_parts("semel.reservation", parts));
  std::uint64_t low = 0;
  for (std::size_t i = 0; i < sizeof low; ++i) low = low << 8U | bits[i];
  return lock_byte::kReservations +
         static_cast<std::int64_t>(low & static_cast<std::uint64_t>(lock_byte::kReservationMask));
}

class Lock final : public Positions::Reservation {
 public:
  explicit Lock(const std::string& side_file) : file_(side_file) {}
  bool take(std::int64_t byte) { return file_.try_lock(byte); }

 private:
  SideFile file_;
};

class SqlitePositions final : public Positions {
 public:
  explicit SqlitePositions(Core& core)
      : core_(core),
        save_(core.writer.connection(),
              "INSERT OR REPLACE INTO semel_position (consumer, partition, position, saved_at) "
              "VALUES (?1, ?2, ?3, ?4)") {}

  Result<std::optional<Bytes>> load(ConsumerNumber consumer, std::string_view partition) override {
    return contained([&] {
      return core_.reader.glance([&](Tables&, Connection& connection) -> std::optional<Bytes> {
        Prepared load(connection,
                      "SELECT position FROM semel_position WHERE consumer = ?1 AND partition = ?2");
        load.bind(1, consumer).bind_bytes(2, partition);
        const Reading reading(load);
        if (!load.next()) return std::nullopt;
        return load.text(0);
      });
    });
  }

  Result<void> save(ConsumerNumber consumer, std::string_view partition,
                    BytesView position) override {
    return contained([&] {
      WriteTransaction transaction(core_.writer, Sync::kProcessCrash, core_.options.busy);
      save_.bind(1, consumer)
          .bind_bytes(2, partition)
          .bind_bytes(3, position)
          .bind(4, transaction.now())
          .run();
      transaction.commit();
    });
  }

  Result<std::unique_ptr<Reservation>> reserve(ConsumerNumber consumer,
                                               std::string_view partition) override {
    return contained([&]() -> std::unique_ptr<Reservation> {
      auto lock = std::make_unique<Lock>(SideFile::path_for(core_.options.path));
      if (!lock->take(reservation_byte(consumer, partition))) {
        fail({ErrorKind::kBlocked, "R230",
              fmt::format("another process, or another part of this one, already reads \"{}\" for "
                          "this consumer",
                          partition),
              "one consumer of this name and file at a time"});
      }
      return lock;
    });
  }

 private:
  Core& core_;
  Prepared save_;
};

}  // namespace

std::unique_ptr<RunMarkers> make_run_markers(Core& core) { return std::make_unique<Runs>(core); }
std::unique_ptr<Positions> make_positions(Core& core) {
  return std::make_unique<SqlitePositions>(core);
}

}  // namespace semel::sqlite
