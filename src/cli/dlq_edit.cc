// dlq edit: another payload for a dead letter, under the key it has.
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

#include <semel/guard.h>
#include <semel/spi/record_machine.h>

#include "base/digest.h"
#include "cli/dlq.h"
#include "cli/text.h"
#include "core/intake.h"
#include "system/utc_clock.h"

namespace semel::cli {

namespace {

constexpr std::string_view kMark = "semel-edited";

struct EditFlags {
  std::int64_t id = 0;
  std::optional<std::string> payload;
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

// A file of this user's alone that is gone at the end.
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

// Editors end a file with a line end, which is no part of the message.
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

Arrival arrival_of(const DeadLetter& letter, Bytes payload) {
  Arrival arrival;
  arrival.payload = std::move(payload);
  arrival.headers = letter.headers;
  arrival.content_type = letter.content_type;
  arrival.type = letter.type;
  arrival.partition = letter.partition;
  arrival.position = letter.position;
  return arrival;
}

// What the consumer's recipe makes of a payload.
class Recipe {
 public:
  Recipe(const config::ConsumerConfig& consumer, ConsumerNumber number)
      : consumer_(consumer), intake_(number, consumer.key, consumer.limits) {}

  tl::expected<Message, core::Refusal> read(const DeadLetter& letter, Bytes payload) {
    Arrival arrival = arrival_of(letter, std::move(payload));
    return intake_.make(arrival);
  }
  // The message under the key the letter has, whatever the payload says.
  tl::expected<Message, core::Refusal> under_its_key(const DeadLetter& letter, Bytes payload) {
    Arrival arrival = arrival_of(letter, std::move(payload));
    arrival.key = letter.key;
    return intake_.make(arrival);
  }
  // False where a part of the key is known only while the message is handled.
  bool finds_keys_here() const {
    return std::ranges::none_of(consumer_.key.parts, [](const core::KeyPart& part) {
      using Part = core::KeyPart;
      return std::holds_alternative<Part::FunctionPart>(part.what) ||
             std::holds_alternative<Part::BrokerKeyPart>(part.what) ||
             std::holds_alternative<Part::AutoPart>(part.what);
    });
  }

