#include "stores/postgres/named_statements.h"

#include <libpq-fe.h>

#include "base/digest.h"

namespace semel::postgres {
namespace {

std::string name_of(const std::string& sql, const WireParams& params) {
  const BytesView types(reinterpret_cast<const char*>(params.types()),
                        static_cast<std::size_t>(params.count()) * sizeof(Oid));
  const BytesView parts[] = {sql, types};
  const digest::Short digest = digest::shortened(digest::sha256_parts("semel.statement", parts));
  return "semel_" + digest::hex(digest::view(digest));
}

}  // namespace

const std::string& NamedStatements::list() noexcept {
  static const std::string text =
      "SELECT name FROM pg_catalog.pg_prepared_statements WHERE name LIKE 'semel\\_%'";
  return text;
}

void NamedStatements::begin_unit(int backend) {
  ++units_;
  if (backend == backend_) return;
  backend_ = backend;
  refusals_ = 0;
  looks_ = true;
}

void NamedStatements::found(const PGresult* names) {
  looks_ = false;
  there_.clear();
  for (int row = 0; row < PQntuples(names); ++row) there_.insert(PQgetvalue(names, row, 0));
  count_ = there_.size();
  for (auto& [sql, one] : texts_) {
    one.there = there_.contains(one.name);
    one.outdated = one.outdated && one.there;
  }
}

NamedStatements::Named* NamedStatements::of(const std::string& sql, const WireParams& params) {
  if (looks_ || given_up()) return nullptr;
  if (last_ == nullptr || last_->first != sql) {
    auto found = texts_.find(sql);
    if (found == texts_.end()) {
      if (texts_.size() >= kMost) return nullptr;
      found = texts_.try_emplace(sql).first;
      found->second.name = name_of(sql, params);
      found->second.there = there_.contains(found->second.name);
    }
    last_ = &*found;
  }
  Named& one = last_->second;
  return one.there || count_ < kMost ? &one : nullptr;
}

void NamedStatements::prepares(Named& one) noexcept {
  if (!one.there) ++count_;
  one.there = true;
  one.outdated = false;
  one.unit = units_;
}

void NamedStatements::not_there(Named& one) noexcept {
  if (one.there) --count_;
  one.there = false;
}

void NamedStatements::refused() noexcept {
  ++refusals_;
  looks_ = true;
}

}  // namespace semel::postgres
