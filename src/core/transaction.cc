#include <semel/transaction.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/transaction_recorder.h"

namespace semel {

Transaction::Recorded& Transaction::Recorded::expect_rows(std::int64_t rows, Verdict otherwise) {
  RecordedStatement& statement = recorder_.statements()[index_];
  statement.expect_rows = rows;
  statement.otherwise = Otherwise{std::move(otherwise), false};
  return *this;
}

Transaction::Recorded& Transaction::Recorded::on_unique_violation(std::string constraint,
                                                                  Verdict otherwise) {
  std::shared_ptr<const std::vector<UniqueRule>>& rules =
      recorder_.statements()[index_].unique_rules;
  auto more = rules ? std::make_shared<std::vector<UniqueRule>>(*rules)
                    : std::make_shared<std::vector<UniqueRule>>();
  more->push_back({std::move(constraint), Otherwise{std::move(otherwise), false}});
  rules = std::move(more);
  return *this;
}

Transaction::Recorded Transaction::record(std::string_view sql, std::vector<Value> values) {
  recorder_.record(sql, std::move(values));
  return Recorded(recorder_, recorder_.statements().size() - 1);
}

Rows Transaction::query_values(std::string_view sql, std::vector<Value> values) {
  return recorder_.query(sql, std::move(values));
}

void Transaction::publish(std::string destination, OutgoingMessage message) {
  recorder_.publications().push_back({std::move(destination), std::move(message)});
}

}  // namespace semel
