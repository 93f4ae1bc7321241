// FileStoreFacts: the description of a store that only a file gives.
#pragma once

#include <vector>

#include "stores/sql/inspector.h"

namespace semel::sqlite {

// Each Access is that of a FileDatabase.
class FileStoreFacts final : public sql::StoreFacts {
 public:
  sql::VerifyWords words() const noexcept override;
  void describe(sql::Access& access, StoreStats& stats) override;
  void count_generations(sql::Access& access, StoreStats& stats) override;
  std::vector<StoreFinding> verify_tables(sql::Access& access, bool full) override;
  std::vector<StoreFinding> verify_generations(sql::Access& access, bool full) override;
};

// For all stores: they do not depend on the file.
const sql::VerifyTexts& verify_texts();

}  // namespace semel::sqlite
