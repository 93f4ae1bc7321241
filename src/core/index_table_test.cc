#include "core/index_table.h"

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <random>

namespace semel::core {
namespace {

// Few distinct hashes, so that most entries are away from their own slots.
TEST(IndexTable, AgreesWithAMap) {
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  for (int run = 0; run < 50; ++run) {
    IndexTable table;
    std::map<IndexTable::Index, std::uint64_t> model;
    const std::uint64_t hashes = 1 + random() % 200;
    for (int step = 0; step < 2'000; ++step) {
      const auto index = static_cast<IndexTable::Index>(random() % 300);
      const auto known = model.find(index);
      if (known == model.end()) {
        const std::uint64_t hash = random() % hashes;
        model.emplace(index, hash);
        table.insert(hash, index);
      } else {
        table.erase(known->second, index);
        model.erase(known);
      }
      ASSERT_EQ(table.size(), model.size());
    }
    for (IndexTable::Index index = 0; index < 300; ++index) {
      const auto known = model.find(index);
      for (std::uint64_t hash = 0; hash < hashes; hash += 7) {
        const bool here = known != model.end() && known->second == hash;
        ASSERT_EQ(table.find(hash, [&](auto i) { return i == index; }),
                  here ? index : IndexTable::kNone)
            << "seed " << seed;
      }
      if (known != model.end()) {
        ASSERT_EQ(table.find(known->second, [&](auto i) { return i == index; }), index)
            << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace semel::core
