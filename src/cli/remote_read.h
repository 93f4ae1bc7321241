// Converts documents of the API to the types that the text views show.
#pragma once

#include <semel/admin/records.h>
#include <semel/spi/step_store.h>

#include "cli/json_view.h"
#include "operate/letter_job.h"
#include "operate/letters.h"
#include "operate/status.h"

namespace semel::cli {

DeadLetter letter_from(const JsonView& view);
RecordView record_from(const JsonView& view);
StepJournal journal_from(const JsonView& view);
operate::LetterGroup group_from(const JsonView& view);
operate::LetterProgress progress_from(const JsonView& job);
operate::Status status_from(const JsonView& view);

}  // namespace semel::cli
