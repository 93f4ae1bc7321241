#include "cli/console.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>

namespace semel::cli {
namespace {

// A pipe that is read after everything has been written.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Pipe() {
    close_far();
    if (ends_[1] >= 0) ::close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int fd() const { return ends_[1]; }
  void close_far() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }
  std::string text() {
    ::close(ends_[1]);
    ends_[1] = -1;
    std::string all;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(ends_[0], buffer, sizeof buffer)) > 0;) {
      all.append(buffer, static_cast<std::size_t>(n));
    }
    return all;
  }

 private:
  int ends_[2] = {-1, -1};
};

TEST(Console, DataAndTalkGoDifferentWays) {
  Pipe out;
  Pipe err;
  {
    Console console({}, out.fd(), err.fd());
    console.out("data\n");
    console.note("a note");
    console.warn("a warning");
    console.progress("never on a pipe");
    console.next("never on a pipe");
    EXPECT_EQ(console.close(kOk), kOk);
  }
  EXPECT_EQ(out.text(), "data\n");
  EXPECT_EQ(err.text(), "a note\na warning\n");
}

TEST(Console, QuietSilencesNotesOnly) {
  Pipe out;
  Pipe err;
  {
    Settings settings;
    settings.quiet = 1;
    Console console(settings, out.fd(), err.fd());
    console.note("a note");
    console.warn("a warning");
  }
  EXPECT_EQ(err.text(), "a warning\n");
}

TEST(Console, OutputNoneSaysNothing) {
  Pipe out;
  Pipe err;
  {
    Settings settings;
    settings.format = Format::kNone;
    Console console(settings, out.fd(), err.fd());
    console.out("data");
  }
  EXPECT_EQ(out.text(), "");
}

TEST(Console, AReaderThatLeftIsNoFailure) {
  auto* const before = std::signal(SIGPIPE, SIG_IGN);
  Pipe out;
  Pipe err;
  out.close_far();
  Console console({}, out.fd(), err.fd());
  console.out("data\n");
  EXPECT_EQ(console.close(kOk), kOk);
  EXPECT_TRUE(console.out_broken());
  EXPECT_EQ(err.text(), "");
  std::signal(SIGPIPE, before);
}

TEST(Console, AFullDiskIsAFailure) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  Pipe err;
  Console console({}, full, err.fd());
  console.out("data\n");
  EXPECT_EQ(console.close(kOk), kBad);
  EXPECT_EQ(console.close(kNothing), kNothing);
  EXPECT_NE(err.text().find("cannot write to stdout: No space left on device"), std::string::npos);
  ::close(full);
}

// A terminal on standard input and stderr, with a simulated user who types.
class Person {
 public:
  Person() : input_(::dup(STDIN_FILENO)) {
    EXPECT_EQ(::openpty(&keyboard_, &terminal_, nullptr, nullptr, nullptr), 0);
    EXPECT_EQ(::dup2(terminal_, STDIN_FILENO), STDIN_FILENO);
  }
  ~Person() {
    ::dup2(input_, STDIN_FILENO);
    for (const int fd : {input_, keyboard_, terminal_}) ::close(fd);
  }
  Person(const Person&) = delete;
  Person& operator=(const Person&) = delete;
  std::optional<int> asked(const Settings& settings, std::string_view types) {
    EXPECT_EQ(::write(keyboard_, types.data(), types.size()), static_cast<ssize_t>(types.size()));
    return Console(settings, STDOUT_FILENO, terminal_).confirm("Sure?");
  }

 private:
  int input_;
  int keyboard_ = -1;
  int terminal_ = -1;
};

TEST(Console, WhoeverDoesNotSayYesEndsTheCommand) {
  Person person;
  EXPECT_EQ(person.asked({}, "y\n"), std::nullopt);
  EXPECT_EQ(person.asked({}, "yes\n"), std::nullopt);
  EXPECT_EQ(person.asked({}, "n\n"), kBad);
  EXPECT_EQ(person.asked({}, "\n"), kBad);
}

