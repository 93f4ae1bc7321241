#include <semel/memory.h>
#include <semel/postgres.h>
#include <semel/spi/store.h>
#include <semel/sqlite.h>

#include "config/scalars.h"
#include "config/schema.h"
#include "config/test_load.h"

namespace semel::config {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kWhole = R"yaml(
version: 1
store:
  sqlite: { path: data/x.db, generation_rows: 5000, foreign_keys: false, busy: 7s }
  on_unavailable: fail
drain_timeout: 5s
defaults:
  dedup: { ttl: 14d, too_old: discard }
  retry: { attempts: 4, crashes: 2 }
consumers:
  - name: payments
    source: { file: { path: in/p.jsonl, from: start } }
    key:
      from: [header:Idempotency-Key, json:/order/id]
      join: true
      missing: fail
      fingerprint: [json:/total, json:/sku]
    strategy: inbox
    dedup: { lease: 2m }
    retry: { backoff: 2s..1h, jitter: 0.5, attempts: 9, max_elapsed: 2d }
    concurrency: 3
    batch: { max: 50, target_time: 15ms }
    timeout: 7s
    limits: { key: 1KiB, payload: 2MiB, headers: 3KiB, result: 4B }
    in_flight: { messages: 70, bytes: 8MiB }
    accept: [key_recipe, L101]
    handler:
      sql:
        params:
          id: json:/order/id
          qty: { from: json:/qty, type: integer, optional: true }
        statements:
          - |
            UPDATE stock
            SET on_hand = on_hand - :qty
            WHERE id = :id
          - { sql: "INSERT INTO log(a) VALUES (:id)", expect_rows: 1, otherwise: dead }
        on_unique_violation: { "log( a,b )": duplicate, stock(id): discard }
  - name: mails
    source: queue_is_written_out
)yaml";

TEST(Load, EveryFieldReachesTheConfig) {
  std::string yaml(kWhole);
  yaml.replace(yaml.find("queue_is_written_out"), 20, "{ queue: {} }\n    key: function");
  const auto config = good(yaml, with_env({}), "/etc/semel/semel.yaml");
  const auto& store = std::get<SqliteOptions>(config.store.kind);
  EXPECT_EQ(store.path, "/etc/semel/data/x.db");
  EXPECT_EQ(store.generation_rows, 5000U);
  EXPECT_FALSE(store.foreign_keys);
  EXPECT_EQ(store.busy, seconds(7));
  EXPECT_EQ(config.store.on_unavailable, StoreConfig::OnUnavailable::kFail);
  EXPECT_EQ(config.drain_timeout, seconds(5));
  ASSERT_EQ(config.consumers.size(), 2U);
  const auto& c = config.consumers[0];
  EXPECT_EQ(c.name, "payments");
  EXPECT_EQ(c.where.line, 11);
  const auto& file = std::get<FileSource>(c.source);
  EXPECT_EQ(file.spec.path, "/etc/semel/in/p.jsonl");
  EXPECT_EQ(file.spec.from, core::FileSpec::From::kStart);
  ASSERT_EQ(c.key.parts.size(), 2U);
  EXPECT_EQ(c.key.parts[0].text, "header:Idempotency-Key");
  EXPECT_TRUE(c.key.join);
  EXPECT_EQ(c.key.missing, core::KeyRecipe::Missing::kFail);
  EXPECT_EQ(c.key.fingerprint, core::KeyRecipe::FingerprintOf::kFields);
  ASSERT_EQ(c.key.fingerprint_fields.size(), 2U);
  EXPECT_EQ(c.key.fingerprint_fields[1].text(), "/sku");
  EXPECT_EQ(c.strategy, core::StrategyKind::kInbox);
  EXPECT_TRUE(c.strategy_named);
  EXPECT_EQ(c.dedup.ttl, DedupConfig::Ttl::kFor);
  EXPECT_EQ(c.dedup.ttl_for, hours(14 * 24));
  EXPECT_EQ(effective_ttl(c), hours(14 * 24));
  EXPECT_EQ(c.dedup.too_old, core::TooOld::kDiscard);
  EXPECT_EQ(c.dedup.lease, minutes(2));
  EXPECT_EQ(c.retry.attempts, 9);
  EXPECT_EQ(c.retry.crashes, 2);
  EXPECT_EQ(c.retry.first, seconds(2));
  EXPECT_EQ(c.retry.longest, hours(1));
  EXPECT_EQ(c.retry.jitter, 0.5);
  EXPECT_EQ(c.retry.max_elapsed, hours(48));
  EXPECT_EQ(c.concurrency, 3);
  EXPECT_EQ(c.pace.batch_max, 50U);
  EXPECT_EQ(c.pace.batch_target, milliseconds(15));
  EXPECT_EQ(c.timeout, seconds(7));
  EXPECT_EQ(c.limits.key, 1024U);
  EXPECT_EQ(c.limits.payload, 2U << 20);
  EXPECT_EQ(c.limits.headers, 3072U);
  EXPECT_EQ(c.limits.result, 4U);
  EXPECT_EQ(c.pace.max_in_flight, 70U);
  EXPECT_EQ(c.pace.max_in_flight_bytes, 8U << 20);
  EXPECT_EQ(c.accept, (std::set<std::string>{"key_recipe", "L101"}));
  const auto& mails = config.consumers[1];
  EXPECT_EQ(std::get<NativeHandler>(mails.handler).name, "mails");
  EXPECT_EQ(mails.strategy, core::StrategyKind::kStateMachine);
  EXPECT_FALSE(mails.strategy_named);
  EXPECT_EQ(mails.retry.attempts, 4);
  EXPECT_EQ(config.find("mails"), &mails);
  EXPECT_EQ(config.find("nobody"), nullptr);
}

