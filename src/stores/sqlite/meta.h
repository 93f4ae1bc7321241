// Meta: the single row of facts about the whole store.
#pragma once

#include <cstdint>

#include "stores/sqlite/prepared.h"

namespace semel::sqlite {

class Meta {
 public:
  explicit Meta(Connection& connection);

  struct Row {
    std::uint64_t epoch = 0;
    std::uint64_t token = 0;
    std::int64_t generations = 0;
    StoreTime clock_seen{};
    StoreTime clock_doubted{};
  };
  Row read();
  // Takes `count` tokens; returns the first. The counter must have room: see room_for.
  Token take_tokens(const Row& row, std::uint64_t count);
  static bool room_for(const Row& row, std::uint64_t count) noexcept;
  // Raises the epoch. Its transaction must be synced: after a power cut that forgot an epoch, its
  // tokens would repeat.
  void raise_epoch();
  void generations_moved();
  void set_clock(StoreTime seen, StoreTime doubted);

 private:
  Prepared read_;
  Prepared token_;
  Prepared epoch_;
  Prepared moved_;
  Prepared clock_;
};

}  // namespace semel::sqlite
