// The command line itself: help, wrong use, where the config is found, what becomes of output.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <string>

#include "tests/cli/program.h"
#include "tests/support/inputs.h"

namespace semel::test {
namespace {

TEST(Frame, VersionInThreeWays) {
  EXPECT_TRUE(run({"version"}).out.starts_with("semel "));
  EXPECT_EQ(run({"--version"}).out, run({"version"}).out);
  const Ran json = run({"version", "-o", "json"});
  EXPECT_EQ(json.code, 0);
  EXPECT_EQ(json_at(json.out, "/schema"), "semel.v1.version");
  EXPECT_EQ(run({"version"}, {.environment = {"SEMEL_OUTPUT=json"}}).out, json.out);
}

TEST(Frame, HelpIsOnStdoutAndSucceeds) {
  for (const Words& words : {Words{"--help"},
                             {"help"},
                             {"run", "--help"},
                             {"help", "run"},
                             {"records", "--help"},
                             {"help", "records", "show"}}) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 0) << words.back();
    EXPECT_NE(ran.out.find("Usage:"), std::string::npos) << words.back();
    EXPECT_EQ(ran.err, "") << words.back();
  }
  EXPECT_EQ(run({"help", "run"}).out, run({"run", "--help"}).out);
}

TEST(Frame, HelpNamesValuesAndBounds) {
  const std::string unlock = run({"records", "unlock", "--help"}).out;
  EXPECT_NE(unlock.find("  --as WHAT                   What became of it"), std::string::npos)
      << unlock;
  EXPECT_NE(unlock.find("  --why TEXT "), std::string::npos) << unlock;
  for (const Words& words : {Words{"consumers", "pause", "--help"}, {"reload", "--help"}}) {
    EXPECT_NE(run(words).out.find("  --reason TEXT "), std::string::npos) << words.front();
  }
  EXPECT_NE(run({"demo", "--help"}).out.find("How often a worker is killed, 3 to 1000"),
            std::string::npos);
}

TEST(Frame, WrongUseIsTwoAndSuggests) {
  struct Case {
    Words words;
    std::string says;
  };
  for (const auto& [words, says] : std::initializer_list<Case>{
           {{}, "a command is missing"},
           {{"rn"}, "did you mean \"run\"?"},
           {{"stauts"}, "did you mean \"status\"?"},
           {{"records"}, "a command is missing"},
           {{"records", "lst"}, "did you mean \"list\"?"},
           {{"run", "--onec"}, "did you mean \"--once\"?"},
           {{"help", "rnu"}, "there is no command \"rnu\""},
           {{"version", "-o", "xml"}, "--output cannot be \"xml\""},
           {{"records", "list", "--state", "done"}, "--state cannot be \"done\""},
           {{"records", "list", "--state", "completed"}, "by their key only"},
           {{"demo", "--strategy", "hope"}, "--strategy cannot be \"hope\""},
           {{"demo", "--messages", "0"}, "demo --help"},
           {{"send"}, "CONSUMER"},
       }) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find(says), std::string::npos) << says << " not in: " << ran.err;
  }
}

TEST(Frame, AWrongWordInTheEnvironmentIsNamed) {
  const Ran ran = run({"version"}, {.environment = {"SEMEL_OUTPUT=xml"}});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("SEMEL_OUTPUT cannot be \"xml\""), std::string::npos) << ran.err;
}

TEST(Frame, TheConfigIsTheArgumentTheFlagTheEnvironmentOrTheUsualPlace) {
  const TempDir empty;
  const StartOptions in_empty = {.folder = empty.path().string()};
  const Ran none = run({"status"}, in_empty);
  EXPECT_EQ(none.code, 78);
  EXPECT_NE(none.err.find("./semel.yaml"), std::string::npos) << none.err;
  EXPECT_EQ(run({"status", "-c", "nowhere.yaml"}, in_empty).code, 78);

  const TestBed bed(payments(kQueue));
  EXPECT_EQ(run({"store", "init", bed.config()}).code, 0);
  EXPECT_EQ(run({"status", bed.config()}).code, 0);
  EXPECT_EQ(run({"status", "-c", bed.config()}).code, 0);
  EXPECT_EQ(run({"status"}, {.environment = {"SEMEL_CONFIG=" + bed.config()}}).code, 0);
  EXPECT_EQ(run({"status"}, {.folder = bed.file("")}).code, 0);
  EXPECT_EQ(run({"status", bed.config(), "-c", "other.yaml"}).code, 2);
}

