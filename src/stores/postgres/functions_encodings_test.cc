// SQL functions in databases with another encoding than UTF-8.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/digest.h"
#include "core/key_encoding.h"
#include "stores/postgres/test_functions.h"
#include "tests/support/builders.h"

namespace semel::postgres {
namespace {

// A store in a database of its own, and a client that uses the database's encoding.
class EncodedDatabase {
 public:
  explicit EncodedDatabase(const std::string& encoding)
      : name_(test::PostgresServer::shared().new_database() + "_encoded") {
    server().query("postgres", fmt::format("CREATE DATABASE {} ENCODING '{}' TEMPLATE template0 "
                                           "LC_COLLATE 'C' LC_CTYPE 'C'",
                                           name_, encoding));
    PostgresOptions options;
    options.url = server().url(name_);
    store_ = open_postgres(options).value();
    consumer_ = store_->attach({"payments", "recipe", false, std::nullopt}).value();
    client_ = std::make_unique<ClientSession>(options.url);
    client_->ask(fmt::format("SET client_encoding = '{}'", encoding));
    make_functions(client_->connection(), "semel");
  }
  ~EncodedDatabase() {
    client_.reset();
    store_.reset();
    server().query("postgres", fmt::format("DROP DATABASE {} WITH (FORCE)", name_));
  }
  EncodedDatabase(const EncodedDatabase&) = delete;
  EncodedDatabase& operator=(const EncodedDatabase&) = delete;

  Store& store() { return *store_; }
  ConsumerNumber consumer() const { return consumer_; }
  ClientSession& client() { return *client_; }
  std::string id_of(std::string_view key) {
    return client_->ask(fmt::format("SELECT encode(semel.semel_key_id({}, '{}'), 'hex')",
                                    static_cast<std::uint32_t>(consumer_), key));
  }
  std::string id_in_store(std::string_view key) const {
    return digest::hex(core::encode_key(consumer_, key).view());
  }

 private:
  static const test::PostgresServer& server() { return test::PostgresServer::shared(); }

  const std::string name_;
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
  std::unique_ptr<ClientSession> client_;
};

constexpr std::string_view kKeyInLatin1 = "Gr\xFC\xDF\x65";
constexpr std::string_view kKeyInUtf8 = "Grüße";
constexpr std::string_view kNoUtf8 = "\xFF\xFE";

TEST(FunctionsEncodings, AKeyOfAnotherEncodingIsTheKeyThatItMeans) {
  EncodedDatabase latin("LATIN1");
  EXPECT_EQ(latin.id_of(kKeyInLatin1), latin.id_in_store(kKeyInUtf8));
  EXPECT_EQ(latin.client().ask(fmt::format(
                "SELECT outcome FROM semel.claim('payments', '{0}', '{0}')", kKeyInLatin1)),
            "new");
  const Message message = test::make_message(latin.consumer(), kKeyInUtf8, kKeyInUtf8);
  const Message* const one = &message;
  const auto claims = latin.store().claim({&one, 1}, {std::chrono::minutes(1), {}, false});
  ASSERT_TRUE(claims.has_value()) << claims.error().message;
  EXPECT_TRUE(std::holds_alternative<Completed>(claims->front()));
}

TEST(FunctionsEncodings, ATextThatIsNotUtf8IsRefusedAndItAlone) {
  EncodedDatabase raw("SQL_ASCII");
  EXPECT_EQ(raw.id_of(kKeyInUtf8), raw.id_in_store(kKeyInUtf8));
  for (const char* const call :
       {"claim('payments', '{}')", "begin('payments', '{}')", "claim('payments', 'k', '{}'::text)",
        "begin('payments', 'k', '{}'::text)", "publish('payments', '{}'::text)",
        "publish('payments', 'm', '{}')", "fingerprint('{}'::text)"}) {
    const auto refusal =
        raw.client().refused("SELECT semel." + fmt::format(fmt::runtime(call), kNoUtf8));
    EXPECT_EQ(refusal.state, "SM271") << call << refusal.message;
    EXPECT_FALSE(refusal.hint.empty()) << call;
  }
  EXPECT_EQ(raw.client().ask(fmt::format("SELECT outcome, reason FROM semel.claim_many("
                                         "'payments', ARRAY['a', '{}', 'b'])",
                                         kNoUtf8)),
            "new|\ninvalid|the key cannot be written in UTF-8\nnew|");
}

}  // namespace
}  // namespace semel::postgres