 private:
  const config::ConsumerConfig& consumer_;
  core::Intake intake_;
};

Error refused(const core::Refusal& why) {
  return {ErrorKind::kRejected, "",
          fmt::format("the new payload would be refused: {}: {}", why.reason, why.error),
          "mend the payload; nothing was changed"};
}

// The fingerprint of the new payload; an error where replaying it would not be what it seems.
Result<Fingerprint> fingerprint_of_edit(Recipe& recipe, const DeadLetter& letter,
                                        const Bytes& payload) {
  if (letter.key.empty()) {
    const auto read = recipe.read(letter, payload);
    if (!read && recipe.finds_keys_here()) return failure(refused(read.error()));
    return fingerprint_of(payload);
  }
  const auto kept = recipe.under_its_key(letter, payload);
  if (!kept) return failure(refused(kept.error()));
  const auto before = recipe.read(letter, letter.payload);
  if (!before || before->key().text != letter.key) return kept->fingerprint();
  const auto after = recipe.read(letter, payload);
  if (!after) return failure(refused(after.error()));
  if (after->key().text != letter.key) {
    return failure(
        {ErrorKind::kRejected, "",
         fmt::format("the new payload has another key: \"{}\", and the letter's is \"{}\"",
                     printable(after->key().text, 60), printable(letter.key, 60)),
         "keep the key; or send it as a message of its own: semel send"});
  }
  return kept->fingerprint();
}

// What an answer of the store means to whoever asked; nothing for kYes.
std::optional<Error> refusal_of(Edited edited, const DeadLetter& letter) {
  const auto said = [&](std::string_view why, std::string fix) {
    return std::optional(Error{ErrorKind::kRejected, "",
                               fmt::format("dead letter {} was not changed: {}", letter.id, why),
                               std::move(fix)});
  };
  switch (edited) {
    case Edited::kYes:
      return std::nullopt;
    case Edited::kMissing:
      return said("it is not there any more", "semel dlq list");
    case Edited::kMoved:
      return said("somebody else edited it meanwhile", fmt::format("semel dlq show {}", letter.id));
    case Edited::kTwin:
      return said("another dead letter has this key and this payload already", "semel dlq list");
    case Edited::kCompleted:
      return said("its key is completed, and another payload under it would never be handled",
                  "send the message under a key of its own: semel send --key");
    case Edited::kBusy:
      return said("its record is being tried, or waits for a retry or for a person",
                  "wait until it is dead again, and edit it then");
    case Edited::kConflict:
      return said("its key belongs to a record of another payload",
                  "send the message under a key of its own: semel send --key");
    case Edited::kUnknownOutcome:
      return said("the old payload may have had its effect under this key",
                  "look whether it has; if not: semel records forget KEY, and edit it then");
  }
  return std::nullopt;
}

Headers marked(const DeadLetter& letter) {
  Headers headers;
  for (const Header& header : letter.headers) {
    if (header.name != kMark) headers.push_back(header);
  }
  const auto now = system::utc_now();
  headers.push_back(
      {std::string(kMark), fmt::format("{}; was {}", time_text(now, TimeStyle::kIso, now),
                                       digest::hex(letter.fingerprint.view()))});
  return headers;
}

int report_edit(Console& console, const DeadLetter& letter, const LetterEdit& edit, bool changed) {
  const bool dry_run = console.settings().dry_run;
  if (console.text()) {
    const char* done = letter.key.empty() ? "edited" : "edited; its key stays";
    console.out(fmt::format("dead letter {}: {}\n", letter.id,
                            !changed  ? "the payload is the same, nothing to do"
                            : dry_run ? "would be edited"
                                      : done));
    if (changed && !dry_run) console.next(fmt::format("semel dlq replay {} --yes", letter.id));
    return kOk;
  }
  console.out(document("dlq_edit")
                  .member("id", letter.id)
                  .member("dry_run", dry_run)
                  .member("edited", changed && !dry_run)
                  .member("fingerprint_before", digest::hex(edit.before.view()))
                  .member("fingerprint", digest::hex(edit.fingerprint.view()))
                  .end_object());
  return kOk;
}

Result<bool> has_twin(DeadLetters& letters, const DeadLetter& letter, const LetterEdit& edit) {
  DeadLetterFilter filter;
  filter.consumer = letter.consumer;
  for (;;) {
    auto page = letters.list(filter);
    if (!page) return failure(std::move(page.error()));
    for (const DeadLetter& other : *page) {
      const bool alike = other.key == letter.key && other.fingerprint == edit.fingerprint;
      if (alike && other.id != letter.id && !letter.key.empty()) return true;
    }
    if (page->size() < filter.limit) return false;
    filter.after = page->back().id;
  }
}

// Returns what the store would answer, and changes nothing.
Result<Edited> foreseen(const Session& session, const DeadLetter& letter,
                        const std::optional<KeyId>& key, const LetterEdit& edit) {
  if (key) {
    const auto record = session.facets.records->show(*key);
    if (!record) return failure(record.error());
    if (*record) {
      spi::Record as_stored;
      as_stored.state = (*record)->state;
      as_stored.fingerprint = (*record)->fingerprint;
      as_stored.outcome_unknown = (*record)->outcome_unknown;
      const Edited answer = spi::decide_edit(as_stored, edit.before);
      if (answer != Edited::kYes) return answer;
    }
  }
  const auto twin = has_twin(*session.facets.dead_letters, letter, edit);
  if (!twin) return failure(twin.error());
  return *twin ? Edited::kTwin : Edited::kYes;
}

// Asks, and does it.
int change(Console& console, const Session& session, const DeadLetter& letter,
           const std::optional<KeyId>& key, const LetterEdit& edit) {
  const bool dry_run = console.settings().dry_run;
  console.note(fmt::format("dead letter {}  {}  {}  {}: {} bytes become {}", letter.id,
                           letter.consumer, letter.key.empty() ? "-" : printable(letter.key, 40),
                           letter.reason, letter.payload.size(), edit.payload.size()));
  if (!dry_run) {
    const auto refused = console.confirm("Replace its payload? Only an export keeps the old one.");
    if (refused) return *refused;
  }
  const auto edited =
      dry_run ? foreseen(session, letter, key, edit) : session.facets.dead_letters->edit(edit);
  if (!edited) return console.fail(edited.error());
  if (const auto error = refusal_of(*edited, letter)) {
    console.fail(*error);
    return *edited == Edited::kMissing ? kNothing : kBad;
  }
  return report_edit(console, letter, edit, true);
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
  // Its recipe says what the new payload's key and fingerprint are.
  const auto consumer = find_consumer(console, session->config, (*letter)->consumer);
  if (!consumer) return consumer.error().code;
  const auto number = session->facets.records->consumer((*letter)->consumer);
  if (!number) return console.fail(number.error());
  auto payload = flags.payload ? read_whole(*flags.payload) : edited_by_hand((*letter)->payload);
  if (!payload) {
    console.fail(payload.error());
    return flags.payload || editor().empty() ? kUsage : kBad;
  }
  LetterEdit wanted;
  wanted.id = flags.id;
  wanted.before = (*letter)->fingerprint;
  wanted.fingerprint = wanted.before;
  if (*payload == (*letter)->payload) return report_edit(console, **letter, wanted, false);
  Recipe recipe(**consumer, number->value_or(ConsumerNumber{}));
  const auto fingerprint = fingerprint_of_edit(recipe, **letter, *payload);
  if (!fingerprint) return console.fail(fingerprint.error());
  wanted.fingerprint = *fingerprint;
  wanted.payload = std::move(*payload);
  wanted.headers = marked(**letter);
  std::optional<KeyId> key;
  if (!(*letter)->key.empty()) {
    if (const auto kept = recipe.under_its_key(**letter, wanted.payload)) key = kept->key().id;
  }
  return change(console, *session, **letter, key, wanted);
}

}  // namespace

void add_dlq_edit(Program& program, CLI::App& family) {
  auto flags = std::make_shared<EditFlags>();
  auto& command = program.command(
      {.name = "edit",
       .description = "Give a dead letter another payload; its key stays, and it is marked",
       .flags = kConfigFlag | kOutput | kQuiet | kYes | kDryRun,
       .parent = &family},
      [flags](Console& console) { return edit(console, *flags); });
  command.add_option("ID", flags->id, "Its number, from semel dlq list")
      ->type_name("N")
      ->required();
  command
      .add_option("--payload", flags->payload,
                  "The new payload; -: standard input. Default: $VISUAL or $EDITOR opens the old "
                  "one")
      ->type_name("FILE|-");
}

}  // namespace semel::cli