TEST(Frame, ABrokenConfigIsSeventyEight) {
  const TempDir folder;
  write_file(folder.file("semel.yaml"), "version: 1\nconsumers: [\n");
  for (const Words& words : {Words{"run", "--once"},
                             {"status"},
                             {"send", "payments", "{}"},
                             {"dlq", "list"},
                             {"store", "init"}}) {
    const Ran ran = run(words, {.folder = folder.path().string()});
    EXPECT_EQ(ran.code, 78) << words.front();
    EXPECT_NE(ran.err.find("error["), std::string::npos) << ran.err;
  }
}

TEST(Frame, SetGoesOverTheFile) {
  const TestBed bed(payments(kQueue));
  EXPECT_EQ(bed.semel({"store", "init", "--set", "store.sqlite.path=" + bed.file("other.db")}).code,
            0);
  EXPECT_EQ(::access(bed.file("other.db").c_str(), F_OK), 0);
  EXPECT_EQ(bed.semel({"store", "init", "--set", "no.such.path=1"}).code, 78);
}

TEST(Frame, AReaderThatLeavesIsNoFailure) {
  const TestBed bed(payments(kQueue));
  ASSERT_EQ(bed.semel({"store", "init"}).code, 0);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const Ran ran = bed.semel({"status"}, {.out = ends[1]});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.signal, 0);
  ::close(ends[1]);
}

TEST(Frame, AFullDiskUnderTheOutputIsToldAndCounts) {
  const TestBed bed(payments(kQueue));
  ASSERT_EQ(bed.semel({"store", "init"}).code, 0);
  const int full = ::open("/dev/full", O_WRONLY);
  const Ran ran = bed.semel({"status"}, {.out = full});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("cannot write to stdout"), std::string::npos) << ran.err;
  ::close(full);
}

TEST(Frame, ColorsOnlyWhereTheyAreWanted) {
  EXPECT_EQ(run({"rn"}).err.find('\x1b'), std::string::npos);
  const TestBed bed(payments(kQueue));
  EXPECT_NE(bed.semel({"status", "--color", "always"}).err.find('\x1b'), std::string::npos)
      << "the store is missing: an error, and red";
}

// Every command the help tells of, with its path: {"records", "show"}.
void collect_commands(const Words& path, std::set<Words>& found) {
  Words words = {"help"};
  words.insert(words.end(), path.begin(), path.end());
  const std::string help = run(words).out;
  if (!path.empty()) found.insert(path);
  if (help.find(" COMMAND\n") == std::string::npos || path == Words{"help"}) return;
  std::size_t at = 0;
  while ((at = help.find("\n  ", at)) != std::string::npos) {
    at += 3;
    if (help[at] == '-' || help[at] == ' ') continue;
    Words sub = path;
    sub.push_back(help.substr(at, help.find_first_of(" \n", at) - at));
    if (sub != Words{"help"}) collect_commands(sub, found);
  }
}

std::set<std::string> flags_in(const std::string& help) {
  std::set<std::string> flags;
  for (std::size_t at = 0; (at = help.find("--", at)) != std::string::npos;) {
    const std::size_t end = help.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at);
    const bool begins_word = at == 0 || help[at - 1] == ' ' || help[at - 1] == ',';
    if (begins_word && end - at > 3) flags.insert(help.substr(at, end - at));
    at = end;
  }
  return flags;
}

TEST(Frame, ThePageOfTheProgramHasEveryCommandAndEveryFlag) {
  const std::string page = read_file(input("docs/cli.md"));
  std::set<Words> commands;
  collect_commands({}, commands);
  EXPECT_GE(commands.size(), 15u) << "the help could not be read";
  for (const Words& path : commands) {
    std::string name = "semel";
    Words help = {"help"};
    for (const auto& word : path) {
      name += " " + word;
      help.push_back(word);
    }
    EXPECT_NE(page.find("`" + name), std::string::npos) << name << " is not in docs/cli.md";
    for (const auto& flag : flags_in(run(help).out)) {
      EXPECT_NE(page.find("`" + flag), std::string::npos)
          << flag << " of " << name << " is not in docs/cli.md";
    }
  }
}

TEST(Frame, NothingIsShownThatIsNotThere) {
  std::set<Words> commands;
  collect_commands({}, commands);
  for (const Words& path : commands) {
    Words words = path;
    words.push_back("--help");
    EXPECT_EQ(run(words).code, 0) << path.back();
  }
  for (const char* later : {"top", "jobs", "lint-sql", "test"}) {
    EXPECT_FALSE(commands.contains({later})) << later;
  }
}

}  // namespace
}  // namespace semel::test
