// SocketFile: a Unix socket that listens at a path, and the path's one owner.
//
// A lock of the file `<path>.lock` is held for as long as it listens. So of two processes one
// listens, and a file that a killed one left behind is known to be nobody's and is replaced. The
// path never shows a socket that does not listen yet, or that has other rights than asked for.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

#include <semel/result.h>

#include "base/listen_address.h"
#include "http_server/listen_socket.h"
#include "system/descriptor.h"

namespace semel::http {

struct SocketPath {
  std::string path;
  mode_t mode = 0600;  // of the file; its group is the process's own, or its folder's
};

// One thread at a time.
class SocketFile {
 public:
  // `queue`: the most connections that wait to be taken. Errors have the code of `names`:
  // kUnavailable where a live process listens there, kRejected where the path cannot be used.
  static Result<std::unique_ptr<SocketFile>> listen(const SocketPath& where, int queue,
                                                    const ListenerNames& names);
  ~SocketFile();
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;

  // The socket that listens, without blocking; the caller owns it from now on.
  system::Descriptor take_socket() noexcept { return std::move(socket_); }
  // Removes the file, where it is still the one that was made, and gives the lock back. Clients
  // that are connected stay so.
  void remove() noexcept;

 private:
  SocketFile() = default;
  Result<void> open(const SocketPath& where, int queue, const ListenerNames& names);
  Result<void> lock(const ListenerNames& names);
  Result<void> remove_stale(const ListenerNames& names);
  bool give_rights(const std::string& name, mode_t mode);
  Result<void> bind(mode_t mode, int queue, const ListenerNames& names);
  tl::unexpected<Error> refused(const ListenerNames& names, const std::string& why,
                                const std::string& hint, ErrorKind kind) const;

  std::string path_;
  std::string name_;  // of the file in its folder
  system::Descriptor folder_;
  system::Descriptor lock_;
  system::Descriptor socket_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool bound_ = false;
};

}  // namespace semel::http