TEST(Load, ExecReachesTheConfig) {
  const auto spec_of = [](std::string_view handler, std::string_view more = "") {
    const auto loaded = load_text(
        fmt::format("consumers:\n  - name: thumbs\n    source: {{ file: in.jsonl }}\n"
                    "    key: json:/id\n    limits: {{ result: 5B }}\n    handler: {}\n{}",
                    handler, more),
        "folder/semel.yaml");
    EXPECT_TRUE(loaded.config) << handler;
    if (!loaded.config) return core::ExecSpec{};
    const auto& made = loaded.config->consumers.at(0);
    EXPECT_EQ(made.strategy, core::StrategyKind::kStateMachine);
    return std::get<ExecHandler>(made.handler).spec;
  };
  const auto whole = spec_of(
      "{ exec: { command: [thumb, \"a, b\", \"\"], timeout: 4m, grace: 2s, honours_key: true } }");
  EXPECT_EQ(whole.command, (std::vector<std::string>{"thumb", "a, b", ""}));
  EXPECT_EQ(whole.timeout, minutes(4));
  EXPECT_EQ(whole.grace, seconds(2));
  EXPECT_TRUE(whole.honours_key);
  EXPECT_EQ(whole.result_limit, 5U);
  EXPECT_EQ(whole.consumer, "thumbs");
  EXPECT_EQ(whole.source, "file");

  const auto small = spec_of("{ exec: \"two words, and a comma\" }", "    timeout: 7s\n");
  EXPECT_EQ(small.command, std::vector<std::string>{"two words, and a comma"});
  EXPECT_EQ(small.timeout, seconds(7));
  EXPECT_EQ(small.grace, seconds(5));
  EXPECT_FALSE(small.honours_key);
  EXPECT_EQ(spec_of("{ exec: [a, b] }").command, (std::vector<std::string>{"a", "b"}));
}

