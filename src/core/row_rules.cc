#include "core/row_rules.h"
#include "core/verdict_details.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include <semel/reason.h>

namespace semel::core {
namespace {

Otherwise duplicate() {
  Otherwise made;
  made.duplicate = true;
  return made;
}

Otherwise coded(Verdict verdict, std::string_view code) {
  set_code(verdict, std::string(code));
  return {std::move(verdict), false};
}

// Numbers that fit no 64-bit integer of the database arrive as texts.
std::optional<std::int64_t> integer_of(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

class DoneRule final : public RowsRule {
 public:
  std::optional<Otherwise> judge(std::int64_t, const Rows& rows) const noexcept override {
    const auto is_done = [](const std::vector<Value>& row) {
      return !row.empty() && integer_of(row.back()) == 1;
    };
    if (rows.rows.empty() || !std::all_of(rows.rows.begin(), rows.rows.end(), is_done)) {
      return std::nullopt;
    }
    return duplicate();
  }
};

class VersionRule final : public RowsRule {
 public:
  VersionRule(std::int64_t version, VersionSpec::Missing missing)
      : version_(version), missing_(missing) {}

  std::optional<Otherwise> judge(std::int64_t, const Rows& rows) const noexcept override {
    if (rows.rows.empty()) return without_row();
    if (rows.rows.size() > 1 || rows.rows.front().size() != 1) {
      return coded(
          dead(fmt::format("version.current gave {} rows of {} columns, and must give one of one",
                           rows.rows.size(), rows.rows.front().size())),
          reason::kVersionInvalid);
    }
    const auto current = integer_of(rows.rows.front().front());
    if (!current) {
      return coded(dead("the version in the row is NULL, or no integer"), reason::kVersionInvalid);
    }
    if (*current > version_) return duplicate();
    if (*current == version_) return std::nullopt;
    Otherwise early = coded(
        retry(fmt::format("the message is based on version {}, and the row has version {} yet",
                          version_, *current)),
        reason::kVersionEarly);
    early.early_for = *current;
    return early;
  }

 private:
  std::optional<Otherwise> without_row() const {
    switch (missing_) {
      case VersionSpec::Missing::kRetry:
        return coded(retry(fmt::format("there is no row yet to have version {}", version_)),
                     reason::kVersionMissing);
      case VersionSpec::Missing::kDuplicate:
        return duplicate();
      case VersionSpec::Missing::kDeadLetter:
        return coded(dead(fmt::format("there is no row to have version {}", version_)),
                     reason::kVersionMissing);
      case VersionSpec::Missing::kHandle:
        break;
    }
    return std::nullopt;
  }

  const std::int64_t version_;
  const VersionSpec::Missing missing_;
};

class WrittenRule final : public RowsRule {
 public:
  std::optional<Otherwise> judge(std::int64_t count, const Rows&) const noexcept override {
    if (count > 0) return std::nullopt;
    return coded(retry("the write behind the version's comparison changed no row: another "
                       "transaction came in between, or it compares with another version"),
                 reason::kVersionLost);
  }
};

}  // namespace

std::shared_ptr<const RowsRule> done_rule() { return std::make_shared<const DoneRule>(); }

std::shared_ptr<const RowsRule> version_rule(std::int64_t version, VersionSpec::Missing missing) {
  return std::make_shared<const VersionRule>(version, missing);
}

std::shared_ptr<const RowsRule> written_rule() { return std::make_shared<const WrittenRule>(); }

}  // namespace semel::core
