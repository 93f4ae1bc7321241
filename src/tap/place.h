// Place: where the runs of a store are found, by files beside its database, or, where that is on a
// server, in a folder of the user's on this machine.
//
// Each run has a socket `<database>-tap-<pid>-<16 hex digits>` there, for its owner alone. A name
// is never used twice, and stands there only while somebody listens or after a death: so whoever
// meets one that nobody answers at may remove it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>

#include "system/descriptor.h"

namespace semel::tap {

class Place {
 public:
  // Beside the database at `path`, which need not be there yet, or where a link there leads. R201
  // where its folder cannot be used.
  static Result<Place> beside(const std::string& path);

  // What stands for a database on a server, to be given to beside(): a path in a folder that only
  // this user may enter, which is made. The same for the same `identity`. R290 where the folder
  // cannot be made, or is somebody else's.
  static Result<std::string> of_server(std::string_view identity);

  // For messages, and to watch.
  const std::string& folder() const noexcept { return folder_path_; }
  // Whether a file of this name in the folder is a run's socket.
  bool is_socket_name(std::string_view name) const noexcept;
  std::vector<std::string> names() const;

  struct Listening {
    system::Descriptor socket;  // does not block
    std::string name;
  };
  // kUnavailable: R290 with what the system says.
  Result<Listening> listen() const;

  enum class Reach {
    kThere,
    kLater,      // nothing can be said now
    kGone,       // its process died; the file was removed
    kForbidden,  // it belongs to somebody else
  };
  struct Connected {
    Reach reach = Reach::kLater;
    system::Descriptor socket;  // does not block
  };
  Connected connect(const std::string& name) const;

  void remove(const std::string& name) const noexcept;
  // Removes what processes that died have left.
  void tidy() const;

 private:
  Place() = default;
  std::vector<std::string> files() const;
  void tidy_unfinished(const std::string& name) const;

  std::string folder_path_;
  std::string base_;  // the database's name in it
  system::Descriptor folder_;
};

}  // namespace semel::tap
