#include "stores/sql/audit.h"

#include "stores/sql/held_content.h"

namespace semel::sql {
namespace {

class TableAudit final : public AuditLog {
 public:
  explicit TableAudit(Database& database) : database_(database) {}

  Result<std::int64_t> append(const Nonce& request, const AuditEntry& entry) override {
    return contained([&] {
      return database_.transact(Sync::kPowerLoss, [&](Access& access) {
        return access.tables().audit.add(request, entry, access.now());
      });
    });
  }

  Result<void> end(std::int64_t id, std::string_view outcome) override {
    return contained([&] {
      database_.change(Sync::kPowerLoss,
                       [&](Access& access) { access.tables().audit.end(id, outcome); });
    });
  }

  Result<std::vector<AuditEntry>> list(std::optional<std::int64_t> before,
                                       std::size_t limit) override {
    return contained([&] {
      return database_.glance(
          [&](Access& access) { return access.tables().audit.list(before, limit); });
    });
  }

 private:
  Database& database_;
};

}  // namespace

std::unique_ptr<AuditLog> make_audit(Database& database) {
  return std::make_unique<TableAudit>(database);
}

}  // namespace semel::sql
