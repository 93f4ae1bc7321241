#include "stores/mysql/functions.h"

#include <fmt/format.h>

#include <semel/spi/record_machine.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/digest.h"
#include "stores/mysql/functions_sql.h"
#include "stores/mysql/schema.h"
#include "stores/sql/function_texts.h"

namespace semel::mysql {
namespace {

using sql::FunctionName;

// The default lease, and how long to wait for one key among many: in seconds.
constexpr int kUsualLease = 60;
constexpr int kPatienceAmong = 1;
// A session's time that stands still for so many looks was set. The server's moves by the first
// one, or within some milliseconds where its clock is coarse.
constexpr int kLooksAtClock = 10000;
// A lock was waited for in vain.
constexpr int kWaitOver = 1205;
constexpr unsigned kNoSuchFunction = 1305;

constexpr std::string_view kVersion = "semel_functions_version";
// Procedures of older versions that are no more.
constexpr std::string_view kOutdated[] = {"semel_internal_session_time"};
constexpr std::string_view kCreate = "CREATE PROCEDURE ";

// A ULID has digits of its own; the server parses those of base 32.
constexpr std::string_view kUlidDigits = "JKMNPQRSTVWXYZ";
constexpr std::string_view kBaseDigits = "IJKLMNOPQRSTUV";

// core::encode_key for a text.
// Where a part is text, MariaDB takes the bytes beside it for text as well.
constexpr std::string_view kKeyId = R"sql(UNHEX(CASE
    WHEN LENGTH({content}) = 36 AND {latin} REGEXP
         '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
      THEN CONCAT(LPAD(HEX({number} * 4 + 1), 8, '0'), REPLACE({content}, '-', ''))
    WHEN LENGTH({content}) = 26 AND {latin} REGEXP
         '^[0-7][0-9A-HJKMNP-TV-Z]{25}$'
      THEN CONCAT(LPAD(HEX({number} * 4 + 2), 8, '0'),
                  LPAD(CONV(LEFT({digits}, 2), 32, 16), 2, '0'),
                  LPAD(CONV(SUBSTR({digits}, 3, 12), 32, 16), 15, '0'),
                  LPAD(CONV(SUBSTR({digits}, 15), 32, 16), 15, '0'))
    ELSE CONCAT(LPAD(HEX({number} * 4), 8, '0'),
                LEFT(SHA2(CONCAT(x'0000000000000009', 'semel.key',
                                 UNHEX(LPAD(HEX(LENGTH({content})), 16, '0')),
                                 CAST({content} AS BINARY)), 256),
                     32)) END))sql";
// By its length: a server compares a text of blanks as equal to an empty one.
constexpr std::string_view kKeyFault = R"sql(CASE
    WHEN COALESCE(LENGTH({content}), 0) = 0 THEN 'an empty key identifies nothing'
    WHEN LENGTH({content}) > {key_limit}
      THEN CONCAT('the key has ', LENGTH({content}), ' bytes, the limit is {key_limit}') END)sql";
constexpr std::string_view kPrintFault = R"sql(CASE
    WHEN {payload} IS NOT NULL AND {print} IS NOT NULL
      THEN 'a payload and a fingerprint were given'
    WHEN LENGTH({print}) <> 16 THEN CONCAT('the fingerprint has ', LENGTH({print}), ' bytes') END)sql";
// In a procedure that has `content`.
constexpr std::string_view kAsUtf8 = R"sql(BEGIN
    DECLARE EXIT HANDLER FOR SQLEXCEPTION SET {made} = NULL;
    SET {made} = CONVERT(content USING utf8mb4);
    IF CAST({made} AS BINARY) <> content THEN
      SET {made} = NULL;
    END IF;
  END)sql";
constexpr std::string_view kArrived =
    "COALESCE({print}, UNHEX(LEFT(SHA2({payload}, 256), 32)), {no_print})";

