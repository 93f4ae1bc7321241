#include "stores/mysql/test_functions.h"

#include <fmt/format.h>
#include <mysql.h>

#include "base/digest.h"
#include "core/key_encoding.h"
#include "stores/mysql/url.h"

namespace semel::mysql {
namespace {

// The servers' clock, which the tests move.
constexpr const char* kMovedBy = "INTERVAL (SELECT m.by_ms FROM moved AS m) * 1000 MICROSECOND";

std::string row_text(MYSQL_RES* rows) {
  std::string text;
  while (const MYSQL_ROW row = mysql_fetch_row(rows)) {
    const unsigned long* const lengths = mysql_fetch_lengths(rows);
    if (!text.empty()) text += '\n';
    for (unsigned at = 0; at < mysql_num_fields(rows); ++at) {
      if (at > 0) text += '|';
      if (row[at] != nullptr) text.append(row[at], lengths[at]);
    }
  }
  return text;
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

std::vector<std::string> fields_of(std::string_view row) {
  std::vector<std::string> fields(1);
  for (const char c : row) {
    if (c == '|') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

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
      if (std::exchange(first, false)) answer.rows = row_text(rows);
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

std::string ClientSession::ask(const std::string& sql) {
  const Answer answer = run(sql);
  EXPECT_EQ(answer.refusal.state, "") << sql << ": " << answer.refusal.message;
  return answer.rows;
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

std::string FunctionsTest::url_of(const std::string& user) const {
  const std::string own = url();
  return own.substr(0, own.find("://") + 3) + user + own.substr(own.find('@'));
}

void FunctionsTest::advance(std::chrono::milliseconds by) const {
  sql(fmt::format("UPDATE moved SET by_ms = by_ms + {}", by.count()));
}

std::string FunctionsTest::claimed(ClientSession& session, std::string_view key,
                                   std::string_view payload) {
  return called(session, fmt::format("claim('payments', {}, {}, NULL)", text(key), text(payload)));
}

std::string FunctionsTest::called(ClientSession& session, std::string_view call) {
  return fields_of(session.ask(fmt::format("CALL semel_{}", call))).front();
}

FunctionsTest::Begun FunctionsTest::begun(ClientSession& session, std::string_view key,
                                          std::string_view lease, std::string_view payload) const {
  const std::string answer = session.ask(fmt::format(
      "CALL semel_begin('payments', {}, {}, NULL, {}, NULL)", text(key), text(payload), lease));
  Begun begun{answer.substr(0, answer.find('|')), {}, {}};
  if (begun.outcome != "new") return begun;
  // A nonce may have any byte in it, a "|" among them.
  const std::string_view nonce = std::string_view(answer).substr(begun.outcome.size() + 1);
  begun.lease.key = core::encode_key(consumer_, key);
  for (std::size_t i = 0; i < begun.lease.nonce.bytes.size(); ++i) {
    begun.lease.nonce.bytes.at(i) = static_cast<unsigned char>(nonce.at(i));
  }
  const auto fields = fields_of(nonce.substr(begun.lease.nonce.bytes.size() + 1));
  begun.lease.token = static_cast<Token>(std::stoll(fields.at(0)));
  begun.rest = fields.at(1) + "|" + fields.at(2);
  return begun;
}

std::string FunctionsTest::hex(BytesView content) {
  return fmt::format("x'{}'", digest::hex(content));
}

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
