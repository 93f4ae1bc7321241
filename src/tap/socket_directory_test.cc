// Sockets next to a database: who can connect, and what dead processes leave.
#include "tap/socket_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "tests/support/temp_dir.h"

namespace semel::tap {
namespace {

namespace fs = std::filesystem;

class PlaceTest : public ::testing::Test {
 protected:
  SocketDirectory place() const {
    auto made = SocketDirectory::beside(database());
    EXPECT_TRUE(made);
    return *std::move(made);
  }
  std::string database() const { return dir_.file("semel.db"); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(dir_.path()), fs::directory_iterator()));
  }

  test::TempDir dir_;
};

TEST_F(PlaceTest, WhoListensIsFoundAndReached) {
  const SocketDirectory here = place();
  EXPECT_TRUE(here.names().empty());
  const auto listening = here.listen();
  ASSERT_TRUE(listening) << listening.error().message;
  EXPECT_EQ(here.names(), std::vector<std::string>{listening->name});
  EXPECT_TRUE(listening->name.starts_with("semel.db-tap-" + std::to_string(::getpid()) + "-"));
  const auto connected = place().connect(listening->name);
  EXPECT_EQ(connected.reach, SocketDirectory::Reach::kThere);
  EXPECT_GE(::accept(listening->socket.get(), nullptr, nullptr), 0);
  here.remove(listening->name);
  EXPECT_TRUE(here.names().empty());
  EXPECT_EQ(files(), 0U);
}

TEST_F(PlaceTest, TheSocketIsItsOwnersAloneWhateverTheMask) {
  const mode_t before = ::umask(0);
  const auto listening = place().listen();
  ::umask(before);
  ASSERT_TRUE(listening);
  struct stat about {};
  ASSERT_EQ(::stat(dir_.file(listening->name).c_str(), &about), 0);
  EXPECT_TRUE(S_ISSOCK(about.st_mode));
  EXPECT_EQ(about.st_mode & 07777U, 0600U);
}

TEST_F(PlaceTest, TwoOfOneProcessDoNotMeet) {
  const SocketDirectory here = place();
  const auto one = here.listen(), two = here.listen();
  ASSERT_TRUE(one && two);
  EXPECT_NE(one->name, two->name);
  EXPECT_EQ(here.names().size(), 2U);
}

TEST_F(PlaceTest, APathLongerThanASocketsAddressIsNoMatter) {
  std::string folder = dir_.path().string();
  for (int i = 0; i < 4; ++i) folder += "/" + std::string(100, static_cast<char>('a' + i));
  fs::create_directories(folder);
  const auto here = SocketDirectory::beside(folder + "/" + std::string(180, 'd') + ".db");
  ASSERT_TRUE(here);
  const auto listening = here->listen();
  ASSERT_TRUE(listening) << listening.error().message;
  EXPECT_EQ(here->names().size(), 1U);
  EXPECT_EQ(here->connect(listening->name).reach, SocketDirectory::Reach::kThere);
}

TEST_F(PlaceTest, ANameThatDoesNotFitIsSaidAndLeavesNothing) {
  const auto here = SocketDirectory::beside(dir_.file(std::string(250, 'd')));
  ASSERT_TRUE(here);
  const auto listening = here->listen();
  ASSERT_FALSE(listening);
  EXPECT_EQ(listening.error().code, "R290");
  EXPECT_NE(listening.error().message.find(dir_.path().string()), std::string::npos);
  EXPECT_EQ(files(), 0U);
}

TEST_F(PlaceTest, WhatTheDeadLeftIsRemovedByWhoMeetsIt) {
  const SocketDirectory here = place();
  std::string dead;
  {
    const auto listening = here.listen();
    ASSERT_TRUE(listening);
    dead = listening->name;
  }
  ASSERT_EQ(here.names().size(), 1U);
  EXPECT_EQ(here.connect(dead).reach, SocketDirectory::Reach::kGone);
  EXPECT_EQ(files(), 0U);
}