TEST(Load, ARelativeProgramStartsAtTheConfigsFolder) {
  const auto program_of = [](std::string_view program, const std::string& file) {
    const auto loaded =
        load_text(fmt::format("consumers:\n  - name: thumbs\n    source: {{ stdin: {{}} }}\n"
                              "    key: json:/id\n    handler: {{ exec: {} }}\n",
                              program),
                  file);
    return std::get<ExecHandler>(loaded.config.value().consumers.at(0).handler).spec.command.at(0);
  };
  EXPECT_EQ(program_of("./thumb.sh", "folder/semel.yaml"), "folder/thumb.sh");
  EXPECT_EQ(program_of("./thumb.sh", "semel.yaml"), "./thumb.sh");
  EXPECT_EQ(program_of("bin/thumb.sh", "semel.yaml"), "bin/thumb.sh");
  EXPECT_EQ(program_of("/bin/thumb", "folder/semel.yaml"), "/bin/thumb");
  EXPECT_EQ(program_of("thumb", "folder/semel.yaml"), "thumb");
}

TEST(Load, SqlReachesTheConfig) {
  std::string yaml(kWhole);
  yaml.resize(yaml.find("  - name: mails"));
  const auto config = good(yaml);
  const auto& spec = std::get<SqlHandler>(config.consumers.at(0).handler).spec;
  EXPECT_EQ(spec.params.at("id").pointer.text(), "/order/id");
  EXPECT_EQ(spec.params.at("qty").type, core::SqlParam::Type::kInteger);
  EXPECT_TRUE(spec.params.at("qty").optional);
  ASSERT_EQ(spec.statements.size(), 2U);
  EXPECT_EQ(spec.statements[0].sql, "UPDATE stock\nSET on_hand = on_hand - :qty\nWHERE id = :id\n");
  EXPECT_FALSE(spec.statements[0].expect_rows);
  EXPECT_EQ(spec.statements[1].expect_rows, 1);
  EXPECT_EQ(spec.statements[1].otherwise.verdict.kind(), Verdict::Kind::kDead);
  EXPECT_FALSE(spec.statements[1].otherwise.verdict.reason().empty());
  ASSERT_EQ(spec.on_unique_violation.size(), 2U);
  EXPECT_EQ(spec.on_unique_violation[0].constraint, "log(a, b)");
  EXPECT_TRUE(spec.on_unique_violation[0].otherwise.duplicate);
  EXPECT_EQ(spec.on_unique_violation[1].otherwise.verdict.kind(), Verdict::Kind::kDiscard);
}

TEST(Load, TheSecondPartReachesTheConfig) {
  const auto config = good(
      "version: 1\nstore: { sqlite: a.db }\nconsumers:\n"
      "  - name: charges\n    source: { queue: {} }\n    key: json:/id\n    handler:\n"
      "      http: http://localhost/charge\n"
      "      apply:\n"
      "        sql:\n"
      "          params: { id: json:/id, charge: answer:/charge_id }\n"
      "          statements: [ 'UPDATE orders SET charge = :charge WHERE id = :id' ]\n");
  const auto& consumer = config.consumers.at(0);
  EXPECT_TRUE(std::holds_alternative<HttpHandler>(consumer.handler));
  EXPECT_EQ(consumer.strategy, core::StrategyKind::kFence);
  ASSERT_TRUE(consumer.apply);
  EXPECT_TRUE(consumer.apply->params.at("charge").of_answer);
  EXPECT_EQ(consumer.apply->params.at("charge").pointer.text(), "/charge_id");
  EXPECT_FALSE(consumer.apply->params.at("id").of_answer);
}

