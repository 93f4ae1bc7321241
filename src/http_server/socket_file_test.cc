#include "http_server/socket_file.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "http_server/http_server.h"
#include "tests/support/http_get.h"
#include "tests/support/temp_dir.h"

namespace semel::http {
namespace {

Result<std::unique_ptr<SocketFile>> listen_at(const std::string& path, mode_t mode = 0600) {
  return SocketFile::listen({path, mode}, 16, {});
}

mode_t mode_of(const std::string& path) {
  struct stat about {};
  EXPECT_EQ(::lstat(path.c_str(), &about), 0) << path;
  EXPECT_TRUE(S_ISSOCK(about.st_mode));
  return about.st_mode & 0777U;
}

std::size_t files_in(const test::TempDir& folder) {
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator(folder.path())) {
    ++files;
  }
  return files;
}

// A child that listens there until it is killed.
class ListeningChild {
 public:
  explicit ListeningChild(const std::string& path) {
    int ready[2] = {-1, -1};
    EXPECT_EQ(::pipe(ready), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const auto file = listen_at(path);
      const char said = file ? '1' : '0';
      (void)!::write(ready[1], &said, 1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char said = '0';
    EXPECT_EQ(::read(ready[0], &said, 1), 1);
    EXPECT_EQ(said, '1');
    ::close(ready[0]);
  }
  ~ListeningChild() { kill(); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

TEST(SocketFileTest, HasItsRightsWhateverTheUmask) {
  const test::TempDir folder;
  const mode_t before = ::umask(0077);
  const auto owner = listen_at(folder.file("owner"));
  const auto group = listen_at(folder.file("group"), 0660);
  ::umask(before);
  ASSERT_TRUE(owner) << owner.error().message;
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_EQ(mode_of(folder.file("owner")), 0600U);
  EXPECT_EQ(mode_of(folder.file("group")), 0660U);
}

TEST(SocketFileTest, ACleanEndLeavesNothing) {
  const test::TempDir folder;
  {
    const auto file = listen_at(folder.file("a.sock"));
    ASSERT_TRUE(file);
    EXPECT_EQ(files_in(folder), 2U) << "the socket and its lock";
  }
  EXPECT_EQ(files_in(folder), 0U);
}

TEST(SocketFileTest, ALiveOneIsNeverReplaced) {
  const test::TempDir folder;
  const std::string path = folder.file("a.sock");
  const ListeningChild child(path);
  const auto second = listen_at(path);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, "R340");
  EXPECT_EQ(second.error().kind, ErrorKind::kUnavailable);
  EXPECT_NE(second.error().message.find("process " + std::to_string(child.pid()) + " listens"),
            std::string::npos)
      << second.error().message;
  EXPECT_EQ(files_in(folder), 2U);
}

TEST(SocketFileTest, WhatADeadProcessLeftIsReplaced) {
  const test::TempDir folder;
  const std::string path = folder.file("a.sock");
  ListeningChild(path).kill();
  ASSERT_EQ(mode_of(path), 0600U) << "it was left";
  // As if it had been killed between making the socket and giving it its name.
  std::filesystem::rename(path, path + ".new");
  ListeningChild(path).kill();
  const auto file = listen_at(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(files_in(folder), 2U);
}

TEST(SocketFileTest, ALiveSocketOfAnotherProgramIsLeft) {
  const test::TempDir folder;
  const std::string path = folder.file("a.sock");
  const system::Descriptor other(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, path.data(), path.size());
  ASSERT_EQ(::bind(other.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(other.get(), 1), 0);
  EXPECT_FALSE(listen_at(path));
  EXPECT_EQ(files_in(folder), 1U) << "it is there, and the lock is not";
}

TEST(SocketFileTest, AFileThatIsNoSocketIsLeft) {
  const test::TempDir folder;
  std::ofstream(folder.file("a.sock")) << "precious";
  const auto file = listen_at(folder.file("a.sock"));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, ErrorKind::kRejected);
  EXPECT_NE(file.error().message.find("no socket"), std::string::npos) << file.error().message;
  EXPECT_TRUE(std::filesystem::is_regular_file(folder.file("a.sock")));
}

TEST(SocketFileTest, AnotherOneInItsPlaceIsLeft) {
  const test::TempDir folder;
  const std::string path = folder.file("a.sock");
  auto file = listen_at(path);
  ASSERT_TRUE(file);
  std::filesystem::remove(path);
  std::ofstream(path) << "of somebody else";
  file->reset();
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(SocketFileTest, RefusesAPathThatNobodyCouldUse) {
  const test::TempDir folder;
  const auto missing = listen_at(folder.file("none/a.sock"));
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("its folder: No such file"), std::string::npos)
      << missing.error().message;
  EXPECT_NE(missing.error().hint.find("RuntimeDirectory"), std::string::npos);
  const auto wide = listen_at(folder.file(std::string(kLongestSocketPath, 'x')));
  ASSERT_FALSE(wide);
  EXPECT_NE(wide.error().message.find("at most 107"), std::string::npos) << wide.error().message;
  EXPECT_FALSE(listen_at(folder.path().string() + "/"));
}

TEST(SocketFileTest, ARequestSaysWhoAsks) {
  const test::TempDir folder;
  HttpServerOptions options;
  options.socket = SocketPath{folder.file("a.sock"), 0600};
  auto server = HttpServer::open(std::move(options), [](const HttpRequest& request) -> HttpReply {
    return plain_text(200, request.user ? std::to_string(*request.user) : "nobody");
  });
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ((*server)->port(), 0);
  EXPECT_EQ(test::http_get_at(folder.file("a.sock"), "/").body, std::to_string(::geteuid()));
  (*server)->close(std::chrono::seconds(1));
  EXPECT_EQ(files_in(folder), 0U) << "who looks for it finds none, and not a deaf one";
}

}  // namespace
}  // namespace semel::http
