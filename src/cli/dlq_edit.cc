// dlq edit: gives a dead letter another payload, under the same key.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/digest.h"
#include "base/text_encoding.h"
#include "cli/dlq.h"
#include "cli/remote.h"
#include "cli/remote_read.h"
#include "cli/text.h"
#include "operate/letter_edit.h"
#include "system/utc_clock.h"

namespace semel::cli {

namespace {

struct EditFlags {
  std::int64_t id = 0;
  std::optional<std::string> payload;
  BulkFlags bulk;  // only its reason is used
};

Error cannot(std::string what, const std::string& path) {
  return {
      ErrorKind::kRejected, "", fmt::format("cannot {} {}: {}", what, path, strerror(errno)), {}};
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ > STDIN_FILENO) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

Result<Bytes> read_whole(const std::string& path) {
  constexpr std::size_t kRead = 64 << 10;
  const File file(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0) return failure(cannot("read", path));
  Bytes bytes;
  for (;;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kRead);
    const ssize_t got = ::read(file.fd(), bytes.data() + before, kRead);
    bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return bytes;
    if (got < 0 && errno != EINTR) return failure(cannot("read", path));
  }
}

// A file that only this user can read and that is removed at the end.
class Draft {
 public:
  static Result<std::unique_ptr<Draft>> of(BytesView payload) {
    std::error_code ignored;
    const auto folder = std::filesystem::temp_directory_path(ignored);
    std::string path = (folder / "semel-letter-XXXXXX").string();
    const File file(::mkstemp(path.data()));
    if (file.fd() < 0) return failure(cannot("make", path));
    auto draft = std::unique_ptr<Draft>(new Draft(path));
    while (!payload.empty()) {
      const ssize_t written = ::write(file.fd(), payload.data(), payload.size());
      if (written < 0 && errno != EINTR) return failure(cannot("write", path));
      payload.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
    return draft;
  }
  ~Draft() { ::unlink(path_.c_str()); }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  explicit Draft(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

std::string editor() {
  for (const char* name : {"VISUAL", "EDITOR"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

// Editors add a line end to a file, which must not become part of the message.
Bytes without_added_end(Bytes edited, BytesView before) {
  if (edited.ends_with('\n') && !before.ends_with('\n')) edited.pop_back();
  return edited;
}

Result<Bytes> edited_by_hand(const Bytes& payload) {
  const std::string command = editor();
  if (command.empty()) {
    return failure({ErrorKind::kRejected, "", "no editor: neither VISUAL nor EDITOR is set",
                    "--payload FILE, or --payload - for standard input"});
  }
  auto draft = Draft::of(payload);
  if (!draft) return failure(std::move(draft.error()));
  const std::string line = command + " \"$1\"";
  const pid_t child = ::fork();
  if (child < 0) return failure(cannot("start", command));
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", line.c_str(), "sh", (*draft)->path().c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return failure({ErrorKind::kRejected,
                    "",
                    fmt::format("the editor {} failed, and nothing was changed", command),
                    {}});
  }
  auto read = read_whole((*draft)->path());
  if (!read) return read;
  return without_added_end(std::move(*read), payload);
}

// The data of an edit's report; the key may be empty.
struct Told {
  std::int64_t id = 0;
  std::string key;
  std::string before;  // fingerprints
  std::string now;
  bool changes = false;
};

int report_edit(Console& console, const Told& told) {
  const bool dry_run = console.settings().dry_run;
  if (console.text()) {
    const char* done = told.key.empty() ? "edited" : "edited; its key stays";
    console.out(fmt::format("dead letter {}: {}\n", told.id,
                            !told.changes ? "the payload is the same, nothing to do"
                            : dry_run     ? "would be edited"
                                          : done));
    if (told.changes && !dry_run) {
      console.next(fmt::format("semel dlq replay {} --yes", told.id));
    }
    return kOk;
  }
  console.out(document("dlq_edit")
                  .member("id", told.id)
                  .member("dry_run", dry_run)
                  .member("edited", told.changes && !dry_run)
                  .member("fingerprint_before", told.before)
                  .member("fingerprint", told.now)
                  .end_object());
  return kOk;
}

// Shows what would be changed, and asks. nullopt: the user agrees.
std::optional<int> agree_to_edit(Console& console, const DeadLetter& letter, std::size_t bytes) {
  console.note(fmt::format("dead letter {}  {}  {}  {}: {} bytes become {}", letter.id,
                           letter.consumer, letter.key.empty() ? "-" : printable(letter.key, 40),
                           letter.reason, letter.payload.size(), bytes));
  if (console.settings().dry_run) return std::nullopt;
  return console.confirm("Replace its payload? Only an export keeps the old one.");
}

// A letter that has changed meanwhile is not a missing one.
int refused_edit(Console& console, const Error& error) {
  const int code = console.fail(error);
  return error.code == "R348" ? kBad : code;
}

// The new payload, or the exit code if there is none. `old`: the text that an editor opens.
OrEnded<Bytes> new_payload(Console& console, const EditFlags& flags, const Bytes& old) {
  auto payload = flags.payload ? read_whole(*flags.payload) : edited_by_hand(old);
  if (payload) return *std::move(payload);
  console.fail(payload.error());
  return ended(flags.payload || editor().empty() ? kUsage : kBad);
}

int edit(Console& console, const EditFlags& flags) {
  auto session = need_messages(console, open_session(console));
  if (!session) return session.error().code;
  DeadLetters& letters = *session->facets.dead_letters;
  const auto letter = letters.show(flags.id);
  if (!letter) return console.fail(letter.error());
  if (!*letter) {
    return console.fail(kNothing, fmt::format("there is no dead letter {}", flags.id),
                        "semel dlq list");
  }
  // The consumer's key recipe determines the key and the fingerprint of the new payload.
  const auto consumer = find_consumer(console, session->config, (*letter)->consumer);
  if (!consumer) return consumer.error().code;
  auto payload = new_payload(console, flags, (*letter)->payload);
  if (!payload) return payload.error().code;
  operate::LetterChange change;
  change.payload = *std::move(payload);
  const auto planned = operate::plan_edit(session->access(), **letter, change, system::utc_now());
  if (!planned) return console.fail(planned.error());
  const LetterEdit& wanted = planned->edit;
  const Told told{flags.id, (*letter)->key, digest::hex(wanted.before.view()),
                  digest::hex(wanted.fingerprint.view()), planned->changes};
  if (!planned->changes) return report_edit(console, told);
  if (const auto code = agree_to_edit(console, **letter, wanted.payload.size())) return *code;
  const auto edited = console.settings().dry_run
                          ? operate::foresee_edit(session->access(), **letter, *planned)
                          : letters.edit(wanted);
  if (!edited) return console.fail(edited.error());
  if (const auto error = operate::refusal_of(*edited, flags.id)) {
    return refused_edit(console, *error);
  }
  return report_edit(console, told);
}

// An editor opens the payload only if the run shows all of it.
int remote_edit(Console& console, const EditFlags& flags) {
  auto run = Remote::open(console);
  if (!run) return run.error().code;
  const std::string path = fmt::format("dead-letters/{}", flags.id);
  const auto shown = run->get(path);
  if (!shown) return refused_edit(console, shown.error());
  const JsonView document = shown->object("dead_letter");
  const DeadLetter letter = letter_from(document);
  const bool whole = !document.flag("masked") && !document.number("payload_bytes");
  if (!flags.payload && !whole) {
    return console.fail(kUsage, "the run does not show all of the payload",
                        "--payload FILE, with all of the new one");
  }
  const auto payload = new_payload(console, flags, letter.payload);
  if (!payload) return payload.error().code;
  if (const auto code = agree_to_edit(console, letter, payload->size())) return *code;
  json::Writer body = body_with_reason(flags.bulk);
  body.member("payload_base64", text::base64(*payload));
  body.member("revision", shown->text("revision"));
  if (console.settings().dry_run) body.member("dry_run", true);
  const auto done = run->post(path + "/edit", body.end_object());
  if (!done) return refused_edit(console, done.error());
  const std::string before = done->text("fingerprint_before");
  const std::string now = done->text("fingerprint");
  const bool changes = console.settings().dry_run || done->flag("edited");
  return report_edit(console, {flags.id, letter.key, before, now, changes});
}

int edit_anywhere(Console& console, const EditFlags& flags) {
  if (const auto code = refuse_why(console, flags.bulk)) return *code;
  if (!console.settings().url) return edit(console, flags);
  if (flags.bulk.why.empty()) {
    return console.fail(kUsage, "the audit log of a run wants to know why", "--why 'ticket 7'");
  }
  return remote_edit(console, flags);
}

}  // namespace

void add_dlq_edit(Program& program, CLI::App& family) {
  auto flags = std::make_shared<EditFlags>();
  auto& command = program.command(
      {.name = "edit",
       .description = "Give a dead letter another payload; its key stays, and it is marked",
       .flags = kConfigFlag | kOutput | kQuiet | kYes | kDryRun | kUrlFlag,
       .parent = &family},
      [flags](Console& console) { return edit_anywhere(console, *flags); });
  command.add_option("ID", flags->id, "Its number, from semel dlq list")
      ->type_name("N")
      ->required();
  command
      .add_option("--payload", flags->payload,
                  "The new payload; -: standard input. Default: $VISUAL or $EDITOR opens the old "
                  "one")
      ->type_name("FILE|-");
  why_option(command, flags->bulk);
}

}  // namespace semel::cli
