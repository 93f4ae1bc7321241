// status and doctor for the run that --url names.
#include "cli/doctor.h"
#include "cli/remote.h"
#include "cli/remote_read.h"
#include "cli/status.h"

namespace semel::cli {

int remote_status(Console& console) {
  auto run = Remote::open(console);
  if (!run) return run.error().code;
  const auto document = run->get("status");
  if (!document) return console.fail(document.error());
  return show_status(console, status_from(*document));
}

int remote_doctor(Console& console) {
  auto run = Remote::open(console);
  if (!run) return run.error().code;
  const auto document = run->get("doctor");
  return document ? show_doctor(console, *document) : console.fail(document.error());
}

}  // namespace semel::cli