// A JSON list as a table: each element as a text, and as the JSON that it is.
constexpr std::string_view kList =
    "JSON_TABLE({list}, '$[*]' COLUMNS (place FOR ORDINALITY, content {text} PATH '$', given JSON "
    "PATH '$'))";
// An element that is no text is NULL: a server would convert it.
constexpr std::string_view kElement = "IF({of}.given LIKE '\"%', {of}.content, NULL)";
constexpr std::string_view kNoText = "{of}.given NOT LIKE '\"%' AND {of}.given NOT LIKE 'null'";
// A payload or fingerprint that is given, but cannot be compared, must not count as left out.
constexpr std::string_view kListFault = R"sql(CASE
    WHEN {no_key_text} THEN 'the key is no JSON text'
    WHEN {no_payload_text} THEN 'the payload is no JSON text'
    WHEN {no_print_text} THEN 'the fingerprint is no JSON text' END)sql";

// A fingerprint in hexadecimal; empty bytes where it is invalid. The pattern does not anchor at the
// end: `$` also matches before a final newline.
constexpr std::string_view kPrintOfDigits = R"sql(CASE WHEN {digits} IS NULL THEN NULL
    WHEN LENGTH({digits}) MOD 2 = 0 AND {digits} NOT REGEXP '[^0-9A-Fa-f]' THEN UNHEX({digits})
    ELSE '' END)sql";

std::string filled_in(std::string_view text, std::initializer_list<FunctionName> names) {
  return sql::filled_functions(std::string(text), {names.begin(), names.size()});
}

std::string key_id(const std::string& content) {
  std::string digits = content;
  for (std::size_t i = 0; i < kUlidDigits.size(); ++i) {
    digits = fmt::format("REPLACE({}, '{}', '{}')", digits, kUlidDigits[i], kBaseDigits[i]);
  }
  // Bytes for a pattern: a server has no patterns over bytes.
  const std::string latin =
      fmt::format("CONVERT(CAST({} AS BINARY) USING latin1) COLLATE latin1_bin", content);
  return filled_in(
      kKeyId,
      {{"{digits}", digits}, {"{latin}", latin}, {"{content}", content}, {"{number}", "number"}});
}

std::string list_of(const std::string& list) { return filled_in(kList, {{"{list}", list}}); }

std::string element_of(const std::string& table) { return filled_in(kElement, {{"{of}", table}}); }

std::string list_fault() {
  const auto no_text = [](const char* table) { return filled_in(kNoText, {{"{of}", table}}); };
  return filled_in(kListFault, {{"{no_key_text}", no_text("k")},
                                {"{no_payload_text}", no_text("p")},
                                {"{no_print_text}", no_text("f")}});
}

std::string decimal_seconds(std::chrono::milliseconds length) {
  constexpr int kMillis = 1000;
  return fmt::format("{}.{:03}", length.count() / kMillis, length.count() % kMillis);
}

// Used by one call, and for each key of claim_many.
std::string content_of(std::string text) {
  const FunctionName names[] = {
      {"{batch}", functions::kBatch},
      {"{answers}", filled_in(functions::kAnswers, {{"{lock}", ""}})},
      {"{locked_answers}", filled_in(functions::kAnswers, {{"{lock}", " LOCK IN SHARE MODE"}})},
      {"{as_utf8}", filled_in(kAsUtf8, {{"{made}", "made"}})},
      {"{key_as_utf8}", filled_in(kAsUtf8, {{"{made}", "as_text"}})},
      {"{key_id}", key_id("content")},
      {"{each_key_id}", key_id("u.content")},
      {"{key_fault}", filled_in(kKeyFault, {{"{content}", "content"}})},
      {"{print_fault}", filled_in(kPrintFault, {{"{payload}", "payload"}, {"{print}", "print"}})},
      {"{arrived}", filled_in(kArrived, {{"{payload}", "payload"}, {"{print}", "print"}})},
      {"{each_arrived}", filled_in(kArrived, {{"{payload}", "u.payload"}, {"{print}", "u.print"}})},
      {"{each_fault}",
       fmt::format("COALESCE(u.fault, {}, {})", filled_in(kKeyFault, {{"{content}", "u.content"}}),
                   filled_in(kPrintFault, {{"{payload}", "u.payload"}, {"{print}", "u.print"}}))},
      {"{key_list}", list_of("keys_given")},
      {"{payload_list}", list_of("payloads_given")},
      {"{print_list}", list_of("prints_given")},
      {"{key_content}", element_of("k")},
      {"{list_fault}", list_fault()},
      {"{payload_content}", element_of("p")},
      {"{print_of_digits}", filled_in(kPrintOfDigits, {{"{digits}", element_of("f")}})},
  };
  return sql::filled_functions(std::move(text), names);
}

