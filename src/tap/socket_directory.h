// SocketDirectory: where the runs of a store are found: by files next to its database, or, for a
// server, in a directory of the user on this machine.
//
// Each run has a socket `<database>-tap-<pid>-<16 hex digits>` there, for its owner only. A name is
// never used twice, and exists only while a process listens or after its death: so a process that
// finds one without a listener may remove it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>

#include "system/descriptor.h"

namespace semel::tap {

class SocketDirectory {
 public:
  // For the database at `path`, which need not exist yet, or that a link there points to. R201
  // where its directory cannot be used.
  static Result<SocketDirectory> beside(const std::string& path);

  // A path that represents a database on a server, for beside(): in a directory that only this user
  // may enter, which is created. The same for the same `identity`. R290 where the directory cannot
  // be created, or belongs to another user.
  static Result<std::string> of_server(std::string_view identity);

  // For messages, and to watch.
  const std::string& folder() const noexcept { return folder_path_; }
  // Whether a file of this name in the directory is a run's socket.
  bool is_socket_name(std::string_view name) const noexcept;
  std::vector<std::string> names() const;

  struct Listening {
    system::Descriptor socket;  // non-blocking
    std::string name;
  };
  // kUnavailable: R290 with the system's error.
  Result<Listening> listen() const;

  enum class Reach {
    kThere,
    kLater,      // unknown for now
    kGone,       // its process died; the file was removed
    kForbidden,  // it belongs to another user
  };
  struct Connected {
    Reach reach = Reach::kLater;
    system::Descriptor socket;  // non-blocking
  };
  Connected connect(const std::string& name) const;

  void remove(const std::string& name) const noexcept;
  // Removes sockets of dead processes.
  void tidy() const;

 private:
  SocketDirectory() = default;
  std::vector<std::string> files() const;
  void tidy_unfinished(const std::string& name) const;

  std::string folder_path_;
  std::string base_;  // the database's name in it
  system::Descriptor folder_;
};

}  // namespace semel::tap