// The schema's table and the structs that C++ users see have the same defaults.
TEST(Load, DefaultsAreThoseOfTheStructs) {
  const auto config = good(kSmall);
  const auto& c = config.consumers.at(0);
  const RetryPolicy retry;
  EXPECT_EQ(c.retry.attempts, retry.attempts);
  EXPECT_EQ(c.retry.first, retry.first);
  EXPECT_EQ(c.retry.longest, retry.longest);
  EXPECT_EQ(c.retry.jitter, retry.jitter);
  EXPECT_EQ(c.retry.max_elapsed, retry.max_elapsed);
  EXPECT_EQ(c.retry.crashes, retry.crashes);
  const core::Limits limits;
  EXPECT_EQ(c.limits.key, limits.key);
  EXPECT_EQ(c.limits.payload, limits.payload);
  EXPECT_EQ(c.limits.headers, limits.headers);
  EXPECT_EQ(c.limits.result, limits.result);
  EXPECT_EQ(c.dedup.lease, ClaimOptions{}.lease);
  EXPECT_EQ(c.pace.batch_max, StoreTraits{}.best_batch);
  EXPECT_EQ(std::get<SqliteOptions>(config.store.kind).generation_rows,
            SqliteOptions{}.generation_rows);
  EXPECT_EQ(std::get<SqliteOptions>(config.store.kind).foreign_keys, SqliteOptions{}.foreign_keys);
  EXPECT_EQ(std::get<SqliteOptions>(config.store.kind).busy, SqliteOptions{}.busy);
  const auto memory = good(R"({store: {memory: {}}, consumers: [{name: a, source: {stdin: {}},
                               key: json:/id}]})");
  EXPECT_EQ(std::get<MemoryOptions>(memory.store.kind).max_records, MemoryOptions{}.max_records);
  const auto server = good(R"({store: {postgres: "postgresql://db/bank"}, consumers: [{name: a,
      source: {stdin: {}}, key: json:/id}]})");
  const auto& postgres = std::get<PostgresOptions>(server.store.kind);
  EXPECT_EQ(postgres.schema, PostgresOptions{}.schema);
  EXPECT_EQ(postgres.connections, PostgresOptions{}.connections);
  EXPECT_EQ(effective_ttl(c), DedupConfig::kAutoTtl);
  EXPECT_EQ(c.dedup.too_old, core::TooOld::kPark);
  EXPECT_FALSE(c.concurrency);
}

// Otherwise a default could be refused as if the user had written it.
TEST(Load, EveryDefaultOfTheTableIsValid) {
  int seen = 0;
  each_field([&](const std::string& path, const Field& field) {
    const std::string fallback = default_of(field);
    if (fallback.empty() || !is_leaf(field)) return;
    Setting setting;
    setting.field = &field;
    setting.text = fallback;
    const auto flaw = read_value(setting);
    EXPECT_FALSE(flaw) << path << ": " << flaw->message;
    ++seen;
  });
  EXPECT_GT(seen, 20);
}

TEST(Load, StrategyWordsAreThoseOfTheCore) {
  const auto* consumers = find_field(schema(), "consumers");
  const auto* strategy = find_field(consumers->fields.front(), "strategy");
  const auto words = split_words(strategy->words);
  EXPECT_EQ(words.size(), 9U);
  for (const auto word : words) EXPECT_TRUE(core::strategy_from(word)) << word;
}

TEST(Load, TheStoreIsBesideTheConfigByDefault) {
  const auto config = good(kSmall, with_env({}), "/srv/app/semel.yaml");
  EXPECT_EQ(std::get<SqliteOptions>(config.store.kind).path, "/srv/app/semel.db");
  const auto here = good(kSmall);
  EXPECT_EQ(std::get<SqliteOptions>(here.store.kind).path, "semel.db");
}

TEST(Durations, AreReadAndShown) {
  EXPECT_EQ(parse_duration("500ms"), 500);
  EXPECT_EQ(parse_duration("7d"), 7 * 86'400'000LL);
  EXPECT_EQ(parse_duration("0"), 0);
  for (const auto* bad :
       {"", "5", "s", "5 s", "-5s", "5S", "1.5h", "1h30m", "99999999999999999d"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
  EXPECT_EQ(show_duration(90'000), "90s");
  EXPECT_EQ(show_duration(0), "0s");
  EXPECT_EQ(show_duration(86'400'000), "1d");
  EXPECT_EQ(parse_size("64KiB"), 65536);
  EXPECT_EQ(show_size(1536), "1536B");
  EXPECT_EQ(show_size(16 << 20), "16MiB");
}

}  // namespace
}  // namespace semel::config
