#include "cli/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <map>

#include <semel/version.h>

#include "cli/internal_error.h"
#include "cli/text.h"

namespace semel::cli {

namespace {

constexpr std::size_t kHelpColumn = 30;
constexpr std::size_t kHelpWidth = 80;
constexpr const char* kLogFormatVariable = "SEMEL_LOG_FORMAT";

const std::map<std::string, Format> kFormats = {{"text", Format::kText},
                                                {"json", Format::kJson},
                                                {"jsonl", Format::kJsonl},
                                                {"none", Format::kNone}};
const std::map<std::string, TimeStyle> kTimes = {
    {"iso", TimeStyle::kIso}, {"relative", TimeStyle::kRelative}, {"raw", TimeStyle::kRaw}};
const std::map<std::string, Settings::Color> kColors = {{"auto", Settings::Color::kAuto},
                                                        {"always", Settings::Color::kAlways},
                                                        {"never", Settings::Color::kNever}};
const std::map<std::string, LogFormat> kLogFormats = {{"text", LogFormat::kText},
                                                      {"json", LogFormat::kJson}};

// The shared flags as text, before they are interpreted: a flag outranks the environment, which
// outranks the default.
struct Words {
  std::string config;
  std::string config_argument;
  std::vector<std::string> sets;
  std::string url;
  std::string token_file;
  std::string ca_file;
  std::string output;
  std::string time;
  std::string color;
  std::string log_format;
  int quiet = 0;
  int verbose = 0;
  bool yes = false;
  bool dry_run = false;
};

// Thrown for a shared flag whose value is not one of the allowed words.
struct WrongUse {
  std::string message;
  std::string fix;
};

template <class T>
T one_of(const std::map<std::string, T>& words, const char* flag, const std::string& given,
         const char* environment, T otherwise) {
  std::string word = given;
  std::string from = flag;
  if (word.empty() && environment != nullptr) {
    const char* value = std::getenv(environment);
    if (value != nullptr) word = value;
    from = environment;
  }
  if (word.empty()) return otherwise;
  const auto found = words.find(word);
  if (found != words.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, value] : words) names.push_back(name);
  throw WrongUse{fmt::format("{} cannot be \"{}\"", from, printable(word, 40)),
                 fmt::format("one of {}", fmt::join(names, ", "))};
}

std::string environment_text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// A config on the command line outranks a URL in the environment.
void read_url(const Words& words, Settings& settings) {
  const bool opens = !words.config.empty() || !words.config_argument.empty() || !words.sets.empty();
  if (!words.url.empty() && opens) {
    throw WrongUse{"--url asks a run about its own config: --config and --set do not go with it",
                   "one of the two"};
  }
  std::string url = words.url;
  if (url.empty() && !opens) url = environment_text("SEMEL_URL");
  if (url.empty()) {
    if (words.token_file.empty() && words.ca_file.empty()) return;
    throw WrongUse{"--token-file and --ca-file go with --url", "--url http://127.0.0.1:8585"};
  }
  settings.url = std::move(url);
  settings.token_file =
      words.token_file.empty() ? environment_text("SEMEL_TOKEN_FILE") : words.token_file;
  settings.ca_file = words.ca_file.empty() ? environment_text("SEMEL_CA_FILE") : words.ca_file;
}

Settings settings_of(const Words& words) {
  Settings settings;
  if (!words.config.empty() && !words.config_argument.empty() &&
      words.config != words.config_argument) {
    throw WrongUse{"two configs: one as an argument, one by --config", "give one of them"};
  }
  settings.config = !words.config.empty()            ? words.config
                    : !words.config_argument.empty() ? words.config_argument
                                                     : environment_text("SEMEL_CONFIG");
  if (settings.config->empty()) settings.config.reset();
  settings.sets = words.sets;
  read_url(words, settings);
  settings.format = one_of(kFormats, "--output", words.output, "SEMEL_OUTPUT", Format::kText);
  settings.time = one_of(kTimes, "--time", words.time, "SEMEL_TIME", TimeStyle::kIso);
  settings.color = one_of(kColors, "--color", words.color, "SEMEL_COLOR", Settings::Color::kAuto);
  settings.log_format =
      one_of(kLogFormats, "--log-format", words.log_format, kLogFormatVariable, LogFormat::kText);
  settings.quiet = words.quiet;
  settings.verbose = words.verbose;
  settings.yes = words.yes;
  settings.dry_run = words.dry_run;
  return settings;
}

// Settings for reporting errors of the command line itself, from the part that was parsed.
Settings settings_so_far(const Words& words) {
  Settings settings;
  const std::string word =
      words.log_format.empty() ? environment_text(kLogFormatVariable) : words.log_format;
  const auto found = kLogFormats.find(word);
  if (found != kLogFormats.end()) settings.log_format = found->second;
  return settings;
}

void add_url(CLI::App& command, const std::string& group, Words& words) {
  command
      .add_option("--url", words.url,
                  "Ask a run by its API, in place of opening the store: http://127.0.0.1:8585, "
                  "unix:/run/semel/admin.sock "
                  "[SEMEL_URL]")
      ->type_name("URL")
      ->group(group);
  command
      .add_option("--token-file", words.token_file,
                  "With --url: the file that holds its token [SEMEL_TOKEN_FILE]")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--ca-file", words.ca_file,
                  "With --url https://…: the authorities to trust, in PEM [SEMEL_CA_FILE]")
      ->type_name("FILE")
      ->group(group);
}