TEST(Console, WhereNobodyCanBeAskedOnlyTheFlagSaysYes) {
  Pipe out;
  Pipe err;
  Settings settings;
  EXPECT_EQ(Console(settings, out.fd(), err.fd()).confirm("Sure?"), kUsage);
  settings.yes = true;
  EXPECT_EQ(Console(settings, out.fd(), err.fd()).confirm("Sure?"), std::nullopt);
  EXPECT_NE(err.text().find("--yes"), std::string::npos);
}

TEST(Console, ErrorsHaveOneForm) {
  const Error error{ErrorKind::kRejected, "R207", "no tables in semel.db", "semel store init"};
  EXPECT_EQ(format_error(error, false),
            "error[R207] no tables in semel.db\n"
            "  fix: semel store init\n"
            "  explain: semel explain R207\n");
  EXPECT_EQ(format_error({ErrorKind::kRejected, "", "just so", ""}, false), "error: just so\n");
  EXPECT_EQ(format_error(error, true).substr(0, 7), "\x1b[1;31m");
}

TEST(Console, ADocumentSaysItsSchema) {
  EXPECT_EQ(document("version").end_object().text(), "{\"schema\":\"semel.v1.version\"}");
}

TEST(Console, OnlyATerminalHasAWidth) {
  Pipe pipe;
  EXPECT_FALSE(Console({}, pipe.fd(), pipe.fd()).width());
  EXPECT_EQ(Console({}, pipe.fd(), pipe.fd()).shown(40), 0U) << "all of it";
  const winsize size{.ws_row = 24, .ws_col = 132, .ws_xpixel = 0, .ws_ypixel = 0};
  int far = -1, terminal = -1;
  ASSERT_EQ(::openpty(&far, &terminal, nullptr, nullptr, &size), 0);
  EXPECT_EQ(Console({}, terminal, terminal).width(), 132U);
  EXPECT_EQ(Console({}, terminal, terminal).shown(40), 40U);
  ::close(terminal);
  ::close(far);
}

TEST(Table, ItsLastColumnIsCutToTheWidth) {
  Table table({"KEY", "ERROR"});
  table.row({"k-1", "grün und blau und rot und so weiter"});
  table.row({"k-2", "short"});
  EXPECT_EQ(table.text(30),
            "KEY  ERROR\n"
            "k-1  grün und blau und rot un…\n"
            "k-2  short\n");
  EXPECT_EQ(table.text(20),
            "KEY  ERROR\n"
            "k-1  grün und blau …\n"
            "k-2  short\n");
  EXPECT_EQ(table.text(3), table.text(13)) << "a part of it stays";
  EXPECT_NE(table.text().find("weiter"), std::string::npos);
  EXPECT_EQ(table.text(80), table.text());
}

TEST(Table, ColumnsThatMayBeCutAreCutAndThenLeftOut) {
  Table table({"KEY", "TRIES", "STATE", "ERROR"});
  table.align_right(1);
  table.may_cut(0, 6);
  table.may_leave_out(1);
  table.row({"order-1234567890", "7", "dead", "nothing listens there, nor ever did"});
  EXPECT_EQ(table.text(50),
            "KEY             TRIES  STATE  ERROR\n"
            "order-1234567…      7  dead   nothing listens the…\n");
  EXPECT_EQ(table.text(40),
            "KEY          STATE  ERROR\n"
            "order-1234…  dead   nothing listens the…\n");
  EXPECT_TRUE(table.left_out(42).empty());
  EXPECT_EQ(table.left_out(40), std::vector<std::string>{"TRIES"});
  for (const std::size_t width : {37U, 42U, 50U, 60U}) {
    const std::string shown = table.text(width);
    for (std::string_view text = shown; !text.empty();) {
      const std::size_t end = text.find('\n');
      EXPECT_LE(width_of(text.substr(0, end)), width);
      text.remove_prefix(end + 1);
    }
  }
  EXPECT_EQ(table.text(200), table.text());
}

TEST(Table, ColumnsAreAsWideAsTheirWidestCell) {
  Table table({"NAME", "N"});
  table.align_right(1);
  table.row({"grün", "7"});
  table.row({"x", "1 000"});
  EXPECT_EQ(table.text(),
            "NAME      N\n"
            "grün      7\n"
            "x     1 000\n");
}

}  // namespace
}  // namespace semel::cli
