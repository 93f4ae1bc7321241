#include "tests/cli/steps_test_bed.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace semel::test {

namespace {

constexpr std::string_view kTwoCalls = R"(
    source: {{ queue: {{}} }}
    key: json:/id
    strategy: {strategy}
    dedup: {{ lease: 20s }}
    retry: {{ attempts: 3, backoff: 10ms..20ms }}
    handler:
      steps:
        - name: lock_stock
          http: {{ url: "{base}/lock", honours_key: true, timeout: 20s }}
          undo: {{ http: {{ url: "{base}/unlock", honours_key: true }} }}
        - name: charge
          http: {{ url: "{base}/charge", honours_key: true, timeout: 20s }}
          undo: {{ http: {{ url: "{base}/refund", honours_key: true }} }}
)";

StartOptions past_proxies() { return {.environment = {"no_proxy=127.0.0.1"}}; }

}  // namespace

const std::string_view kStepsApply = R"(      apply:
        sql:
          params: { id: json:/id }
          statements:
            - sql: UPDATE orders SET status = 'PAID' WHERE id = :id
              expect_rows: 1
              otherwise: dead
)";

const char* const kOrdersTable =
    "CREATE TABLE orders(id VARCHAR(40) PRIMARY KEY, status VARCHAR(10));"
    "INSERT INTO orders VALUES ('o-1', 'NEW')";

Ran StepsTestBed::semel(Words words, const StartOptions& options) const {
  words.insert(words.end(), {"-c", config()});
  return run(words, options);
}

std::unique_ptr<Program> StepsTestBed::start() const {
  return std::make_unique<Program>(Words{"run", config(), "-q"}, past_proxies());
}

Ran StepsTestBed::run_once() const {
  return semel({"run", "--once", "-q", "-o", "json"}, past_proxies());
}

void StepsTestBed::send(std::string_view id) const {
  const Ran sent =
      semel({"send", "payments", "-"}, {.input = fmt::format("{{\"id\":\"{}\"}}\n", id)});
  ASSERT_EQ(sent.code, 0) << sent.err;
}

std::string StepsTestBed::record(std::string_view pointer) const {
  const Ran shown = semel({"records", "show", "o-1", "-o", "json"});
  return json_at(shown.out, fmt::format("/records/0/{}", pointer));
}

void StepsTestBed::rewrite(std::string_view before, std::string_view after) const {
  std::ifstream in(config());
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  std::ofstream(config()) << with_other(text, before, after);
}

std::string StepsService::consumer(std::string_view strategy) const {
  std::string base = server_.url("");
  while (base.ends_with('/')) base.pop_back();
  const std::string text =
      fmt::format(kTwoCalls, fmt::arg("strategy", strategy), fmt::arg("base", base));
  return text.substr(1);
}

std::vector<std::string> StepsService::calls() const {
  std::vector<std::string> all;
  for (const HttpRequest& request : server_.requests()) {
    std::string key = request.header("idempotency-key");
    std::erase(key, '"');
    all.push_back(request.target + " " + key);
  }
  return all;
}

void StepsService::hang_first_charge() {
  server_.on("/charge", [](const HttpRequest&, std::size_t times) {
    return times == 0 ? raw("", HttpReply::Then::kHang) : reply(200, "charged");
  });
}

std::string without_undos(std::string consumer) {
  constexpr std::string_view kUndo = "          undo:";
  for (auto at = consumer.find(kUndo); at != std::string::npos; at = consumer.find(kUndo)) {
    consumer.erase(at, consumer.find('\n', at) - at + 1);
  }
  return consumer;
}

std::string with_other(std::string text, std::string_view what, std::string_view with) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

}  // namespace semel::test
