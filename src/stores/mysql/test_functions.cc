#include "stores/mysql/test_functions.h"

#include <fmt/format.h>
#include <mysql.h>

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "core/key_encoding.h"
#include "stores/mysql/url.h"

namespace semel::mysql {
namespace {

// The servers' clock, which the tests move.
constexpr const char* kMovedBy = "INTERVAL (SELECT m.by_ms FROM moved AS m) * 1000 MICROSECOND";

ClientSession::Rows rows_of(MYSQL_RES* result) {
  ClientSession::Rows rows;
  while (const MYSQL_ROW row = mysql_fetch_row(result)) {
    const unsigned long* const lengths = mysql_fetch_lengths(result);
    auto& fields = rows.emplace_back();
    for (unsigned at = 0; at < mysql_num_fields(result); ++at) {
      fields.emplace_back(row[at] != nullptr ? std::string(row[at], lengths[at]) : std::string());
    }
  }
  return rows;
}

std::unique_ptr<Store> opened(const std::string& url) {
  MySqlOptions options;
  options.url = url;
  InnerOptions inner;
  inner.clock = fmt::format("(NOW(6) + {})", kMovedBy);
  inner.grace = std::chrono::milliseconds(0);
  auto store = open_store(std::move(options), inner);
  EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
  return store ? *std::move(store) : nullptr;
}

std::string database_with_clock(const test::MySqlFamilyServer& server) {
  std::string name = server.new_database();
  server.query(name, "CREATE TABLE moved (by_ms BIGINT NOT NULL); INSERT INTO moved VALUES (0)");
  return name;
}

}  // namespace

ClientSession::ClientSession(const std::string& url, const char* charset)
    : connection_(mysql_init(nullptr)) {
  const Target target = target_of(url);
  mysql_options(connection_, MYSQL_SET_CHARSET_NAME, charset);
  EXPECT_NE(mysql_real_connect(connection_, target.host.c_str(), target.user.c_str(),
                               target.password.c_str(), target.database.c_str(), target.port,
                               nullptr, CLIENT_MULTI_STATEMENTS),
            nullptr)
      << mysql_error(connection_);
}

ClientSession::~ClientSession() { mysql_close(connection_); }

ClientSession::Answer ClientSession::run(const std::string& sql) {
  Answer answer;
  bool first = true;
  int more = mysql_real_query(connection_, sql.data(), sql.size());
  while (more == 0) {
    if (MYSQL_RES* const rows = mysql_store_result(connection_)) {
      if (std::exchange(first, false)) answer.rows = rows_of(rows);
      mysql_free_result(rows);
    }
    more = mysql_next_result(connection_);
  }
  if (mysql_errno(connection_) != 0) {
    answer.refusal = {mysql_sqlstate(connection_), mysql_error(connection_),
                      mysql_errno(connection_)};
  }
  return answer;
}

ClientSession::Rows ClientSession::rows(const std::string& sql) {
  Answer answer = run(sql);
  EXPECT_EQ(answer.refusal.state, "") << sql << ": " << answer.refusal.message;
  return std::move(answer.rows);
}

std::string ClientSession::ask(const std::string& sql) {
  std::string text;
  for (const auto& row : rows(sql)) {
    if (!text.empty()) text += '\n';
    text += fmt::format("{}", fmt::join(row, "|"));
  }
  return text;
}

ClientSession::Refusal ClientSession::refused(const std::string& sql) { return run(sql).refusal; }

FunctionsTest::FunctionsTest()
    : database_(database_with_clock(server())),
      store_(opened(url())),
      consumer_(store_->attach({"payments", "recipe", false, kTtl}).value()),
      client_(url()) {
  Wire wire(target_of(url()));
  make_functions(wire, fmt::format("(UTC_TIMESTAMP(6) + {})", kMovedBy));
}

std::unique_ptr<Store> FunctionsTest::another_store() const {
  auto store = opened(url());
  EXPECT_EQ(store->attach({"payments", "recipe", false, kTtl}).value(), consumer_);
  return store;
}

std::string FunctionsTest::url_of(const std::string& user) const {
  const std::string own = url();
  return own.substr(0, own.find("://") + 3) + user + own.substr(own.find('@'));
}

void FunctionsTest::advance(std::chrono::milliseconds by) const {
  sql(fmt::format("UPDATE moved SET by_ms = by_ms + {}", by.count()));
}

std::vector<std::string> FunctionsTest::snapshot_settings() const {
  if (sql("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'").empty()) return {"DO 0"};
  return {"SET innodb_snapshot_isolation = OFF", "SET innodb_snapshot_isolation = ON"};
}

std::string FunctionsTest::claimed(ClientSession& session, std::string_view key,
                                   std::string_view payload) {
  return called(session, fmt::format("claim('payments', {}, {}, NULL)", text(key), text(payload)));
}

std::string FunctionsTest::called(ClientSession& session, std::string_view call) {
  const auto rows = session.rows(fmt::format("CALL semel_{}", call));
  return rows.empty() ? std::string() : rows.front().front();
}

FunctionsTest::Begun FunctionsTest::begun(ClientSession& session, std::string_view key,
                                          std::string_view lease, std::string_view payload) const {
  const auto rows = session.rows(fmt::format("CALL semel_begin('payments', {}, {}, NULL, {}, NULL)",
                                             text(key), text(payload), lease));
  Begun begun;
  if (rows.empty()) return begun;
  const auto& row = rows.front();
  begun.outcome = row.at(0);
  if (begun.outcome != "new") return begun;
  begun.lease.key = core::encode_key(consumer_, key);
  std::ranges::copy(row.at(1), begun.lease.nonce.bytes.begin());
  begun.lease.token = static_cast<Token>(std::stoll(row.at(2)));
  begun.rest = row.at(3) + "|" + row.at(4);
  return begun;
}

std::string FunctionsTest::hex(BytesView content) {
  return fmt::format("x'{}'", digest::hex(content));
}

std::string FunctionsTest::hex(const Nonce& nonce) { return hex(sql::Param(nonce).bytes()); }

std::string FunctionsTest::text(BytesView content) {
  return fmt::format("CONVERT({} USING utf8mb4)", hex(content));
}

std::unique_ptr<UnitOfWork> FunctionsTest::claim_in_unit(Store& store, const Message& message,
                                                         Claim& answer) {
  auto unit = store.facets().transactional->begin({}).value();
  const Message* const one = &message;
  auto claims = unit->claim({&one, 1});
  EXPECT_TRUE(claims.has_value()) << claims.error().message;
  answer = claims ? std::move(claims->front()) : Claim(Busy{});
  return unit;
}

Claim FunctionsTest::claim(Store& store, const Message& message, std::chrono::milliseconds lease) {
  const Message* const one = &message;
  auto claims = store.claim({&one, 1}, {lease, {}, true});
  EXPECT_TRUE(claims.has_value()) << claims.error().message;
  return claims ? std::move(claims->front()) : Claim(Busy{});
}

}  // namespace semel::mysql
