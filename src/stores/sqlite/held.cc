// HeldMessages over the table.
#include <utility>

#include "stores/sqlite/core.h"

namespace semel::sqlite {
namespace {

using std::chrono::milliseconds;

HeldContent content_of(ConsumerNumber consumer, const HeldMessage& message, StoreTime now) {
  HeldContent content;
  content.consumer = consumer;
  content.due = after(now, message.delay);
  if (message.key) content.key = *message.key;
  content.payload = message.payload;
  content.headers = &message.headers;
  content.content_type = message.content_type;
  content.type = message.type;
  return content;
}

class Held final : public HeldMessages {
 public:
  explicit Held(Core& core) : core_(core) {}

  Result<void> append(ConsumerNumber consumer, std::span<const HeldMessage> messages) override {
    return contained([&] {
      if (messages.empty()) return;
      WriteTransaction transaction(core_.writer, Sync::kPowerLoss, core_.options.busy);
      const StoreTime now = transaction.now();
      for (const HeldMessage& message : messages) {
        transaction.tables().held.add(content_of(consumer, message, now), now);
      }
      transaction.commit();
    });
  }

  Result<std::vector<Arrival>> take(ConsumerNumber consumer, std::size_t max_messages,
                                    std::size_t max_bytes, milliseconds hidden) override {
    return contained([&] {
      // Before the look: what comes during it wakes again.
      core_.wake_ups.drain(consumer);
      std::vector<Arrival> taken;
      // Nothing is written, and no turn is waited for, where nothing is due.
      if (max_messages == 0 || !any_due(consumer)) return taken;
      const std::int64_t instance = core_.instances.number();
      WriteTransaction transaction(core_.writer, Sync::kProcessCrash, core_.options.busy);
      HeldRows& held = transaction.tables().held;
      const StoreTime now = transaction.now();
      taken = held.due(consumer, max_messages, max_bytes, now);
      for (const Arrival& arrival : taken) held.take(*arrival.row, instance, after(now, hidden));
      // This commit wakes nobody here: what others had added before it was looked at.
      transaction.commit([&] { core_.wake_ups.drain(consumer); });
      return taken;
    });
  }

  Result<void> release(std::span<const RowTag> rows, milliseconds delay) override {
    return change(
        rows, [&](HeldRows& held, RowTag row, StoreTime now) { held.release(row, delay, now); });
  }

  Result<void> extend(std::span<const RowTag> rows, milliseconds hidden) override {
    return change(rows, [&](HeldRows& held, RowTag row, StoreTime now) {
      held.hide(row, after(now, hidden), now);
    });
  }

  Result<void> remove(std::span<const RowTag> rows) override {
    return change(
        rows, [](HeldRows& held, RowTag row, StoreTime) { held.remove(row); }, Sync::kPowerLoss);
  }

  Result<Depth> depth(ConsumerNumber consumer) override {
    return contained([&] {
      return core_.reader.glance([&](Tables& tables, Connection&) {
        return tables.held.depth(consumer, core_.clock.now());
      });
    });
  }

  int wake_fd() noexcept override { return core_.wake_ups.fd(std::nullopt); }
  int wake_fd(ConsumerNumber consumer) noexcept override { return core_.wake_ups.fd(consumer); }

 private:
  bool any_due(ConsumerNumber consumer) {
    return core_.reader.glance([&](Tables& tables, Connection&) {
      return tables.held.any_due(consumer, core_.clock.now());
    });
  }

  // A row that shows too early or too late after a power cut meets its record.
  template <class Work>
  Result<void> change(std::span<const RowTag> rows, Work&& work, Sync sync = Sync::kProcessCrash) {
    return contained([&] {
      if (rows.empty()) return;
      WriteTransaction transaction(core_.writer, sync, core_.options.busy);
      const StoreTime now = transaction.now();
      for (const RowTag row : rows) work(transaction.tables().held, row, now);
      transaction.commit();
    });
  }

  Core& core_;
};

}  // namespace

std::unique_ptr<HeldMessages> make_held(Core& core) { return std::make_unique<Held>(core); }

}  // namespace semel::sqlite
