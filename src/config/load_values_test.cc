// The origins of values: the file, the environment, files of secrets, the command line.
#include <filesystem>
#include <fstream>

#include "config/test_load.h"

namespace semel::config {
namespace {

namespace fs = std::filesystem;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(LoadValues, JsonIsReadByTheSameReader) {
  const auto config = good(R"({"version": 1, "consumers": [
    {"name": "payments", "source": {"file": {"path": "a b.jsonl"}},
     "key": {"from": ["json:/id"], "join": false}, "retry": {"attempts": 3, "jitter": 0.1},
     "handler": {"sql": {"params": {"id": "json:/id"}, "statements":
       ["DELETE FROM t WHERE a = :id AND b = '\u00e4\"'"]}}}]})",
                           with_env({}), "semel.json");
  EXPECT_EQ(std::get<SqlHandler>(config.consumers.at(0).handler).spec.statements[0].sql,
            "DELETE FROM t WHERE a = :id AND b = 'ä\"'");
  EXPECT_EQ(config.consumers[0].strategy, core::StrategyKind::kDedupTable);
}

TEST(LoadValues, AnchorsWindowsLinesAndAByteOrderMarkAreFine) {
  const auto config = good(
      "\xEF\xBB\xBF"
      "consumers:\r\n"
      "  - name: a\r\n"
      "    source: { queue: {} }\r\n"
      "    key: &key { from: [json:/id] }\r\n"
      "    handler:\r\n"
      "      sql:\r\n"
      "        params: { id: json:/id }\r\n"
      "        statements:\r\n"
      "          - |\r\n"
      "            DELETE FROM t\r\n"
      "            WHERE a = :id\r\n"
      "  - name: b\r\n"
      "    source: { queue: {} }\r\n"
      "    key: *key\r\n");
  ASSERT_EQ(config.consumers.size(), 2U);
  EXPECT_EQ(config.consumers[1].key.parts.at(0).text, "json:/id");
  EXPECT_EQ(std::get<SqlHandler>(config.consumers[0].handler).spec.statements[0].sql,
            "DELETE FROM t\nWHERE a = :id\n");
}

TEST(LoadValues, CommaTextIsAList) {
  const auto config = good(R"(
consumers:
  - name: a
    source: { queue: {} }
    key: { from: "${PARTS}", join: true, fingerprint: "json:/x,json:/y" }
    accept: W041, W042
)",
                           with_env({{"PARTS", "json:/a, header:B"}}));
  ASSERT_EQ(config.consumers.at(0).key.parts.size(), 2U);
  EXPECT_EQ(config.consumers[0].key.parts[1].text, "header:B");
  EXPECT_EQ(config.consumers[0].key.fingerprint_fields.size(), 2U);
  EXPECT_EQ(config.consumers[0].accept, (std::set<std::string>{"W041", "W042"}));
}

TEST(LoadValues, EmptyPayloadsAndTheFingerprintOfJson) {
  const auto config = good(R"(
consumers:
  - name: a
    source: { queue: {} }
    key: { from: json:/id, fingerprint: json }
    empty: discard
  - name: b
    source: { queue: {} }
    key: json:/id
    empty: dead_letter
  - name: c
    source: { queue: {} }
    key: json:/id
)",
                           with_env({}));
  using core::EmptyPayload;
  using Of = core::KeyRecipe::FingerprintOf;
  EXPECT_EQ(config.consumers.at(0).empty, EmptyPayload::kDiscard);
  EXPECT_EQ(config.consumers[0].key.fingerprint, Of::kJson);
  EXPECT_EQ(config.consumers.at(1).empty, EmptyPayload::kDeadLetter);
  EXPECT_EQ(config.consumers.at(2).empty, EmptyPayload::kHandle);
  EXPECT_EQ(config.consumers[2].key.fingerprint, Of::kBody);
}

TEST(LoadValues, VariablesAreReplacedInValuesAndThenTyped) {
  const auto config = good(R"(
consumers:
  - name: ${NAME}
    source: { file: { path: "${DIR:-data}/${NAME}.jsonl" } }
    key: ${KEY:?which key}
    timeout: ${TIMEOUT}
    handler:
      sql:
        params: { id: json:/id }
        statements:
          - DELETE FROM t WHERE a = :id AND b = '$${x} ${EMPTY:-}${MULTI}'
)",
                           with_env({{"NAME", "orders"},
                                     {"KEY", "json:/id"},
                                     {"TIMEOUT", "3s"},
                                     {"MULTI", "two\nlines: - {"}}));
  const auto& c = config.consumers.at(0);
  EXPECT_EQ(c.name, "orders");
  EXPECT_EQ(std::get<FileSource>(c.source).spec.path, "data/orders.jsonl");
  EXPECT_EQ(c.timeout, seconds(3));
  EXPECT_EQ(std::get<SqlHandler>(c.handler).spec.statements[0].sql,
            "DELETE FROM t WHERE a = :id AND b = '${x} two\nlines: - {'");
}

TEST(LoadValues, InterpolationCanBeOff) {
  auto options = with_env({});
  options.interpolate = false;
  const auto config =
      good("consumers: [{name: a, source: {file: '${X}'}, key: json:/id}]", options);
  EXPECT_EQ(std::get<FileSource>(config.consumers.at(0).source).spec.path, "${X}");
}

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "semel-config-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  void TearDown() override { fs::remove_all(path_); }
  std::string write(const std::string& name, std::string_view text) {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }
  fs::path path_;
};

