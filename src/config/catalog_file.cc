#include "config/catalog.h"

namespace semel::config::catalog {
namespace {

constexpr CodePage kFilePages[] = {
    {"E000", "the config cannot be used",
     "The config was refused; the errors printed with it say why, each with a code of its own.",
     "Mend them; semel check prints them all at once.", ""},
    {"E001", "the config file cannot be read",
     "The file is not there, is a folder, or this user may not read it.",
     "Check the path after -c, or write a first config with semel init.",
     "semel init queue/sql/sqlite > semel.yaml"},
    {"E002", "the config is empty", "There is nothing in the file but blanks and comments.",
     "Write at least one consumer; semel init prints a starter.",
     "semel init queue/sql/sqlite > semel.yaml"},
    {"E003", "the file is not UTF-8 text",
     "A config is text in UTF-8. A NUL byte or a bad sequence means that this is another kind of "
     "file, or that an editor saved it as UTF-16 or Latin-1.",
     "Save it as UTF-8.", "iconv -f latin1 -t utf-8 old.yaml > semel.yaml"},
    {"E004", "the file is too large",
     "A config is read whole and checked whole. One that large is most likely a data file given "
     "by mistake.",
     "Check the path after -c.", ""},
    {"E005", "this is not YAML",
     "The file could not be read on from the place shown. Mostly it is the indentation, a quote "
     "or bracket that is not closed, or a value that holds a colon and a blank and is not quoted.",
     "Mend the line shown, or the one before it. Reading stops here, so further errors show only "
     "afterwards.",
     "key: { from: [json:/id] }\nnote: \"a value with: a colon\""},
    {"E006", "a tab in the indentation",
     "YAML counts the spaces before a line to know what belongs to what. A tab has no agreed "
     "width, so it is refused there.",
     "Indent with spaces; most editors have a setting for it.",
     "expand -t 2 old.yaml > semel.yaml"},
    {"E007", "lists and maps are nested too deeply",
     "No field of Semel is nested that deeply. The limit keeps a broken or hostile file from "
     "exhausting the reader.",
     "Look for brackets that are opened and never closed.", ""},
    {"E008", "the file grows too large once its aliases are written out",
     "An alias (*name) stands for everything under its anchor (&name). Aliases of aliases grow "
     "beyond all bounds within a few lines, and one inside its own anchor never ends.",
     "Use aliases for values, not for lists of aliases.", ""},
    {"E009", "YAML that is not part of our subset",
     "Tags (!!int) are refused because types come from the schema; merge keys (<<) because what "
     "they override is hard to see; names that are lists or maps, and second documents, because "
     "nothing here has a use for them. Anchors and aliases are fine.",
     "Write it out. What several consumers share stands under defaults.",
     "defaults:\n  retry: { attempts: 5 }"},
    {"E010", "one name twice in one map",
     "YAML readers disagree on which of the two counts, so neither is taken.",
     "Keep one of them. It is often a consumer whose dash (-) is missing.", ""},
    {"E011", "a value of the wrong kind",
     "A map stands where a plain value or a list belongs, or the other way round, or nothing at "
     "all.",
     "Write it in the form shown; semel init prints a whole file.",
     "source:\n  file: { path: payments.jsonl }"},
    {"E012", "unknown field",
     "There is no field of this name here. It is an error, not a note: a misspelt setting that is "
     "silently ignored is the worst kind.",
     "Use the name that was meant: the message lists those of the map.", ""},
    {"E013", "a field in the wrong place",
     "The name is right, but it belongs to another map. Mostly the line is indented too far or "
     "not far enough.",
     "Move it where the message says.",
     "consumers:\n  - name: orders\n    retry: { attempts: 5 }   # beside handler, not in it"},
    {"E014", "a value that cannot be read",
     "The text does not have the form that this field needs. A duration needs its unit "
     "(500ms, 20s, 5m, 6h, 7d), a size too (64KiB, 16MiB), a whole number nothing but digits.",
     "Write it in that form.", "timeout: 30s\nlimits: { payload: 1MiB }"},
    {"E015", "a value out of range",
     "The value has the right form but lies outside of what can work.",
     "Choose one within the bounds that the message gives.", ""},
    {"E016", "a word that this field does not know",
     "The field takes one of a few words. Types come from the schema and never from a value's "
     "look: no, yes, on and off are words like any other, and true and false are written so.",
     "Write one of the words that the message lists.", "key: { from: json:/id, missing: fail }"},
    {"E017", "a field is missing", "Without this field Semel cannot know what to do.", "Add it.",
     "consumers:\n  - name: payments\n    source: { queue: {} }"},
    {"E018", "exactly one of several must be chosen",
     "A store, a source and a handler are each of one kind: sqlite, postgres, mysql, redis or "
     "memory; queue, file, http, kafka, nats, rabbitmq, redis_streams, sqs, stdin, native or "
     "claims; sql, http, exec, kafka, nats, rabbitmq, redis_streams, sns, sqs, steps or native.",
     "Keep exactly one of the names.", "source: { file: { path: payments.jsonl } }"},
    {"E020", "environment variables are not set",
     "The config asks for them with ${NAME}. All that are missing are named at once.",
     "Export them, or give a default: ${NAME:-value}, or an empty one: ${NAME:-}.",
     "path: ${DATA:-./data}/payments.jsonl"},
    {"E021", "a ${…} that cannot be read",
     "The forms are ${X}, ${X:-default}, ${X:?why it is needed}, ${file:path}, ${cred:name}. "
     "A name has letters, digits and _; they do not nest.",
     "Use one of the forms, or $${ for a literal ${.", "note: $${not a variable}"},
    {"E022", "a secret's file cannot be read",
     "${file:path} is replaced by the content of a file, ${cred:name} by one in systemd's "
     "credentials directory. It is not there, or this user may not read it.",
     "Check path and permissions; a relative path starts at the config's folder.", ""},
    {"E023", "a --set that fits nothing",
     "--set takes PATH=VALUE, where the path is written as in the diagnostics. A consumer may be "
     "named instead of counted.",
     "Write the path of a field that exists.", "semel run --set consumers.orders.batch.max=10"},
    {"E024", "not a name",
     "Names become labels, table values and parts of commands, so they are plain: a small letter, "
     "then small letters, digits, _ and -, 63 at most. A param's name has letters, digits and _.",
     "Choose a plain name.", "name: order-events"},
};

}  // namespace

std::span<const CodePage> file_codes() noexcept { return kFilePages; }

}  // namespace semel::config::catalog