void add_shared(CLI::App& command, unsigned flags, Words& words) {
  const std::string group = "Shared flags";
  if (flags & kConfigArgument) {
    command
        .add_option("CONFIG", words.config_argument,
                    "The config; default: --config, and what that takes by default")
        ->type_name("FILE");
  }
  if (flags & (kConfigFlag | kConfigArgument)) {
    command
        .add_option("-c,--config", words.config,
                    "The config; default: ./semel.yaml, then /etc/semel/semel.yaml [SEMEL_CONFIG]")
        ->type_name("FILE")
        ->group(group);
    command
        .add_option("--set", words.sets,
                    "Overrides the config, as --set store.sqlite.path=x.db; repeatable")
        ->type_name("PATH=VALUE")
        ->allow_extra_args(false)
        ->group(group);
  }
  if (flags & kUrlFlag) add_url(command, group, words);
  if (flags & kOutput) {
    command.add_option("-o,--output", words.output, "text, json, jsonl or none [SEMEL_OUTPUT]")
        ->type_name("FORMAT")
        ->group(group);
  }
  if (flags & kTime) {
    command.add_option("--time", words.time, "Times as iso, relative or raw [SEMEL_TIME]")
        ->type_name("STYLE")
        ->group(group);
  }
  command
      .add_option("--color", words.color,
                  "auto, always or never; NO_COLOR and TERM=dumb mean never [SEMEL_COLOR]")
      ->type_name("WHEN")
      ->group(group);
  command
      .add_option("--log-format", words.log_format,
                  "What stderr gets, as text or as json, an object a line [SEMEL_LOG_FORMAT]")
      ->type_name("FORMAT")
      ->group(group);
  if (flags & kQuiet) {
    command.add_flag("-q,--quiet", words.quiet, "Say only what went wrong")->group(group);
  }
  if (flags & kVerbose) {
    command.add_flag("-v,--verbose", words.verbose, "Say more")->group(group);
  }
  if (flags & kYes) {
    command.add_flag("-y,--yes", words.yes, "Do it without asking")->group(group);
  }
  if (flags & kDryRun) {
    command.add_flag("-n,--dry-run", words.dry_run, "Say what would be done, and do nothing")
        ->group(group);
  }
}

std::string path_of(const CLI::App* command) {
  std::string path = command->get_name();
  for (auto* up = command->get_parent(); up != nullptr; up = up->get_parent()) {
    path = up->get_name() + " " + path;
  }
  return path;
}

CLI::App* deepest(CLI::App& root) {
  CLI::App* at = &root;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return at;
}

// A config that was given as an argument to a command which takes it by --config alone, and at
// which the command line failed; else empty.
std::string config_among(const CLI::App& command, const std::vector<std::string>& extras,
                         const CLI::ParseError& error) {
  if (command.get_option_no_throw("--config") == nullptr) return "";
  if (command.get_option_no_throw("CONFIG") != nullptr) return "";
  const bool converting = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
  const bool too_many = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr ||
                        dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (!converting && !too_many) return "";
  std::vector<std::string> words = extras;
  for (const auto* option : command.get_options()) {
    if (!option->get_positional()) continue;
    words.insert(words.end(), option->results().begin(), option->results().end());
  }
  for (const std::string& word : words) {
    if (!word.ends_with(".yaml") && !word.ends_with(".yml")) continue;
    // The message of a value that is none has the value.
    if (!converting || std::string_view(error.what()).find(word) != std::string_view::npos) {
      return word;
    }
  }
  return "";
}

// The command that `word` was probably meant to be.
std::string suggestion(const CLI::App& command, const std::string& word) {
  std::vector<std::string> candidates;
  if (word.starts_with('-')) {
    for (const auto* option : command.get_options()) {
      for (const auto& name : option->get_lnames()) candidates.push_back("--" + name);
    }
  } else {
    for (const auto* sub : command.get_subcommands({})) candidates.push_back(sub->get_name());
  }
  const auto near = nearest(word.substr(0, word.find('=')), candidates);
  return near ? fmt::format("did you mean \"{}\"?", *near)
              : fmt::format("{} --help", path_of(&command));
}

}  // namespace

namespace {

constexpr std::size_t kConfigShown = 200;

// CLI11's help with the command's whole path, and without superfluous blank lines.
std::string help_of(const CLI::App& command) {
  // CLI11's own help() would describe the subcommand that was parsed.
  std::string text =
      command.get_formatter()->make_help(&command, path_of(&command), CLI::AppFormatMode::Normal);
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  text.erase(text.find_last_not_of('\n') + 1);
  return wrapped(text + "\n", kHelpWidth, kBelowGap);
}

}  // namespace

