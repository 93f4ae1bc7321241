// Faults of the file, and the errors that report them.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "stores/sqlite/schema.h"
#include "stores/sqlite/test_place.h"
#include "tests/support/child_process.h"
#include "tests/support/no_descriptors.h"

namespace semel::sqlite {
namespace {

using test::ChildProcess;

class OpenTest : public SqliteTest {
 protected:
  SqliteOptions without_create() const {
    SqliteOptions wanted = options();
    wanted.create = false;
    return wanted;
  }
  static void expect_useful(const Error& error, const std::string& path) {
    EXPECT_NE(error.message.find(path), std::string::npos) << error.message;
    EXPECT_FALSE(error.hint.empty()) << error.message;
  }
};

TEST_F(OpenTest, AMissingFileOrDirectory) {
  Error error = open_error(without_create());
  EXPECT_EQ(error.code, "R201");
  expect_useful(error, path_);
  EXPECT_FALSE(std::filesystem::exists(path_));
  path_ = folder_.file("no/such/directory/store.db");
  error = open_error(options());
  EXPECT_EQ(error.code, "R201");
  expect_useful(error, path_);
}

TEST_F(OpenTest, WhatIsNoFile) {
  for (const std::string& path : {folder_.path().string(), std::string(":memory:"), std::string(),
                                  std::string("file:x?mode=memory")}) {
    path_ = path;
    EXPECT_EQ(open_error(options()).code, "R212") << path;
  }
}

TEST_F(OpenTest, APathWithAByteOfZeroIsNotCutThere) {
  path_ = folder_.file("store.db");
  path_ += std::string("\0.old", 5);
  const Error error = open_error(options());
  EXPECT_EQ(error.code, "R201");
  EXPECT_EQ(error.kind, ErrorKind::kRejected);
  expect_useful(error, "store.db\\x00.old");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("store.db")));
}

TEST_F(OpenTest, AFileWithSeveralNamesIsRefusedByEach) {
  { open(); }
  const std::string other = folder_.file("other.db");
  std::filesystem::create_hard_link(path_, other);
  for (const std::string& path : {path_, other}) {
    path_ = path;
    for (const SqliteOptions& wanted : {options(), without_create()}) {
      const Error error = open_error(wanted);
      EXPECT_EQ(error.code, "R209");
      EXPECT_EQ(error.kind, ErrorKind::kRejected);
      expect_useful(error, path);
    }
  }
  std::filesystem::remove(other);
  path_ = folder_.file("store.db");
  EXPECT_TRUE(open_store(options(), clock_).has_value());
}

TEST_F(OpenTest, TooFewDescriptorsAreCalledThat) {
  bool opened = false;
  std::size_t refused = 0;
  for (std::size_t left = 0; !opened && left < 64; ++left) {
    path_ = folder_.file("store" + std::to_string(left) + ".db");
    const test::NoDescriptors few(left);
    const auto store = open_store(options(), clock_);
    opened = store.has_value();
    if (opened) break;
    ++refused;
    EXPECT_EQ(store.error().code, "R270") << left << ": " << store.error().message;
    EXPECT_EQ(store.error().kind, ErrorKind::kUnavailable);
  }
  EXPECT_TRUE(opened);
  EXPECT_GE(refused, 3U) << "the file, its log, the file of locks";
}

TEST_F(OpenTest, WhatIsNoDatabase) {
  test::write_file(path_, std::string(5000, 'x'));
  const Error error = open_error(options());
  EXPECT_EQ(error.code, "R213");
  expect_useful(error, path_);
  EXPECT_EQ(test::read_file(path_), std::string(5000, 'x')) << "left as it was";
}