TEST_F(Folder, SecretsComeFromFilesAndAreNeverShown) {
  write("secret", "hunter2\n");
  const auto file = write("semel.yaml", R"(
consumers:
  - name: a
    source: { file: { path: "${file:secret}" } }
    key: json:/id
    handler: { native: "${cred:secret}" }
)");
  const auto loaded = load_file(file, with_env({{"CREDENTIALS_DIRECTORY", path_.string()}}));
  ASSERT_TRUE(loaded.config) << all_of(loaded);
  EXPECT_EQ(std::get<FileSource>(loaded.config->consumers.at(0).source).spec.path,
            (path_ / "hunter2").string());
  EXPECT_EQ(std::get<NativeHandler>(loaded.config->consumers.at(0).handler).name, "hunter2");
  EXPECT_TRUE(effective(loaded, "consumers[0].source.file.path").starts_with("*** ("));
  for (const auto& each : loaded.effective)
    EXPECT_EQ(each.value.find("hunter2"), std::string::npos);
}

TEST_F(Folder, ASecretOfTheWrongKindIsNotRepeated) {
  write("secret", "hunter2");
  const auto file = write("semel.yaml", R"(
consumers:
  - name: "${file:secret} X"
    source: { queue: {} }
    key: ${file:secret}
    timeout: ${file:secret}
    strategy: ${file:secret}
    concurrency: ${file:secret}
    limits: { key: "${file:secret}" }
    accept: ["${file:secret}"]
    unsafe: ${file:secret}
    retry: { jitter: "${file:secret}", backoff: "${file:secret}" }
    handler: { sql: { params: { a: "${file:secret}" }, statements: [ DELETE FROM t ] } }
)");
  const auto loaded = load_file(file, with_env({}));
  EXPECT_GE(loaded.diagnostics.size(), 10U);
  EXPECT_EQ(all_of(loaded).find("hunter2"), std::string::npos) << all_of(loaded);
}

TEST_F(Folder, FilesThatCannotBeRead) {
  const auto code = [](const Loaded& loaded) {
    EXPECT_FALSE(loaded.config);
    return loaded.diagnostics.empty() ? "none" : loaded.diagnostics.front().code;
  };
  EXPECT_EQ(code(load_file((path_ / "none.yaml").string())), "E001");
  EXPECT_EQ(code(load_file(path_.string())), "E001");
  EXPECT_EQ(code(load_file(write("empty", ""))), "E002");
  EXPECT_EQ(code(load_file(write("binary", std::string("\x7f"
                                                       "ELF\0\1\2",
                                                       7)))),
            "E003");
  EXPECT_EQ(code(load_file(write("latin", "name: gr\xfc\xdf"))), "E003");
  EXPECT_EQ(code(load_file(write("utf16", std::string("\xff\xfe"
                                                      "a\0b\0",
                                                      6)))),
            "E003");
  EXPECT_EQ(code(load_file(write("huge", std::string((1 << 20) + 1, '#')))), "E004");
  EXPECT_EQ(code(load_file("/dev/zero")), "E004");
}

TEST(LoadValues, SetsGoOverTheFile) {
  auto options = with_env({});
  options.sets = {"consumers[0].batch.max=10",
                  "consumers.payments.timeout=9s",
                  "consumers.payments.key.missing=fail",
                  "store.memory.max_records=7",
                  "consumers.payments.source.file.path=x.jsonl",
                  "consumers[1]={name: more, source: {stdin: {}}, key: json:/id}",
                  "consumers[1].accept[0]=W041"};
  const auto loaded =
      load_text(std::string(kSmall) + "store: { sqlite: a.db }\n", "d/semel.yaml", options);
  ASSERT_TRUE(loaded.config) << all_of(loaded);
  const auto& c = loaded.config->consumers.at(0);
  EXPECT_EQ(c.pace.batch_max, 10U);
  EXPECT_EQ(c.timeout, seconds(9));
  EXPECT_EQ(c.key.missing, core::KeyRecipe::Missing::kFail);
  EXPECT_EQ(c.key.parts.at(0).text, "json:/id");
  EXPECT_EQ(std::get<MemoryOptions>(loaded.config->store.kind).max_records, 7U);
  EXPECT_EQ(std::get<FileSource>(c.source).spec.path, "d/x.jsonl");
  EXPECT_EQ(loaded.config->consumers.at(1).name, "more");
  EXPECT_TRUE(loaded.config->consumers.at(1).accept.contains("W041"));
  EXPECT_EQ(effective(loaded, "consumers[0].batch.max"), "10 (--set)");
}

TEST(LoadValues, EveryEffectiveValueSaysWhereItComesFrom) {
  const auto loaded = load_text(
      "defaults: { timeout: 4s }\n"
      "consumers:\n"
      "  - name: ${NAME}\n"
      "    source: { queue: {} }\n"
      "    key: json:/id\n",
      "semel.yaml", with_env({{"NAME", "a"}, {"STATE_DIRECTORY", "/var/lib/semel:/other"}}));
  ASSERT_TRUE(loaded.config) << all_of(loaded);
  EXPECT_EQ(effective(loaded, "consumers[0].name"), "a (semel.yaml:3:11, env NAME)");
  EXPECT_EQ(effective(loaded, "consumers[0].timeout"), "4s (semel.yaml:1:22)");
  EXPECT_EQ(effective(loaded, "consumers[0].dedup.ttl"), "auto (default)");
  EXPECT_EQ(effective(loaded, "consumers[0].strategy"), "state_machine (default)");
  EXPECT_EQ(effective(loaded, "consumers[0].handler.native"), "a (default)");
  EXPECT_EQ(effective(loaded, "store.sqlite.path"),
            "/var/lib/semel/semel.db (env STATE_DIRECTORY)");
  EXPECT_EQ(std::get<SqliteOptions>(loaded.config->store.kind).path, "/var/lib/semel/semel.db");
  EXPECT_EQ(effective(loaded, "defaults.timeout"), "nothing");
}

}  // namespace
}  // namespace semel::config