std::string filled_texts(const std::string& clock) {
  std::string text;
  for (const char* const file :
       {functions::kShared, functions::kClaims, functions::kLeases, functions::kQueue}) {
    text += file;
    text += '\n';
  }
  const FunctionName names[] = {
      {"{claim}", functions::kClaim},  // contains others
      {"{text}", "LONGTEXT CHARACTER SET utf8mb4"},
      {"{word}", "VARCHAR(16) CHARACTER SET utf8mb4"},
      {"{tables}", std::to_string(newest_version())},
      {"{clock}", clock},
      {"{no_print}", "x'00000000000000000000000000000000'"},
      {"{numbers}", std::to_string(Connection::kNumbers)},
      {"{usual_lease}", std::to_string(kUsualLease)},
      {"{brief_patience}", std::to_string(kPatienceAmong)},
      {"{looks_at_clock}", std::to_string(kLooksAtClock)},
      {"{wait_over}", std::to_string(kWaitOver)},
      {"{shortest_busy}", decimal_seconds(spi::kShortestBusy)},
      {"{longest_busy}", decimal_seconds(spi::kLongestBusy)},
  };
  return sql::filled_functions(content_of(std::move(text)), names);
}

struct Procedure {
  std::string name;
  std::string text;  // from CREATE on
  std::string mark;  // the comment by which the server shows that it has exactly this text
};

// Adds the mark to the text.
void mark(Procedure& one) {
  constexpr std::string_view kBefore = "SQL SECURITY ";
  one.mark = "semel " + digest::hex(digest::view(digest::shortened(digest::sha256(one.text))));
  one.text.insert(one.text.find(kBefore), fmt::format("COMMENT '{}' ", one.mark));
}

// Procedures are separated by an empty line. The one that returns the version comes last.
std::vector<Procedure> procedures(const std::string& clock) {
  std::vector<Procedure> all;
  std::optional<Procedure> version;
  const std::string texts = filled_texts(clock);
  for (std::size_t at = texts.find(kCreate); at != std::string::npos;) {
    const std::size_t name = at + kCreate.size();
    const std::size_t end = std::min(texts.find("\n\n", at), texts.size());
    Procedure one{texts.substr(name, texts.find('(', name) - name), texts.substr(at, end - at), {}};
    mark(one);
    (one.name == kVersion ? version.emplace() : all.emplace_back()) = std::move(one);
    at = texts.find(kCreate, end);
  }
  all.push_back(*std::move(version));
  return all;
}

std::string drop_of(std::string_view name) {
  return fmt::format("DROP PROCEDURE IF EXISTS {}", name);
}

void add_drops_of_outdated(std::vector<std::string>& statements) {
  for (const std::string_view name : kOutdated) statements.push_back(drop_of(name));
}

// MySQL has no OR REPLACE. Each server executes the comments that are for it.
std::vector<std::string> statements_of(const Procedure& one) {
  return {fmt::format("/*M! DO 0 */ /*!80000 DROP PROCEDURE IF EXISTS {} */", one.name),
          "CREATE /*M! OR REPLACE */ PROCEDURE " + one.text.substr(kCreate.size())};
}