TEST_F(OpenTest, ADamagedFile) {
  {
    const auto store = open();
    complete(*store, test::make_messages(attach(*store), "m", 3000));
  }
  std::string content = test::read_file(path_);
  ASSERT_GT(content.size(), 200'000U);
  for (std::size_t at = 4096; at < content.size(); ++at) content[at] = static_cast<char>(at * 7);
  test::write_file(path_, content);
  // Found at the opening, or at the first page that is needed.
  auto store = open_store(options(), clock_);
  if (!store) {
    EXPECT_EQ(store.error().code, "R202") << store.error().message;
    expect_useful(store.error(), path_);
    return;
  }
  const auto attached = (*store)->attach({"payments", "recipe", false, 24h * 7});
  ASSERT_FALSE(attached.has_value());
  EXPECT_EQ(attached.error().code, "R202") << attached.error().message;
}

TEST_F(OpenTest, AFileWithoutTables) {
  sql("PRAGMA journal_mode = WAL; CREATE TABLE account (id INTEGER)");
  const Error error = open_error(without_create());
  EXPECT_EQ(error.code, "R207");
  EXPECT_NE(error.hint.find("semel store init"), std::string::npos);
  { open(); }
  EXPECT_TRUE(open_store(without_create(), clock_).has_value());
}

TEST_F(OpenTest, ARollbackJournalIsTurnedOnlyWhereTablesMayBeMade) {
  sql("CREATE TABLE account (id INTEGER)");
  EXPECT_EQ(one("PRAGMA journal_mode"), "delete");
  EXPECT_EQ(open_error(without_create()).code, "R207");
  EXPECT_EQ(one("PRAGMA journal_mode"), "delete") << "left as it was";
  { open(); }
  EXPECT_EQ(one("PRAGMA journal_mode"), "wal");
}

TEST_F(OpenTest, ANewerSchema) {
  { open(); }
  sql("UPDATE semel_schema SET version = " + std::to_string(kSchemaVersion + 1));
  for (const SqliteOptions& wanted : {options(), without_create()}) {
    const Error error = open_error(wanted);
    EXPECT_EQ(error.code, "R210");
    EXPECT_EQ(error.kind, ErrorKind::kRejected);
    expect_useful(error, path_);
  }
}

// Another program in the middle of its transaction.
class Locker {
 public:
  explicit Locker(const std::string& path)
      : child_(ChildProcess::fork([&](ChildProcess::Voice& voice) {
          sqlite3* handle = nullptr;
          sqlite3_open(path.c_str(), &handle);
          if (sqlite3_exec(handle, "BEGIN EXCLUSIVE; CREATE TABLE IF NOT EXISTS theirs (a)",
                           nullptr, nullptr, nullptr) != SQLITE_OK) {
            return 1;
          }
          voice.ready();
          ChildProcess::Voice::wait_for_death();
        })) {
    EXPECT_TRUE(child_.wait_ready());
  }
  std::string pid() const { return std::to_string(child_.pid()); }

 private:
  ChildProcess child_;
};

TEST_F(OpenTest, AnotherProgramHasItLocked) {
  busy_ = 30ms;
  { open(); }
  {
    const Locker locker(path_);
    const auto store = open_store(options(), clock_);
    ASSERT_TRUE(store.has_value()) << "looks need no lock: " << store.error().message;
    const auto attached = (*store)->attach({"payments", "recipe", false, 24h});
    ASSERT_FALSE(attached.has_value());
    EXPECT_EQ(attached.error().kind, ErrorKind::kBlocked);
    EXPECT_EQ(attached.error().code, "R206");
    EXPECT_NE(attached.error().message.find(locker.pid()), std::string::npos)
        << attached.error().message;
    EXPECT_TRUE((*store)->facets().records->stats().has_value());
    UnitOptions hasty;
    hasty.patience = 20ms;
    const auto unit = (*store)->facets().transactional->begin(hasty);
    ASSERT_FALSE(unit.has_value());
    EXPECT_EQ(unit.error().code, "R206");
  }
  EXPECT_TRUE(open()->attach({"payments", "recipe", false, 24h}).has_value());
}

// Each finds a file that another one is just making, or converting to a write-ahead log.
TEST_F(OpenTest, ManyProcessesBeginOnANewFileAtATime) {
  for (int round = 0; round < 12; ++round) {
    path_ = folder_.file("new-" + std::to_string(round));
    std::vector<ChildProcess> children;
    for (int i = 0; i < 4; ++i) {
      children.push_back(ChildProcess::fork([&](ChildProcess::Voice&) {
        const auto store = open_store(options(), clock_);
        return store && (*store)->attach({"payments", "recipe", false, 24h}) ? 0 : 1;
      }));
    }
    for (ChildProcess& child : children) EXPECT_EQ(child.wait().value().code, 0) << round;
  }
}

TEST_F(OpenTest, ANewFileThatAnotherProgramHasLocked) {
  busy_ = 30ms;
  sql("CREATE TABLE account (id INTEGER)");
  const Locker locker(path_);
  const Error error = open_error(options());
  EXPECT_EQ(error.kind, ErrorKind::kBlocked);
  EXPECT_EQ(error.code, "R206");
  EXPECT_NE(error.message.find(locker.pid()), std::string::npos) << error.message;
}

TEST_F(OpenTest, AnotherProcessOfOursIsNamed) {
  busy_ = 30ms;
  { attach(*open()); }
  ChildProcess child = ChildProcess::fork([&](ChildProcess::Voice& voice) -> int {
    const auto store = open();
    const auto unit = store->facets().transactional->begin({});
    voice.ready();
    ChildProcess::Voice::wait_for_death();
  });
  ASSERT_TRUE(child.wait_ready());
  child.stop();
  const auto store = open();
  UnitOptions hasty;
  hasty.patience = 20ms;
  const auto unit = store->facets().transactional->begin(hasty);
  ASSERT_FALSE(unit.has_value());
  EXPECT_EQ(unit.error().kind, ErrorKind::kBlocked);
  EXPECT_NE(unit.error().message.find(std::to_string(child.pid())), std::string::npos)
      << unit.error().message;
}

TEST_F(OpenTest, AReadOnlyFile) {
  { attach(*open()); }
  // The tests may run as root, who may do everything: the child is user nobody.
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
  for (const char* file : {"", "-wal", "-shm", "-semel"}) ::chmod((path_ + file).c_str(), 0444);
  ChildProcess child = ChildProcess::fork([&](ChildProcess::Voice& voice) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 1;
    const auto store = open_store(options(), clock_);
    voice.say(store ? "opened" : store.error().code + " " + store.error().message);
    return 0;
  });
  const auto line = child.line();
  ASSERT_TRUE(line.has_value());
  EXPECT_TRUE(line->starts_with("R203 ")) << *line;
  EXPECT_NE(line->find(path_), std::string::npos) << *line;
}

}  // namespace
}  // namespace semel::sqlite