TEST_F(PlaceTest, TidyingLeavesTheLivingAlone) {
  const SocketDirectory here = place();
  const auto living = here.listen();
  { const auto dead = here.listen(); }
  test::write_file(dir_.file("semel.db-tap-notes.txt"), "mine");
  test::write_file(dir_.file("semel.db-tap-1-0123456789abcdef"), "a file, no socket");
  here.tidy();
  EXPECT_EQ(files(), 3U);
  EXPECT_EQ(here.connect(living->name).reach, SocketDirectory::Reach::kThere);
}

TEST_F(PlaceTest, WhatDiedBeforeItListenedGoesWhenItIsOld) {
  const std::string path = dir_.file(".semel-tap-0123456789abcdef");
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(fd);
  place().tidy();
  EXPECT_EQ(files(), 1U) << "it may be about to listen";
  const timeval long_ago[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  ASSERT_EQ(::utimes(path.c_str(), long_ago), 0);
  place().tidy();
  EXPECT_EQ(files(), 0U);
}

TEST_F(PlaceTest, OnlyTheSocketsOfThisDatabaseAreMeant) {
  const SocketDirectory here = place();
  for (const auto* name :
       {"semel.db-tap-1-0123456789abcdef", "semel.db-tap-4711-ffffffffffffffff"}) {
    EXPECT_TRUE(here.is_socket_name(name)) << name;
  }
  for (const auto* name :
       {"semel.db", "semel.db-tap-", "semel.db-tap--0123456789abcdef", "semel.db-tap-1",
        "semel.db-tap-1-0123456789abcde", "semel.db-tap-1-0123456789abcdef0",
        "semel.db-tap-1-0123456789ABCDEF", "semel.db-tap-x-0123456789abcdef",
        "other.db-tap-1-0123456789abcdef", "semel.db-tap-5-tap-1-0123456789abcdef",
        "xsemel.db-tap-1-0123456789abcdef"}) {
    EXPECT_FALSE(here.is_socket_name(name)) << name;
  }
}

TEST_F(PlaceTest, LinksLeadToOnePlace) {
  test::write_file(database(), "");
  fs::create_directory(dir_.file("elsewhere"));
  fs::create_symlink(database(), dir_.file("elsewhere/link.db"));
  const auto listening = SocketDirectory::beside(dir_.file("elsewhere/link.db"))->listen();
  ASSERT_TRUE(listening);
  EXPECT_EQ(place().names(), std::vector<std::string>{listening->name});
}

TEST_F(PlaceTest, AFolderThatIsNotThereIsSaid) {
  const auto nowhere = SocketDirectory::beside(dir_.file("no/such/semel.db"));
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, "R201");
  EXPECT_NE(nowhere.error().message.find("no/such"), std::string::npos);
}

TEST_F(PlaceTest, ASocketOfAnotherUserIsForbiddenAndStays) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const SocketDirectory here = place();
  const auto listening = here.listen();
  ASSERT_TRUE(listening);
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::seteuid(kNobody), 0);
  const auto connected = here.connect(listening->name);
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(connected.reach, SocketDirectory::Reach::kForbidden);
  EXPECT_EQ(here.names().size(), 1U);
}

TEST(PlaceOfServer, IsTheSameForTheSameAndInAFolderOfTheUsersAlone) {
  const auto one = SocketDirectory::of_server("postgres a");
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(*one, *SocketDirectory::of_server("postgres a"));
  EXPECT_NE(*one, *SocketDirectory::of_server("postgres b"));
  struct stat about {};
  ASSERT_EQ(::lstat(fs::path(*one).parent_path().c_str(), &about), 0);
  EXPECT_TRUE(S_ISDIR(about.st_mode));
  EXPECT_EQ(about.st_mode & 0777U, 0700U);
  EXPECT_EQ(about.st_uid, ::geteuid());
  const auto place = SocketDirectory::beside(*one);
  ASSERT_TRUE(place);
  const auto listening = place->listen();
  ASSERT_TRUE(listening) << listening.error().message;
  EXPECT_EQ(place->names(), std::vector<std::string>{listening->name});
  place->remove(listening->name);
}

}  // namespace
}  // namespace semel::tap