std::string script_of(const std::vector<std::string>& statements) {
  std::string script =
      fmt::format("SET SESSION sql_mode = '{}';\nSET NAMES utf8mb4;\nDELIMITER $$\n", kSqlMode);
  for (const std::string& statement : statements) script += statement + " $$\n";
  return script + "DELIMITER ;\n";
}

void run_all(Wire& wire, const std::vector<std::string>& statements) {
  for (const std::string& statement : statements) execute(wire, statement);
}

// The marks of existing procedures, sorted.
std::vector<std::string> marks_of(Wire& wire) {
  std::vector<std::string> marks;
  sql::Answer found = execute(wire,
                              "SELECT routine_comment FROM information_schema.routines WHERE "
                              "routine_schema = DATABASE() AND definer = CURRENT_USER()");
  while (found.next()) marks.push_back(found.bytes(0));
  std::ranges::sort(marks);
  return marks;
}

void need_random_bytes(Wire& wire) {
  wire.send("SELECT RANDOM_BYTES(1)");
  const Answers answers = wire.run(Loss::kNothingDone);
  if (!answers.refused) return;
  if (answers.refused->code != kNoSuchFunction) throw failure_of(*answers.refused);
  sql::fail({ErrorKind::kRejected, "R258",
             "the server is too old for SQL functions: they need MariaDB 10.10 or MySQL 8.0",
             "use a newer server"});
}

[[noreturn]] void tell_routine_right(const sql::Failure& failed) {
  Error error = failed.error();
  if (error.code != "R253") throw failed;
  error.hint = "grant it: GRANT CREATE ROUTINE, ALTER ROUTINE, EXECUTE ON database.* TO user";
  sql::fail(std::move(error), failed.code());
}

std::vector<std::string> function_statements() {
  std::vector<std::string> all;
  for (const Procedure& one : procedures(kCallersClock)) {
    for (std::string& statement : statements_of(one)) all.push_back(std::move(statement));
  }
  add_drops_of_outdated(all);
  return all;
}

std::vector<std::string> drop_function_statements() {
  std::vector<std::string> all;
  for (const Procedure& one : procedures(kCallersClock)) {
    all.push_back(drop_of(one.name));
  }
  add_drops_of_outdated(all);
  return all;
}

}  // namespace

std::string functions_sql() { return script_of(function_statements()); }

std::string drop_functions_sql() {
  std::string script;
  for (const std::string& statement : drop_function_statements()) script += statement + ";\n";
  return script;
}

bool may_replace_functions(Wire& wire) {
  sql::Answer found =
      execute(wire, fmt::format("SELECT 1 FROM information_schema.routines WHERE routine_schema = "
                                "DATABASE() AND routine_name = '{}' AND definer = CURRENT_USER()",
                                kVersion));
  return found.next();
}

void run_function_statements(Wire& wire, const std::string& clock) {
  const std::vector<std::string> there = marks_of(wire);
  std::vector<std::string> statements;
  for (const Procedure& one : procedures(clock)) {
    if (std::ranges::binary_search(there, one.mark)) continue;
    for (std::string& statement : statements_of(one)) statements.push_back(std::move(statement));
  }
  if (!statements.empty()) add_drops_of_outdated(statements);
  run_all(wire, statements);
}

void make_functions(Wire& wire, const std::string& clock) {
  need_random_bytes(wire);
  make_schema(wire);
  try {
    change_alone(wire, [&] { run_function_statements(wire, clock); });
  } catch (const sql::Failure& failed) {
    tell_routine_right(failed);
  }
}

void drop_functions(Wire& wire) {
  try {
    change_alone(wire, [&] { run_all(wire, drop_function_statements()); });
  } catch (const sql::Failure& failed) {
    tell_routine_right(failed);
  }
}

}  // namespace semel::mysql
