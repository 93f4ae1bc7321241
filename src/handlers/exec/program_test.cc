#include "handlers/exec/program.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/support/temp_dir.h"

namespace semel::handlers::exec {
namespace {

using test::TempDir;

std::string make_file(const TempDir& folder, const std::string& name, mode_t mode) {
  std::filesystem::create_directories(std::filesystem::path(folder.file(name)).parent_path());
  test::write_file(folder.file(name), "#!/bin/sh\n");
  ::chmod(folder.file(name).c_str(), mode);
  return folder.file(name);
}

std::string refusal(const Result<std::string>& result) {
  if (result) return "found " + *result;
  EXPECT_EQ(result.error().kind, ErrorKind::kRejected);
  EXPECT_EQ(result.error().code, "R280");
  return result.error().message;
}

TEST(FindProgram, TakesTheFirstOfPathThatMayBeRun) {
  const TempDir folder;
  make_file(folder, "a/thumb", 0644);
  std::filesystem::create_directories(folder.file("b/thumb"));
  const auto good = make_file(folder, "c/thumb", 0755);
  make_file(folder, "d/thumb", 0755);
  const auto path = folder.file("none") + ":" + folder.file("a") + ":" + folder.file("b") + ":" +
                    folder.file("c") + ":" + folder.file("d");
  EXPECT_EQ(*find_program("thumb", path), good);
}

TEST(FindProgram, APathIsNotLookedUp) {
  const TempDir folder;
  const auto good = make_file(folder, "a/thumb", 0755);
  EXPECT_EQ(*find_program(good, ""), good);
  EXPECT_EQ(refusal(find_program("./no-such-thumb", folder.file("a"))),
            "\"./no-such-thumb\" is not there");
}

TEST(FindProgram, SaysWhatIsWrong) {
  const TempDir folder;
  const auto plain = make_file(folder, "plain", 0644);
  EXPECT_EQ(refusal(find_program(plain, "")), "\"" + plain + "\" may not be run by this user");
  EXPECT_EQ(refusal(find_program("plain", folder.path().string())),
            "\"" + plain + "\" may not be run by this user");
  EXPECT_EQ(refusal(find_program(folder.path().string(), "")),
            "\"" + folder.path().string() + "\" is a folder, not a program");
  EXPECT_EQ(refusal(find_program("/dev/null", "")), "\"/dev/null\" is not a file that can be run");
  EXPECT_EQ(refusal(find_program(plain + "/thumb", "")), "\"" + plain + "/thumb\" is not there");
}

TEST(FindProgram, ACommandInOneTextIsToldToBeAList) {
  const auto found = find_program("thumb --stdin", "/usr/bin:/bin");
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().hint.find("[program, argument]"), std::string::npos);
}

}  // namespace
}  // namespace semel::handlers::exec
