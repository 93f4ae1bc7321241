// dlq import: adds the letters that dlq export wrote to this store.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/dlq.h"
#include "cli/letter_line.h"
#include "cli/line_reader.h"
#include "cli/text.h"
#include "compose/compose.h"

namespace semel::cli {

namespace {

constexpr std::size_t kBatchLetters = 500;
constexpr std::size_t kImportBatchBytes = 4 << 20;
// Enough for the largest possible payload, in base64, with headers.
constexpr std::size_t kLongestLetterLine = std::size_t{1} << 30;
constexpr std::size_t kFlawsTold = 10;

struct ImportFlags {
  std::string file;
};

// Adds lines in batches. A line that cannot be read is reported and counted, and does not affect
// others.
class Importer {
 public:
  Importer(Console& console, Session& session, std::string name)
      : console_(console), session_(session), name_(std::move(name)) {}

  Result<void> take(const std::string& line) {
    ++lines_;
    if (line.empty() || line == "\r") return {};
    ++letters_;
    auto letter = reader_.read(line);
    if (!letter) {
      tell_flaw(letter.error());
      return {};
    }
    const auto number = number_of(letter->consumer);
    if (!number) return failure(number.error());
    const auto* config = session_.config.find(letter->consumer);
    if (config == nullptr || !*number) {
      tell_flaw({ErrorKind::kRejected, "",
                 fmt::format("{} has no consumer \"{}\"", session_.config.file,
                             printable(letter->consumer, 63)),
                 "add it to the config, or import with the config that has it"});
      return {};
    }
    ForeignLetter foreign;
    if (!letter->key.empty()) foreign.record = config->key.id_of(**number, letter->key);
    bytes_ += letter->payload.size();
    foreign.letter = std::move(*letter);
    batch_.push_back(std::move(foreign));
    if (batch_.size() >= kBatchLetters || bytes_ >= kImportBatchBytes) return flush();
    return {};
  }

  Result<void> flush() {
    if (console_.settings().dry_run) {
      sum_.added += batch_.size();
    } else if (!batch_.empty()) {
      const auto added = session_.facets.dead_letters->add(batch_);
      if (!added) return failure(added.error());
      sum_.added += added->added;
      sum_.present += added->present;
    }
    batch_.clear();
    bytes_ = 0;
    console_.progress(fmt::format("{} added", grouped(sum_.added)));
    return {};
  }

  const AddReport& sum() const noexcept { return sum_; }
  std::size_t letters() const noexcept { return letters_; }
  std::size_t flawed() const noexcept { return flawed_; }

 private:
  using Number = std::optional<ConsumerNumber>;

  // The number of a consumer of the config, registered in the store if it is missing; nullopt for
  // other consumers.
  Result<Number> number_of(const std::string& consumer) {
    const auto known = numbers_.find(consumer);
    if (known != numbers_.end()) return known->second;
    const auto* config = session_.config.find(consumer);
    if (config == nullptr) return Number();
    auto number = session_.facets.records->consumer(consumer);
    if (!number) return number;
    if (!*number && !console_.settings().dry_run) {
      const auto made = compose::attach(*session_.store, *config);
      if (!made) return failure(made.error());
      number = *made;
    }
    if (!*number) number = ConsumerNumber{};  // a dry run only counts
    numbers_[consumer] = **number;
    return number;
  }

  void tell_flaw(const Error& error) {
    if (++flawed_ > kFlawsTold) return;
    console_.fail(kBad, fmt::format("{}:{}: {}", name_, lines_, error.message), error.hint);
    if (flawed_ == kFlawsTold) console_.warn("further lines that cannot be read are only counted");
  }

  Console& console_;
  Session& session_;
  std::string name_;
  LetterReader reader_;
  std::map<std::string, ConsumerNumber> numbers_;
  std::vector<ForeignLetter> batch_;
  std::size_t bytes_ = 0;
  std::size_t lines_ = 0;
  std::size_t letters_ = 0;
  std::size_t flawed_ = 0;
  AddReport sum_;
};

Result<void> read_lines(int fd, Importer& importer) {
  LineReader lines(fd, kLongestLetterLine);
  for (;;) {
    auto line = lines.next();
    if (!line) return failure(std::move(line.error()));
    if (!*line) return importer.flush();
    auto taken = importer.take(**line);
    if (!taken) return taken;
  }
}

int report_import(Console& console, const Importer& importer) {
  const AddReport& sum = importer.sum();
  const bool dry_run = console.settings().dry_run;
  if (console.text()) {
    std::string text = fmt::format("{} {}", counted(sum.added, "dead letter", "dead letters"),
                                   dry_run ? "would be read" : "added");
    if (sum.present > 0) text += fmt::format(", {} there already", grouped(sum.present));
    if (importer.flawed() > 0) text += fmt::format(", {} refused", grouped(importer.flawed()));
    console.out(text + "\n");
  } else {
    console.out(document("dlq_import")
                    .member("dry_run", dry_run)
                    .member("read", importer.letters())
                    .member("added", sum.added)
                    .member("present", sum.present)
                    .member("refused", importer.flawed())
                    .end_object());
  }
  if (importer.letters() == 0) return kNothing;
  if (importer.flawed() == 0) return kOk;
  return sum.added + sum.present > 0 ? kPartly : kBad;
}

int import_letters(Console& console, const ImportFlags& flags) {
  const bool from_stdin = flags.file == "-";
  const int fd = from_stdin ? STDIN_FILENO : ::open(flags.file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return console.fail(kUsage, fmt::format("cannot read {}: {}", flags.file, strerror(errno)),
                        "semel dlq export > FILE makes one");
  }
  const std::unique_ptr<const int, void (*)(const int*)> closed(&fd, [](const int* open) {
    if (*open != STDIN_FILENO) ::close(*open);
  });
  auto session = need_messages(console, open_session(console));
  if (!session) return session.error().code;
  Importer importer(console, *session, from_stdin ? "stdin" : flags.file);
  if (auto read = read_lines(fd, importer); !read) {
    Error error = std::move(read.error());
    error.message += fmt::format("; {} were added before it, and adding them again does no harm",
                                 grouped(importer.sum().added));
    return console.fail(error);
  }
  return report_import(console, importer);
}

}  // namespace

void add_dlq_import(Program& program, CLI::App& family) {
  auto flags = std::make_shared<ImportFlags>();
  auto& command = program.command(
      {.name = "import",
       .description = "Add the dead letters of an export; one that is there already is one",
       .flags = kConfigFlag | kOutput | kQuiet | kDryRun,
       .parent = &family},
      [flags](Console& console) { return import_letters(console, *flags); });
  command.add_option("FILE", flags->file, "What semel dlq export wrote; -: standard input")
      ->required()
      ->option_text("FILE|-");
}

}  // namespace semel::cli