struct Program::Impl {
  CLI::App root{
      "Semel makes message consumers idempotent: a message may be delivered many times, "
      "its effect happens once.",
      "semel"};
  Words words;
  Action action;
  int help(const std::vector<std::string>& path);
  int wrong_use(const CLI::ParseError& error);
};

// Prints the help of a command, as for `semel help records show`.
int Program::Impl::help(const std::vector<std::string>& path) {
  Console console(settings_so_far(words));
  CLI::App* at = &root;
  for (const auto& word : path) {
    const auto found = at->get_subcommands(
        [&](const CLI::App* sub) { return sub->get_name() == word && !sub->get_group().empty(); });
    if (found.empty()) {
      return console.fail(kUsage, fmt::format("there is no command \"{}\"", printable(word, 40)),
                          suggestion(*at, word));
    }
    at = found.front();
  }
  console.out(help_of(*at));
  return console.close(kOk);
}

int Program::Impl::wrong_use(const CLI::ParseError& error) {
  Console console(settings_so_far(words));
  CLI::App* at = deepest(root);
  const bool something_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const auto extras = root.remaining(true);
  if (const std::string config = config_among(*at, extras, error); !config.empty()) {
    const std::string shown = printable(config, kConfigShown);
    return console.fail(
        kUsage,
        fmt::format("{} takes its config by a flag, and \"{}\" is an argument", path_of(at), shown),
        "-c " + shown);
  }
  if (!extras.empty() && (something_missing || dynamic_cast<const CLI::ExtrasError*>(&error))) {
    const std::string& word = extras.front();
    const bool names_command = !word.starts_with('-') && !at->get_subcommands({}).empty();
    return console.fail(kUsage,
                        fmt::format("{} \"{}\" is not known to {}",
                                    names_command           ? "the command"
                                    : word.starts_with('-') ? "the flag"
                                                            : "the argument",
                                    printable(word, 60), path_of(at)),
                        suggestion(*at, word));
  }
  if (something_missing && !at->get_subcommands({}).empty()) {
    console.warn(help_of(*at));
    return console.fail(kUsage, "a command is missing", path_of(at) + " --help");
  }
  return console.fail(kUsage, error.what(), path_of(at) + " --help");
}

Program::Program() : impl_(std::make_unique<Impl>()) {
  auto& root = impl_->root;
  root.require_subcommand(1);
  root.get_formatter()->column_width(kHelpColumn);
  root.get_formatter()->label("SUBCOMMAND", "COMMAND");
  root.get_formatter()->label("OPTIONS", "FLAGS");
  root.get_formatter()->label("TEXT", "");
  root.get_formatter()->label("REQUIRED", "");
  root.set_version_flag("--version", std::string("semel ") + version(), "Print the version");
  root.footer("semel help COMMAND tells more about one of them.");
}

Program::~Program() = default;

CLI::App& Program::command(const CommandSpec& spec, Action action) {
  CLI::App& parent = spec.parent == nullptr ? impl_->root : *spec.parent;
  CLI::App& command = *parent.add_subcommand(spec.name, spec.description);
  command.footer("");
  command.group(spec.group.empty() ? "Commands" : spec.group);
  add_shared(command, spec.flags, impl_->words);
  command.callback([this, action = std::move(action)] { impl_->action = action; });
  return command;
}

CLI::App& Program::family(const CommandSpec& spec) {
  CLI::App& parent = spec.parent == nullptr ? impl_->root : *spec.parent;
  CLI::App& family = *parent.add_subcommand(spec.name, spec.description);
  family.footer("");
  if (!spec.group.empty()) family.group(spec.group);
  family.require_subcommand(1);
  return family;
}

void Program::add_help() {
  auto path = std::make_shared<std::vector<std::string>>();
  auto* help = impl_->root.add_subcommand("help", "Help for a command")->group("Other");
  help->footer("");
  help->add_option("COMMAND", *path, "The command, as: records show")->option_text(" ");
  help->callback(
      [this, path] { impl_->action = [this, path](Console&) { return impl_->help(*path); }; });
}

int Program::run(int argc, char** argv) {
  add_help();
  // Then a closed pipe is an error of the write, which is reported like any other.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    impl_->root.parse(argc, argv);
    Console console(settings_of(impl_->words));
    if (console.logs_json()) end_with_exit_code_where_nobody_catches(LogFormat::kJson);
    return console.close(impl_->action(console));
  } catch (const CLI::CallForHelp&) {
    Console console({});
    console.out(help_of(*deepest(impl_->root)));
    return console.close(kOk);
  } catch (const CLI::CallForVersion& version) {
    Console console({});
    console.out(std::string(version.what()) + "\n");
    return console.close(kOk);
  } catch (const CLI::ParseError& error) {
    return impl_->wrong_use(error);
  } catch (const WrongUse& wrong) {
    return Console(settings_so_far(impl_->words)).fail(kUsage, wrong.message, wrong.fix);
  } catch (const SemelError& error) {
    return Console(settings_so_far(impl_->words)).fail(error.error());
  } catch (const std::exception& error) {
    return Console(settings_so_far(impl_->words))
        .fail(kInternal, internal_error_text(error), "please tell us how to reproduce it");
  }
}

}  // namespace semel::cli
