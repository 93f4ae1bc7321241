// The procedures decide as the record machine does, in parallel with the C++ store: long random
// runs on one database.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "stores/mysql/test_functions.h"
#include "stores/sql/test_functions_model.h"

namespace semel::mysql {
namespace {

// The procedures of a FunctionsTest, as any client calls them.
class ModelClient final : public sql::FunctionsClient {
 public:
  ModelClient(ClientSession& session, ConsumerNumber consumer,
              std::function<void(milliseconds)> advance)
      : session_(session), consumer_(consumer), advance_(std::move(advance)) {}

  void begin_transaction() override { session_.ask("START TRANSACTION"); }
  void end_transaction(bool commits) override { session_.ask(commits ? "COMMIT" : "ROLLBACK"); }
  std::string claim(const std::string& key, const std::string& payload) override {
    session_.ask(fmt::format(
        "CALL semel_claim_into('payments', '{}', '{}', NULL, @outcome, @nonce, @result, @after, "
        "@reason)",
        key, payload));
    return session_.ask("SELECT @outcome, @reason");
  }
  std::string claim_many(const std::vector<std::string>& keys,
                         const std::vector<std::string>& payloads) override;
  Begun begin(const std::string& key, const std::string& payload, milliseconds lease,
              const std::optional<Nonce>& own_nonce) override;
  std::string renew(const std::string& key, const Nonce& nonce, milliseconds lease) override {
    return called("renew", key, nonce, seconds_in(lease));
  }
  std::string complete(const std::string& key, const Nonce& nonce,
                       const std::string& result) override {
    return called("complete", key, nonce, fmt::format("'{}'", result));
  }
  std::string retry(const std::string& key, const Nonce& nonce, milliseconds after,
                    const std::string& reason) override {
    return called("retry", key, nonce, fmt::format("{}, '{}', NULL", seconds_in(after), reason));
  }
  std::string dead(const std::string& key, const Nonce& nonce, const std::string& reason) override {
    return called("dead", key, nonce, fmt::format("'{}', NULL", reason));
  }
  std::string release(const std::string& key, const Nonce& nonce) override {
    return session_.ask(fmt::format("CALL semel_release('payments', '{}', {})", key, bytes(nonce)));
  }
  void forget(const KeyId& id) override {
    session_.ask(
        fmt::format("DELETE FROM semel_open WHERE id = {0}; DELETE FROM semel_record "
                    "WHERE id = {0}",
                    bytes(id.view())));
  }
  std::string stored(const KeyId& id, const Fingerprint& fingerprint) override {
    return session_.ask(fmt::format(
        "SELECT r.state, r.attempt, IF(r.outcome_unknown, 't', IF(r.outcome_unknown IS NULL, '', "
        "'f')), r.result, r.reason, IF(r.fingerprint = {}, 't', 'f'), IF(r.next_at IS NULL, 't', "
        "'f'), IF(r.lease_until IS NULL, 't', 'f') FROM semel_record AS r LEFT JOIN semel_open AS "
        "o ON o.id = r.id WHERE r.id = {} AND (o.id IS NULL) = (r.state = 'completed')",
        bytes(fingerprint.view()), bytes(id.view())));
  }
  void advance(milliseconds by) override { advance_(by); }

 private:
  static std::string bytes(BytesView content) { return fmt::format("x'{}'", digest::hex(content)); }
  static std::string bytes(const Nonce& nonce) { return bytes(sql::Param(nonce).bytes()); }
  static std::string seconds_in(milliseconds length) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(length).count());
  }
  std::string called(const char* function, const std::string& key, const Nonce& nonce,
                     const std::string& more) {
    return session_.ask(
        fmt::format("CALL semel_{}('payments', '{}', {}, {})", function, key, bytes(nonce), more));
  }

  ClientSession& session_;
  const ConsumerNumber consumer_;
  const std::function<void(milliseconds)> advance_;
};

std::string ModelClient::claim_many(const std::vector<std::string>& keys,
                                    const std::vector<std::string>& payloads) {
  std::string answered;
  for (const auto& row :
       session_.rows(fmt::format("CALL semel_claim_many('payments', '[\"{}\"]', '[\"{}\"]', NULL)",
                                 fmt::join(keys, "\", \""), fmt::join(payloads, "\", \"")))) {
    answered += fmt::format("{}{}|{}", answered.empty() ? "" : "\n", row.at(2), row.at(6));
  }
  return answered;
}

sql::FunctionsClient::Begun ModelClient::begin(const std::string& key, const std::string& payload,
                                               milliseconds lease,
                                               const std::optional<Nonce>& own_nonce) {
  const auto rows = session_.rows(
      fmt::format("CALL semel_begin('payments', '{}', '{}', NULL, {}, {})", key, payload,
                  seconds_in(lease), own_nonce ? bytes(*own_nonce) : "NULL"));
  const auto& row = rows.at(0);
  return begun_of(consumer_, key,
                  fmt::format("{}|{}|{}|{}|{}", row.at(0), digest::hex(row.at(1)), row.at(2),
                              row.at(3), row.at(4)));
}

class ProcedureModel : public FunctionsTest {};

TEST_P(ProcedureModel, TheyDecideAsTheRecordMachineDoes) {
  ModelClient client(client_, consumer_, [this](auto by) { advance(by); });
  sql::FunctionsModel(*store_, consumer_, client).run();
}

INSTANTIATE_TEST_SUITE_P(Servers, ProcedureModel, testing::ValuesIn(test::shared_mysql_servers()),
                         name_of_server);

}  // namespace
}  // namespace semel::mysql
