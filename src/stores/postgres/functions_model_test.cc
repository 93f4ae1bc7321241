// The SQL functions decide as the record machine does, in parallel with the C++ store: long random
// runs on one database.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "stores/postgres/test_functions.h"
#include "stores/sql/test_functions_model.h"

namespace semel::postgres {
namespace {

// The functions of a FunctionsTest, as a client with libpq calls them.
class ModelClient final : public sql::FunctionsClient {
 public:
  ModelClient(ClientSession& session, ConsumerNumber consumer,
              std::function<void(milliseconds)> advance)
      : session_(session), consumer_(consumer), advance_(std::move(advance)) {}

  void begin_transaction() override { session_.ask("BEGIN"); }
  void end_transaction(bool commits) override { session_.ask(commits ? "COMMIT" : "ROLLBACK"); }
  std::string claim(const std::string& key, const std::string& payload) override {
    return session_.ask(fmt::format(
        "SELECT outcome, reason FROM semel.claim('payments', '{}', '{}')", key, payload));
  }
  std::string claim_many(const std::vector<std::string>& keys,
                         const std::vector<std::string>& payloads) override {
    return session_.ask(
        fmt::format("SELECT outcome, reason FROM semel.claim_many('payments', ARRAY['{}'], "
                    "ARRAY['{}']::bytea[]) ORDER BY ordinality",
                    fmt::join(keys, "', '"), fmt::join(payloads, "', '")));
  }
  Begun begin(const std::string& key, const std::string& payload, milliseconds lease,
              const std::optional<Nonce>& own_nonce) override;
  std::string renew(const std::string& key, const Nonce& nonce, milliseconds lease) override {
    return called("renew", key, nonce, interval_of(lease));
  }
  std::string complete(const std::string& key, const Nonce& nonce,
                       const std::string& result) override {
    return called("complete", key, nonce, fmt::format("'{}'", result));
  }
  std::string retry(const std::string& key, const Nonce& nonce, milliseconds after,
                    const std::string& reason) override {
    return called("retry", key, nonce, fmt::format("{}, '{}'", interval_of(after), reason));
  }
  std::string dead(const std::string& key, const Nonce& nonce, const std::string& reason) override {
    return called("dead", key, nonce, fmt::format("'{}'", reason));
  }
  std::string release(const std::string& key, const Nonce& nonce) override {
    return session_.ask(
        fmt::format("SELECT semel.release('payments', '{}', {})", key, bytes(nonce)));
  }
  void forget(const KeyId& id) override {
    session_.ask(fmt::format("DELETE FROM semel.semel_record WHERE id = {}", bytes(id.view())));
  }
  std::string stored(const KeyId& id, const Fingerprint& fingerprint) override {
    return session_.ask(
        fmt::format("SELECT state, attempt, outcome_unknown, convert_from(result, 'UTF8'), "
                    "convert_from(reason, 'UTF8'), fingerprint = {}, next_at IS NULL, "
                    "lease_until IS NULL FROM semel.semel_record WHERE id = {}",
                    bytes(fingerprint.view()), bytes(id.view())));
  }
  void advance(milliseconds by) override { advance_(by); }

 private:
  static std::string bytes(BytesView content) {
    return fmt::format("decode('{}', 'hex')", digest::hex(content));
  }
  static std::string bytes(const Nonce& nonce) { return bytes(sql::Param(nonce).bytes()); }
  static std::string interval_of(milliseconds length) {
    return fmt::format("interval '{} milliseconds'", length.count());
  }
  std::string called(const char* function, const std::string& key, const Nonce& nonce,
                     const std::string& more) {
    return session_.ask(fmt::format("SELECT semel.{}('payments', '{}', {}, {})", function, key,
                                    bytes(nonce), more));
  }

  ClientSession& session_;
  const ConsumerNumber consumer_;
  const std::function<void(milliseconds)> advance_;
};

sql::FunctionsClient::Begun ModelClient::begin(const std::string& key, const std::string& payload,
                                               milliseconds lease,
                                               const std::optional<Nonce>& own_nonce) {
  const std::string answer = session_.ask(fmt::format(
      "SELECT outcome, encode(nonce, 'hex'), token, attempt, taken_over FROM semel.begin("
      "'payments', '{}', '{}'::bytea, {}, own_nonce => {})",
      key, payload, interval_of(lease), own_nonce ? bytes(*own_nonce) : "NULL"));
  return begun_of(consumer_, key, answer);
}

class FunctionsModel : public FunctionsTest {};

TEST_F(FunctionsModel, TheyDecideAsTheRecordMachineDoes) {
  ModelClient client(client_, consumer_, [this](milliseconds by) { advance(by); });
  sql::FunctionsModel(*store_, consumer_, client).run();
}

}  // namespace
}  // namespace semel::postgres
