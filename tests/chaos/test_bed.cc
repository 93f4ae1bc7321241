#include "tests/chaos/test_bed.h"

#include <fmt/format.h>

#include <chrono>
#include <stdexcept>

#include <semel/spi/held_messages.h>

#include "compose/compose.h"
#include "tests/support/waiting.h"

namespace semel::test {

namespace {

constexpr const char* kConsumer = "chaos";

template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// Its ordering key is the part before the dash.
std::string payload_of(const std::string& id) {
  return fmt::format(R"({{"id":"{}","n":{},"k":"{}"}})", id, id.size(), id.substr(0, id.find('-')));
}

}  // namespace

std::size_t SqlDatabase::held() const {
  return std::stoul(rows("SELECT count(*) FROM semel_held")[0][0]);
}

std::map<std::string, std::string> SqlDatabase::dead() const {
  std::map<std::string, std::string> dead;
  for (const auto& row : rows(dead_letters())) dead[row[0]] = row[1];
  return dead;
}

std::size_t SqlDatabase::completed() const {
  return std::stoul(rows("SELECT count(*) FROM semel_record WHERE state = 'completed'")[0][0]);
}

void SqlDatabase::notice_deaths() const {
  const std::string others = other_sessions();
  if (others.empty()) return;
  if (!comes_true([&] { return rows(others)[0][0] == "0"; })) {
    throw std::runtime_error("the server keeps the sessions of a process that is dead");
  }
}

TestBed::TestBed() : database_(make_database(dir_)) { make_tables(); }

TestBed::TestBed(std::unique_ptr<Database> database) : database_(std::move(database)) {
  make_tables();
}

void TestBed::make_tables() {
  if (database_->sql() == nullptr) return;
  execute(
      fmt::format("CREATE TABLE effect(number {}, name VARCHAR(200), pid BIGINT);"
                  "CREATE TABLE total(n INTEGER); INSERT INTO total VALUES (0);"
                  "CREATE TABLE state(name VARCHAR(200) PRIMARY KEY, n INTEGER);",
                  database_->sql()->numbering()));
}

void TestBed::send(const std::vector<std::string>& ids) {
  const auto store = database_->open();
  // The recipe's hash must be the worker's own, so it is left to the config of the same words.
  const config::Loaded loaded = config::load_text(
      fmt::format("version: 1\nstore: {{ sqlite: {{ path: none.db }} }}\nconsumers:\n"
                  "  - {{ name: {}, source: {{ queue: {{}} }}, key: json:/id, handler: {{ native: "
                  "work }} }}\n",
                  kConsumer),
      "scene");
  if (!loaded.config) throw std::runtime_error("the scene's own config is refused");
  const ConsumerNumber number = value_of(compose::attach(*store, loaded.config->consumers[0]));
  std::vector<OutgoingMessage> messages;
  for (const std::string& id : ids) {
    OutgoingMessage message;
    message.payload = payload_of(id);
    messages.push_back(std::move(message));
  }
  value_of(store->facets().held->append(number, messages));
}

void TestBed::send_new(std::size_t keys) {
  send(with_twins(keys, sent_));
  sent_ += keys;
}

void TestBed::write_lines(const std::string& path, const std::vector<std::string>& ids) {
  write_file(path, {});
  add_lines(path, ids);
}

void TestBed::add_lines(const std::string& path, const std::vector<std::string>& ids) const {
  std::string text;
  for (const std::string& id : ids) text += payload_of(id) + "\n";
  append_file(path, text);
}

ChildProcess TestBed::start(std::vector<std::string> settings, const std::string& failpoint) const {
  std::vector<std::string> arguments{SEMEL_CHAOS_WORKER, database_->place()};
  if (const auto* const sql = database_->sql()) arguments.push_back("upsert=" + sql->upsert());
  arguments.insert(arguments.end(), settings.begin(), settings.end());
  std::vector<std::string> environment;
  if (!failpoint.empty()) environment.push_back("SEMEL_FAILPOINT=" + failpoint);
  return ChildProcess::run(arguments, environment);
}

int TestBed::run(std::vector<std::string> settings, const std::string& failpoint) const {
  ChildProcess worker = start(std::move(settings), failpoint);
  const auto ended = worker.wait(std::chrono::minutes(5));
  if (!ended) throw std::runtime_error("a worker did not end");
  return ended->signal ? -*ended->signal : *ended->code;
}

std::vector<std::vector<std::string>> TestBed::rows(const std::string& sql) const {
  return database_->sql()->rows(sql);
}

std::map<std::string, std::size_t> TestBed::counts(const std::string& sql) const {
  std::map<std::string, std::size_t> counts;
  for (const auto& row : rows(sql)) counts[row[0]] = std::stoul(row[1]);
  return counts;
}

std::map<std::string, std::size_t> TestBed::effects() const {
  return counts("SELECT name, count(*) FROM effect GROUP BY name");
}

std::vector<std::string> TestBed::effects_in_order() const {
  std::vector<std::string> keys;
  for (const auto& row : rows("SELECT name FROM effect ORDER BY number")) keys.push_back(row[0]);
  return keys;
}

std::map<std::string, std::size_t> TestBed::effects_by_process() const {
  return counts("SELECT pid, count(*) FROM effect GROUP BY pid");
}

std::size_t TestBed::total() const { return std::stoul(ask("SELECT n FROM total")); }

std::map<std::string, std::string> TestBed::states() const {
  std::map<std::string, std::string> states;
  for (const auto& row : rows("SELECT name, n FROM state")) states[row[0]] = row[1];
  return states;
}

std::string TestBed::ask(const std::string& sql) const {
  const auto found = rows(sql);
  return found.empty() ? std::string() : found[0].at(0);
}

void TestBed::execute(const std::string& sql) const { (void)rows(sql); }

std::vector<std::string> with_twins(std::size_t count, std::size_t first) {
  std::vector<std::string> ids;
  for (std::size_t i = first; i < first + count; ++i) {
    ids.push_back("m" + std::to_string(i));
    if (i % 3 == 0) ids.push_back("m" + std::to_string(i / 2));
  }
  return ids;
}

}  // namespace semel::test
