#include "cli/run_reload.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <csignal>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/session.h"
#include "cli/text.h"
#include "system/descriptor.h"

namespace semel::cli {

namespace {

constexpr const char* kReloadComponent = "reload";

bool has_terminal() {
  return system::Descriptor(::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)).valid();
}

bool hang_up_is_ignored() {
  struct sigaction now {};
  return ::sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

std::optional<Error> no_reload(const Console& console, const config::Config& running, bool once) {
  const auto because = [](const std::string& why, std::string fix) {
    return Error{ErrorKind::kRejected, "R357", "this run takes up no other config: " + why,
                 std::move(fix)};
  };
  if (once) return because("with --once it ends by itself", "start another one");
  if (console.settings().dry_run) return because("it is a dry run", "start another one");
  if (console.settings().config == "-") {
    return because("its config came from stdin", "give it a file: semel run FILE");
  }
  if (running.file.empty()) return because("it has no file", "give it one: semel run FILE");
  return std::nullopt;
}

}  // namespace

Terminal::Terminal() : ends_with_it_(has_terminal() && !hang_up_is_ignored()) {}

bool Terminal::is_closed() const { return ends_with_it_ && !has_terminal(); }

RunReload::RunReload(Console& console, const config::Config& running, Options options)
    : console_(console),
      running_(running),
      reloader_(reload_options(std::move(options)), running) {}

compose::ReloadOptions RunReload::reload_options(Options options) {
  compose::ReloadOptions made;
  made.load = std::move(options.load);
  made.refused = no_reload(console_, running_, options.once);
  made.tell = [this](const config::Diagnostic& one) { cli::tell(console_, one); };
  made.taken = std::move(options.taken);
  made.say = [this](const std::string& text) {
    if (!console_.logs_json()) return console_.note("semel: reload: " + text);
    LogLine line = log_line(LogLevel::kInfo, text);
    line.component = kReloadComponent;
    console_.log(line);
  };
  made.complain = [this](const Error& error) {
    if (console_.logs_json()) {
      LogLine line = log_line(error);
      line.component = kReloadComponent;
      return console_.log(line);
    }
    const std::string text = format_error(error, console_.color_err());
    console_.warn(fmt::format("semel: reload: {}",
                              std::string_view(text).substr(0, text.find_last_not_of('\n') + 1)));
  };
  made.under_way = [this](bool begins) {
    const system::MutexLock lock(mutex_);
    if (manager_ != nullptr) manager_->reloading(begins);
  };
  return made;
}

void RunReload::tell(const ServiceManager* manager) {
  const system::MutexLock lock(mutex_);
  manager_ = manager;
}

}  // namespace semel::cli
