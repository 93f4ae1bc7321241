#include "handlers/sql/row_guards.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "core/row_rules.h"
#include "core/transaction_recorder.h"
#include "handlers/sql/param_value.h"
#include "handlers/sql/sql_handler.h"

namespace semel::handlers {

namespace {

// A number and its text are equal here, because a column takes both for the same row.
std::string text_of(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return fmt::format("={}", *number);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("={}", *real);
  if (const auto* text = std::get_if<std::string>(&value)) return '=' + *text;
  if (const auto* blob = std::get_if<Blob>(&value)) return '=' + blob->bytes;
  if (const auto* decimal = std::get_if<Decimal>(&value)) return '=' + decimal->text;
  return "";
}

// Names the row that `recorded` reads. The name is the same in every consumer.
LockName name_of(const RecordedStatement& recorded) {
  std::vector<std::string> texts = {recorded.statement->sql};
  for (const Value& value : recorded.values) texts.push_back(text_of(value));
  const std::vector<BytesView> parts(texts.begin(), texts.end());
  return {digest::shortened(digest::sha256_parts("semel.lock", parts))};
}

Result<TransactionalHandler> recorder_of(std::string sql,
                                         const std::map<std::string, core::SqlParam>& params,
                                         core::Decimals decimals) {
  core::SqlSpec spec;
  spec.params = params;
  spec.statements.push_back({std::move(sql), std::nullopt, {}});
  return make_sql_handler(spec, decimals);
}

std::int64_t version_of(const core::SqlParam& from, const Message& message) {
  thread_local json::Document document;
  if (message.known_json()) {
    document.parse_known(message.payload());
  } else if (auto parsed = document.parse(message.payload()); !parsed) {
    throw PayloadInvalid({ErrorKind::kRejected, {}, parsed.error().message, {}});
  }
  auto scalar = document.at(from.pointer);
  if (!scalar) {
    throw PayloadInvalid(
        {ErrorKind::kRejected, {}, "parameter :version: " + scalar.error().message, {}});
  }
  const Value value = param_value("version", from, core::Decimals::kDoubles, *std::move(scalar));
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  throw PayloadInvalid(
      {ErrorKind::kRejected, {}, "parameter :version must be an integer, and is null", {}});
}

}  // namespace

Result<RowGuard> make_lock_guard(const core::LockSpec& spec, core::RowLocks locks,
                                 core::Decimals decimals) {
  auto select = core::lock_select(spec.select, spec.done_when, locks);
  if (!select) return failure(std::move(select.error()));
  auto record = recorder_of(*std::move(select), spec.params, decimals);
  if (!record) return failure(std::move(record.error()));
  return RowGuard([record = *std::move(record), rule = core::done_rule()](
                      const Message& message, Transaction& transaction) {
    // The verdict is always the same, since `record` only records the statement.
    (void)record(message, transaction);
    auto& recorder = core::TransactionRecorder::of(transaction);
    RecordedStatement& recorded = recorder.statements().back();
    recorded.lock = name_of(recorded);
    recorded.rule = rule;
  });
}

Result<RowGuard> make_version_guard(const core::VersionSpec& spec, core::RowLocks locks,
                                    core::Decimals decimals) {
  auto select = core::version_select(spec.current, locks);
  if (!select) return failure(std::move(select.error()));
  auto record = recorder_of(std::move(select->sql), spec.params, decimals);
  if (!record) return failure(std::move(record.error()));
  core::SqlParam from = spec.from;
  from.type = core::SqlParam::Type::kInteger;
  from.optional = false;
  return RowGuard(
      [record = *std::move(record), from = std::move(from), table = std::move(select->table),
       missing = spec.missing,
       written = core::written_rule()](const Message& message, Transaction& transaction) {
        const std::int64_t version = version_of(from, message);
        // The verdict is always the same, since `record` only records the statement.
        (void)record(message, transaction);
        auto& recorder = core::TransactionRecorder::of(transaction);
        RecordedStatement& recorded = recorder.statements().back();
        recorded.rule = core::version_rule(version, missing);
        recorded.version = RowVersion{name_of(recorded), version};
        recorder.judge_first_write(table, written);
      });
}

}  // namespace semel::handlers
