#include "cli/starter.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/text.h"
#include "config/config.h"
#include "config/schema.h"

namespace semel::cli {

namespace {

constexpr std::string_view kUsual[] = {"queue", "sql", "sqlite"};

std::vector<StarterWord> alternatives(std::string_view path) {
  std::vector<StarterWord> words;
  config::each_field([&](const std::string& at, const config::Field& field) {
    if (at != path) return;
    for (const auto& child : field.fields) {
      if (child.alternative) words.push_back({child.name, child.meaning});
    }
  });
  return words;
}

std::string store_lines(const StarterParts& parts, bool small) {
  if (parts.store == "memory") {
    return small
               ? "store:\n  memory: {}\n"
               : "store:\n"
                 "  memory: {}                    # forgets everything when the process ends: for "
                 "trials\n";
  }
  if (parts.store == "postgres") {
    return small ? "store:\n  postgres: ${DATABASE_URL:-postgresql://localhost/bank}\n"
                 : "store:\n"
                   "  postgres:                     # the records, and the tables your statements "
                   "write to\n"
                   "    url: ${DATABASE_URL:-postgresql://localhost/bank}\n"
                   "    schema: semel               # of the records alone\n";
  }
  if (parts.store == "mysql") {
    return small ? "store:\n  mysql: ${DATABASE_URL:-mysql://root@localhost/bank}\n"
                 : "store:\n"
                   "  mysql:                        # the records, and the tables your statements "
                   "write to\n"
                   "    url: ${DATABASE_URL:-mysql://root@localhost/bank}\n";
  }
  if (parts.store == "redis") {
    return small ? "store:\n  redis: ${REDIS_URL:-redis://localhost:6379/0}\n"
                 : "store:\n"
                   "  redis:                        # the records; what you do is elsewhere\n"
                   "    url: ${REDIS_URL:-redis://localhost:6379/0}\n"
                   "    prefix: 'semel:'            # of all names that are kept there\n";
  }
  if (small) return "";
  return "store:\n"
         "  sqlite: { path: semel.db }    # the records, and the tables your statements write to\n";
}

// The config lines of a source that is a log and whose readers have a name in it. Empty for other
// sources.
std::string log_source_lines(const StarterParts& parts, bool small) {
  if (parts.source == "kafka") {
    return small ? "    source:\n"
                   "      kafka:\n"
                   "        brokers: ${KAFKA_BROKERS:-localhost:9092}\n"
                   "        group: payments\n"
                   "        topics: payments\n"
                 : "    source:\n"
                   "      kafka:\n"
                   "        brokers: ${KAFKA_BROKERS:-localhost:9092}\n"
                   "        group: payments         # its members share the partitions\n"
                   "        topics: [payments]\n"
                   "        from: earliest          # where a new group begins\n"
                   "        # properties: { group.instance.id: host-1, security.protocol: "
                   "sasl_ssl, … }\n";
  }
  if (parts.source == "nats") {
    return small ? "    source:\n"
                   "      nats:\n"
                   "        url: ${NATS_URL:-nats://localhost:4222}\n"
                   "        stream: payments\n"
                   "        durable: semel\n"
                   "        declare: true\n"
                 : "    source:\n"
                   "      nats:\n"
                   "        url: ${NATS_URL:-nats://localhost:4222}\n"
                   "        stream: payments        # has to be there: nats stream add\n"
                   "        durable: semel          # its processes share the messages\n"
                   "        declare: true           # the durable is made where it is not there\n"
                   "        prefetch: 500           # so many are delivered and not acknowledged\n";
  }
  if (parts.source == "redis_streams") {
    return small ? "    source:\n"
                   "      redis_streams:\n"
                   "        url: ${REDIS_URL:-redis://localhost:6379/0}\n"
                   "        stream: payments\n"
                   "        group: semel\n"
                 : "    source:\n"
                   "      redis_streams:\n"
                   "        url: ${REDIS_URL:-redis://localhost:6379/0}\n"
                   "        stream: payments\n"
                   "        group: semel            # has to be there; declare: true makes it\n"
                   "        # consumer: semel-1     # a name of this process's own, for every "
                   "start\n";
  }
  return {};
}

// The config lines of a broker's queue. Empty for other sources.
std::string broker_queue_lines(const StarterParts& parts, bool small) {
  if (parts.source == "rabbitmq") {
    return small ? "    source:\n"
                   "      rabbitmq:\n"
                   "        url: ${AMQP_URL:-amqp://localhost:5672}\n"
                   "        queue: payments\n"
                 : "    source:\n"
                   "      rabbitmq:\n"
                   "        url: ${AMQP_URL:-amqp://localhost:5672}\n"
                   "        queue: payments         # has to be there; declare: true makes it\n"
                   "        prefetch: 200           # so many are out of it at a time\n";
  }
  if (parts.source == "sqs") {
    return small ? "    source:\n"
                   "      sqs:\n"
                   "        queue_url: ${SQS_URL:-https://sqs.eu-west-1.amazonaws.com/123456789012/"
                   "payments}\n"
                 : "    source:\n"
                   "      sqs:                      # credentials: where Amazon's tools have them\n"
                   "        queue_url: ${SQS_URL:-https://sqs.eu-west-1.amazonaws.com/123456789012/"
                   "payments}\n"
                   "        visibility_timeout: 60s # hidden from others; renewed while it is "
                   "open\n";
  }
  return {};
}

std::string source_lines(const StarterParts& parts, bool small) {
  if (parts.source == "file") {
    return small ? "    source: { file: { path: payments.jsonl } }\n"
                 : "    source:\n"
                   "      file:\n"
                   "        path: payments.jsonl    # one JSON document a line\n"
                   "        from: kept              # or start: read it all again; records tell "
                   "what is done\n";
  }
  if (parts.source == "http") {
    return small
               ? "    source: { http: { listen: 127.0.0.1:8081 } }\n"
               : "    source:\n"
                 "      http:                     # POST a payment: 200 when it is done, and kept "
                 "so\n"
                 "        listen: 127.0.0.1:8081\n"
                 "        path: /\n"
                 "        # signature: { standard_webhooks: \"${file:/run/secrets/whsec}\" }\n";
  }
  if (auto lines = log_source_lines(parts, small); !lines.empty()) return lines;
  if (auto lines = broker_queue_lines(parts, small); !lines.empty()) return lines;
  if (small) return fmt::format("    source: {{ {}: {{}} }}\n", parts.source);
  if (parts.source == "stdin") {
    return "    source:\n"
           "      stdin: {}                 # one JSON document a line\n";
  }
  return "    source:\n"
         "      queue: {}                 # filled by: semel send payments - < payments.jsonl\n";
}

std::string policy_lines(const StarterParts& parts) {
  const bool sql = parts.handler == "sql";
  return fmt::format(
      "    strategy: {:<18}# {}\n"
      "    dedup: {{ ttl: auto }}        # how long a finished record is kept\n"
      "    retry: {{ attempts: 8, backoff: 1s..5m }}\n",
      sql ? "dedup_table" : "state_machine",
      sql ? "record and effect commit together" : "consuming, with a lease, then completed");
}

std::string accept_lines(const StarterParts& parts, bool small) {
  if (parts.handler != "sql") return "";
  return small ? "    accept: [L101]\n"
               : "    accept: [L101]              # the statement adds; the record keeps it from "
                 "running twice\n";
}

struct StarterTarget {
  std::string_view handler;
  const char* server;  // its config lines
  const char* to;      // the field that names the target
  const char* there = "payments-out";
};
constexpr StarterTarget kTargets[] = {
    {"kafka", "        brokers: ${KAFKA_BROKERS:-localhost:9092}\n", "topic"},
    {"nats", "        url: ${NATS_URL:-nats://localhost:4222}\n", "subject"},
    {"rabbitmq", "        url: ${AMQP_URL:-amqp://localhost:5672}\n", "queue"},
    {"redis_streams", "        url: ${REDIS_URL:-redis://localhost:6379/0}\n", "stream"},
    {"sns", "", "topic_arn", "${SNS_TOPIC:-arn:aws:sns:eu-west-1:123456789012:payments-out}"},
    {"sqs", "", "queue_url",
     "${SQS_OUT_URL:-https://sqs.eu-west-1.amazonaws.com/123456789012/payments-out}"},
};

// Empty if the handler does not publish to a broker.
std::string publisher_lines(const StarterParts& parts, bool small) {
  const auto* const target = std::ranges::find(kTargets, parts.handler, &StarterTarget::handler);
  if (target == std::end(kTargets)) return {};
  const std::string text =
      fmt::format("    handler:\n      {}:\n{}", target->handler, target->server);
  const std::string to = fmt::format("{}: {}", target->to, target->there);
  if (small) return text + fmt::format("        {}\n", to);
  constexpr std::size_t kBeforeComment = 24;
  const std::string there =
      to.size() < kBeforeComment ? fmt::format("{:<24}# has to be there", to) : to;
  return text + fmt::format(
                    "        {}\n"
                    "        honours_key: false      # true: who reads it does nothing again under "
                    "an id it knows\n",
                    there);
}

std::string handler_lines(const StarterParts& parts, bool small) {
  if (auto lines = publisher_lines(parts, small); !lines.empty()) return lines;
  if (parts.handler == "http") {
    return small
               ? "    handler: { http: http://127.0.0.1:8080/payments }\n"
               : "    handler:\n"
                 "      http:                     # what its answers mean: semel explain outcomes\n"
                 "        url: http://127.0.0.1:8080/payments\n"
                 "        headers: { Content-Type: application/json }\n"
                 "        timeout: 20s\n"
                 "        honours_key: false      # true: under an Idempotency-Key it knows, it "
                 "does nothing again\n";
  }
  if (parts.handler == "native") {
    return small ? "    handler: { native: on_payment }\n"
                 : "    handler:\n"
                   "      native: on_payment        # runner.on(\"on_payment\", …) in your C++ "
                   "program\n";
  }
  if (parts.handler == "exec") {
    return small ? "    handler: { exec: ./payment.sh }\n"
                 : "    handler:\n"
                   "      exec:                     # the payload on stdin, its key in $SEMEL_KEY\n"
                   "        command: [./payment.sh, --quick]\n"
                   "        timeout: 30s            # 0 done, 65 dead, 75 retry, 100 discard\n";
  }
  if (small) {
    return "    handler:\n"
           "      sql:\n"
           "        params: { account: json:/account, amount: json:/amount }\n"
           "        statements:\n"
           "          - sql: UPDATE account SET balance = balance + :amount WHERE id = :account\n"
           "            expect_rows: 1\n"
           "            otherwise: dead\n";
  }
  return "    handler:\n"
         "      sql:                      # in the store's own transaction\n"
         "        params: { account: json:/account, amount: json:/amount }\n"
         "        statements:\n"
         "          - sql: UPDATE account SET balance = balance + :amount WHERE id = :account\n"
         "            expect_rows: 1\n"
         "            otherwise: dead     # there is no such account\n";
}

std::string head_lines(const StarterParts& parts) {
  std::string text =
      "# Each message has its effect once, however often it is delivered.\n"
      "#   semel check semel.yaml      what is promised\n";
  if (parts.handler == "sql" && parts.store == "postgres") {
    text +=
        "#   psql bank -c 'CREATE TABLE account (id integer PRIMARY KEY, balance integer)'\n"
        "#   psql bank -c 'INSERT INTO account VALUES (1, 0)'\n"
        "#   semel store init            the tables of the records; semel run makes them too\n"
        "#   semel run semel.yaml        what it does; semel explain strategies tells more\n";
  } else if (parts.handler == "sql" && parts.store == "mysql") {
    text +=
        "#   mariadb bank -e 'CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT)'\n"
        "#   mariadb bank -e 'INSERT INTO account VALUES (1, 0)'\n"
        "#   semel store init            the tables of the records; semel run makes them too\n"
        "#   semel run semel.yaml        what it does; semel explain strategies tells more\n";
  } else if (parts.handler == "sql") {
    text +=
        "#   sqlite3 semel.db 'CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER)'\n"
        "#   sqlite3 semel.db 'INSERT INTO account VALUES (1, 0)'\n"
        "#   semel run semel.yaml        what it does; semel explain strategies tells more\n";
  }
  if (parts.handler == "exec") {
    text +=
        "#   ./payment.sh                yours: one message on its stdin, exit code 0 when done\n"
        "#   semel run semel.yaml        one process for each message\n";
  }
  return text + "version: 1\n\n";
}

std::string claims_text(const StarterParts& parts, bool small) {
  std::string text =
      small ? ""
            : head_lines(parts) + "# Its clients send POST /api/v1/consumers/payments/claims.\n";
  text += store_lines(parts, small);
  if (small) {
    return text +
           "admin: { socket: { path: semel.sock, claims: [payments] } }\n"
           "consumers:\n"
           "  - name: payments\n"
           "    source: { claims: {} }\n";
  }
  return text +
         "\nadmin:\n"
         "  socket:\n"
         "    path: semel.sock            # who may open this file may claim\n"
         "    claims: [payments]\n"
         "\nconsumers:\n"
         "  - name: payments              # first half of every record's key\n"
         "    source: { claims: {} }      # its clients claim keys, work, and end their claims\n"
         "    dedup: { ttl: auto, lease: 60s }\n";
}

std::string compose_text(const StarterParts& parts, bool small) {
  if (parts.source == kClaimsSource) return claims_text(parts, small);
  std::string text = small ? "" : head_lines(parts);
  text += store_lines(parts, small);
  if (!small) text += "\n";
  text += "consumers:\n";
  text += small ? "  - name: payments\n"
                : "  - name: payments              # first half of every record's key\n";
  text += source_lines(parts, small);
  text += small ? "    key: json:/id\n"
                : "    key: json:/id               # the producer's id: the same on every send\n";
  if (!small) text += policy_lines(parts);
  text += accept_lines(parts, small);
  return text + handler_lines(parts, small);
}

bool has(const std::vector<StarterWord>& words, std::string_view name) {
  return std::any_of(words.begin(), words.end(), [&](const auto& w) { return w.name == name; });
}

Error unknown_word(std::string_view what, std::string_view word,
                   const std::vector<StarterWord>& words) {
  std::vector<std::string> names;
  for (const auto& each : words) names.emplace_back(each.name);
  const auto near = nearest(word, names);
  return {ErrorKind::kRejected, "", fmt::format("there is no {} \"{}\"", what, printable(word, 40)),
          near ? fmt::format("did you mean \"{}\"?", *near)
               : fmt::format("one of {}", fmt::join(names, ", "))};
}

}  // namespace

std::string StarterParts::expression() const {
  return handler.empty() ? fmt::format("{}/{}", source, store)
                         : fmt::format("{}/{}/{}", source, handler, store);
}

// Leaves out native sources, which need a program of their own.
std::vector<StarterWord> starter_sources() {
  auto sources = alternatives("consumers[].source");
  std::erase_if(sources, [](const StarterWord& word) { return word.name == "native"; });
  return sources;
}
// Leaves out steps, which consist of calls of other handlers: docs/steps.md begins with a config of
// them.
std::vector<StarterWord> starter_handlers() {
  auto handlers = alternatives("consumers[].handler");
  std::erase_if(handlers, [](const StarterWord& word) { return word.name == "steps"; });
  return handlers;
}
std::vector<StarterWord> starter_stores() { return alternatives("store"); }
std::vector<std::string_view> starter_strategies() {
  std::vector<std::string_view> words;
  config::each_field([&](const std::string& at, const config::Field& field) {
    if (at == "consumers[].strategy") words = config::split_words(field.words);
  });
  return words;
}

std::vector<StarterParts> starter_combinations() {
  std::vector<StarterParts> all;
  for (const auto& source : starter_sources()) {
    std::vector<StarterWord> handlers = starter_handlers();
    if (source.name == kClaimsSource) handlers = {{}};
    for (const auto& handler : handlers) {
      for (const auto& store : starter_stores()) {
        all.push_back(
            {std::string(source.name), std::string(handler.name), std::string(store.name)});
      }
    }
  }
  return all;
}

Result<StarterParts> parse_starter(std::string_view expression) {
  std::vector<std::string> words;
  while (!expression.empty()) {
    const auto end = std::min(expression.find('/'), expression.size());
    words.emplace_back(expression.substr(0, end));
    expression.remove_prefix(std::min(end + 1, expression.size()));
  }
  if (!words.empty() && words[0] == kClaimsSource && words.size() < std::size(kUsual)) {
    words.insert(words.begin() + 1, "");
  }
  if (words.size() > std::size(kUsual)) {
    return failure({ErrorKind::kRejected, "", "too many words",
                    "SOURCE/HANDLER/STORE, for example file/sql/sqlite"});
  }
  for (auto i = words.size(); i < std::size(kUsual); ++i) words.emplace_back(kUsual[i]);
  if (!has(starter_sources(), words[0])) {
    return failure(unknown_word("source", words[0], starter_sources()));
  }
  if (words[0] == kClaimsSource && !words[1].empty()) {
    return failure({ErrorKind::kRejected, "", "a consumer that is claimed has no handler",
                    fmt::format("{}/{}", kClaimsSource, words[2])});
  }
  if (words[0] != kClaimsSource && !has(starter_handlers(), words[1])) {
    return failure(unknown_word("handler", words[1], starter_handlers()));
  }
  if (!has(starter_stores(), words[2])) {
    return failure(unknown_word("store", words[2], starter_stores()));
  }
  return StarterParts{words[0], words[1], words[2]};
}

Result<std::string> starter_text(const StarterParts& parts, bool small) {
  auto text = compose_text(parts, small);
  config::LoadOptions options;
  options.env = [](const std::string&) { return std::nullopt; };
  const auto loaded = config::load_text(text, "semel.yaml", options);
  for (const auto& each : loaded.diagnostics) {
    if (each.severity != config::Diagnostic::Severity::kError) continue;
    return failure({ErrorKind::kRejected, each.code,
                    fmt::format("{} does not fit together: {}", parts.expression(), each.message),
                    each.help});
  }
  return text;
}

}  // namespace semel::cli
