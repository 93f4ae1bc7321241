// Dead letters chosen by a filter, edited, carried from one store to another; records likewise.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>

#include "tests/cli/program.h"

namespace semel::test {
namespace {

// Five letters: p-1 used again with another payload (key.conflict), b-0 to b-2 whose amount is
// missing (payload.invalid, dead), and one without a key.
class DeadLetterTest : public ::testing::Test {
 protected:
  DeadLetterTest() : bed_(payments(kQueue)) {
    send(bed_, payment("p-1", 1, 5) + payment("p-1", 1, 6) + "{\"account\":1,\"amount\":7}\n");
    send(bed_, broken(0) + broken(1) + broken(2));
    work(bed_);
  }
  static std::string broken(int number) {
    return "{\"id\":\"b-" + std::to_string(number) + "\",\"account\":1}\n";
  }
  static void send(const TestBed& bed, const std::string& messages) {
    const Ran ran = bed.semel({"send", "payments", "-"}, {.input = messages});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  static void work(const TestBed& bed) {
    const Ran ran = bed.semel({"run", "--once", "-q"});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  Ran dlq(Words words, const StartOptions& options = {}) const {
    words.insert(words.begin(), "dlq");
    return bed_.semel(std::move(words), options);
  }
  std::string count(const std::string& filter) const {
    const Ran ran = dlq({"list", "--where", filter, "-o", "json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json_at(ran.out, "/count");
  }
  std::string id_of(const std::string& filter) const {
    const Ran ran = dlq({"list", "--where", filter, "-o", "json"});
    EXPECT_EQ(json_at(ran.out, "/count"), "1") << ran.out;
    return json_at(ran.out, "/dead_letters/0/id");
  }
  std::int64_t sum() const { return bed_.number("SELECT sum(balance) FROM account"); }

  TestBed bed_;
};

TEST_F(DeadLetterTest, AFilterChooses) {
  EXPECT_EQ(count("reason=payload.invalid"), "3");
  EXPECT_EQ(count("reason!=payload.invalid and consumer=payments"), "2");
  EXPECT_EQ(count("key=b-1 and attempts>=0"), "1");
  EXPECT_EQ(count("error~AMOUNT"), "3");
  EXPECT_EQ(count("key=''"), "1");
  EXPECT_EQ(count("age<1h"), "5");
  EXPECT_EQ(count("age>1h"), "0");
  EXPECT_EQ(count("consumer=nobody"), "0");
  const Ran wrong = dlq({"list", "--where", "consumer=payments and reson=x"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("--where, column 23"), std::string::npos) << wrong.err;
  EXPECT_NE(wrong.err.find("did you mean \"reason\"?"), std::string::npos) << wrong.err;
  EXPECT_NE(wrong.err.find("consumer, reason, key, type, error, attempts, age"), std::string::npos);
}

TEST_F(DeadLetterTest, APlanIsShownAndNothingIsDoneWithoutAYes) {
  const Ran plan = dlq({"discard", "--where", "reason=payload.invalid", "-n", "-o", "json"});
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_EQ(json_at(plan.out, "/schema"), "semel.v1.discard");
  EXPECT_EQ(json_at(plan.out, "/dry_run"), "true");
  EXPECT_EQ(json_at(plan.out, "/matched"), "3");
  EXPECT_NE(json_at(plan.out, "/oldest"), "(absent)");
  EXPECT_NE(json_at(plan.out, "/newest"), "(absent)");
  EXPECT_NE(json_at(plan.out, "/samples/0").find("b-0"), std::string::npos) << plan.out;
  EXPECT_NE(plan.err.find("3 dead letters, from "), std::string::npos) << plan.err;
  EXPECT_NE(plan.err.find("b-2"), std::string::npos);
  const Ran unasked = dlq({"discard", "--where", "reason=payload.invalid"});
  EXPECT_EQ(unasked.code, 2);
  EXPECT_NE(unasked.err.find("--yes"), std::string::npos);
  EXPECT_EQ(count("age<1h"), "5");
  EXPECT_EQ(dlq({"discard", "--where", "age>1h", "--yes"}).code, 4) << "nothing matched";
  EXPECT_EQ(dlq({"discard", "1", "--where", "age<1h", "--yes"}).code, 2);
  EXPECT_EQ(dlq({"discard", "--where", "age<1h", "--rate", "fast", "--yes"}).code, 2);
  EXPECT_EQ(dlq({"discard", "--where", "age<1h", "--limit", "0", "--yes"}).code, 2);
}

TEST_F(DeadLetterTest, ALimitAndARateAreKept) {
  EXPECT_EQ(
      json_at(dlq({"discard", "--all", "--limit", "2", "--yes", "-o", "json"}).out, "/discarded"),
      "2");
  const auto begun = std::chrono::steady_clock::now();
  const Ran slow = dlq({"discard", "--all", "--rate", "10/s", "--yes", "-o", "json"});
  EXPECT_EQ(slow.code, 0) << slow.err;
  EXPECT_EQ(json_at(slow.out, "/discarded"), "3");
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(200));
  EXPECT_EQ(count("age<1h"), "0");
}

TEST_F(DeadLetterTest, AnIdThatIsNotThereIsAPart) {
  const std::string id = id_of("key=b-0");
  const Ran ran = dlq({"replay", id, id, "4711", "--yes", "-o", "json"});
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/matched"), "1");
  EXPECT_EQ(json_at(ran.out, "/missing"), "1");
  EXPECT_EQ(json_at(ran.out, "/replayed"), "1");
}

TEST_F(DeadLetterTest, AnEditedLetterIsHandledOnceUnderItsKey) {
  const std::string id = id_of("key=b-0");
  const std::string mended = "{\"id\":\"b-0\",\"account\":1,\"amount\":40}";
  EXPECT_EQ(dlq({"edit", id, "--payload", "-"}, {.input = mended}).code, 2) << "no terminal";
  const Ran dry = dlq({"edit", id, "--payload", "-", "-n", "-o", "json"}, {.input = mended});
  EXPECT_EQ(json_at(dry.out, "/edited"), "false") << dry.err;
  const Ran ran = dlq({"edit", id, "--payload", "-", "-y", "-o", "json"}, {.input = mended});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/schema"), "semel.v1.dlq_edit");
  EXPECT_EQ(json_at(ran.out, "/edited"), "true");
  const Ran shown = dlq({"show", id, "-o", "json"});
  EXPECT_EQ(json_at(shown.out, "/dead_letter/payload"), mended);
  EXPECT_EQ(json_at(shown.out, "/dead_letter/headers/0/name"), "semel-edited");
  EXPECT_NE(json_at(shown.out, "/dead_letter/headers/0/value")
                .find(json_at(ran.out, "/fingerprint_before")),
            std::string::npos);
  EXPECT_EQ(sum(), 5) << "an edit runs nothing";
  ASSERT_EQ(dlq({"replay", id, "--yes"}).code, 0);
  work(bed_);
  EXPECT_EQ(sum(), 45);
  send(bed_, broken(0) + mended + "\n");
  work(bed_);
  EXPECT_EQ(sum(), 45) << "both are duplicates: the mended one, and the one that was edited";
  EXPECT_EQ(count("key=b-0 and reason=key.conflict"), "0");
  send(bed_, payment("b-0", 1, 7));
  work(bed_);
  EXPECT_EQ(count("key=b-0 and reason=key.conflict"), "1") << "any other payload is a conflict";
}

TEST_F(DeadLetterTest, AnEditThatWouldLieIsRefused) {
  const auto edit = [&](const std::string& id, const std::string& payload) {
    const Ran ran = dlq({"edit", id, "--payload", "-", "--yes"}, {.input = payload});
    EXPECT_EQ(ran.code, 1) << ran.out << ran.err;
    EXPECT_NE(ran.err.find("fix: "), std::string::npos) << ran.err;
    return ran.err;
  };
  const std::string dead = id_of("key=b-0");
  EXPECT_NE(edit(dead, payment("b-9", 1, 1)).find("another key"), std::string::npos);
  EXPECT_NE(edit(dead, "not json").find("payload.invalid"), std::string::npos);
  EXPECT_NE(edit(dead, "{\"account\":1}").find("key.missing"), std::string::npos);
  EXPECT_NE(edit(id_of("reason=key.conflict"), payment("p-1", 1, 9)).find("completed"),
            std::string::npos);
  EXPECT_NE(edit(id_of("key=''"), "{}").find("key.missing"), std::string::npos);
  ASSERT_EQ(dlq({"replay", dead, "--yes"}).code, 0);
  EXPECT_NE(edit(dead, payment("b-0", 1, 1)).find("waits"), std::string::npos);
  EXPECT_EQ(dlq({"edit", "4711", "--payload", "-", "--yes"}).code, 4);
  EXPECT_EQ(dlq({"edit", dead, "--payload", bed_.file("nowhere"), "--yes"}).code, 2);
}

TEST_F(DeadLetterTest, AnEditForeseesWhatItWouldBe) {
  const auto dry = [&](const std::string& id, const std::string& payload) {
    return dlq({"edit", id, "--payload", "-", "--dry-run"}, {.input = payload});
  };
  const std::string dead = id_of("key=b-0");
  EXPECT_EQ(dry(dead, payment("b-0", 1, 1)).code, 0);
  const Ran completed = dry(id_of("reason=key.conflict"), payment("p-1", 1, 9));
  EXPECT_EQ(completed.code, 1) << completed.out;
  EXPECT_NE(completed.err.find("completed"), std::string::npos) << completed.err;
  ASSERT_EQ(dlq({"replay", dead, "--yes"}).code, 0);
  const Ran waits = dry(dead, payment("b-0", 1, 1));
  EXPECT_EQ(waits.code, 1) << waits.out;
  EXPECT_NE(waits.err.find("waits"), std::string::npos) << waits.err;
  const Ran keyless =
      dlq({"edit", id_of("key=''"), "--payload", "-", "--yes"}, {.input = payment("new", 1, 7)});
  EXPECT_EQ(keyless.out.find("its key stays"), std::string::npos) << "it had none";
}

TEST_F(DeadLetterTest, AnEditGivesAKeyToWhatHadNone) {
  const std::string id = id_of("key=''");
  const Ran ran = dlq({"edit", id, "--payload", "-", "--yes"}, {.input = payment("new", 1, 7)});
  ASSERT_EQ(ran.code, 0) << ran.err;
  ASSERT_EQ(dlq({"replay", id, "--yes"}).code, 0);
  work(bed_);
  EXPECT_EQ(sum(), 12);
  EXPECT_EQ(bed_.semel({"records", "show", "new"}).code, 0);
}

TEST_F(DeadLetterTest, AnEditorIsTheUsers) {
  const std::string id = id_of("key=b-1");
  EXPECT_EQ(dlq({"edit", id, "--yes"}, {.environment = {"EDITOR=", "VISUAL="}}).code, 2);
  EXPECT_EQ(dlq({"edit", id, "--yes"}, {.environment = {"EDITOR=false", "VISUAL="}}).code, 1);
  const Ran same = dlq({"edit", id, "--yes"}, {.environment = {"EDITOR=true", "VISUAL="}});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_NE(same.out.find("nothing to do"), std::string::npos) << same.out;
  write_file(bed_.file("edit"),
             "#!/bin/sh\nprintf '{\"id\":\"b-1\",\"account\":1,\"amount\":2}\\n' > \"$2\"\n"
             "stat -c %a \"$2\" > \"$1\"\nprintf %s \"$2\" >> \"$1\"\n");
  ASSERT_EQ(::chmod(bed_.file("edit").c_str(), 0755), 0);
  const Ran ran =
      dlq({"edit", id, "--yes"},
          {.environment = {"EDITOR=" + bed_.file("edit") + " " + bed_.file("seen"), "VISUAL="}});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json_at(dlq({"show", id, "-o", "json"}).out, "/dead_letter/payload"),
            "{\"id\":\"b-1\",\"account\":1,\"amount\":2}")
      << "without the line end that editors add";
  const std::string seen = read_file(bed_.file("seen"));
  EXPECT_TRUE(seen.starts_with("600\n")) << "nobody else may read it: " << seen;
  EXPECT_NE(::access(seen.substr(4).c_str(), F_OK), 0) << "the draft is gone";
}

TEST_F(DeadLetterTest, AnExportComesBackWholeAndOnce) {
  ASSERT_EQ(bed_.semel({"send", "payments", "{\"id\":\"h\"}", "--header", "from=\xff\x01"}).code,
            0);
  send(bed_, std::string("\xff\0 bytes", 8) + "\n");
  work(bed_);
  const Ran exported = dlq({"export"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  EXPECT_NE(exported.err.find("7 dead letters exported"), std::string::npos) << exported.err;
  const std::string file = bed_.file("letters.jsonl");
  write_file(file, exported.out);
  const Ran again = dlq({"import", file, "-o", "json"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(json_at(again.out, "/present"), "7") << "into the store it came from: nothing new";
  EXPECT_EQ(json_at(again.out, "/added"), "0");

  const TestBed other(payments(kQueue));
  ASSERT_EQ(other.semel({"store", "init"}).code, 0);
  const Ran dry = other.semel({"dlq", "import", file, "--dry-run", "-o", "json"});
  EXPECT_EQ(json_at(dry.out, "/added"), "7") << dry.err;
  const Ran added = other.semel({"dlq", "import", "-", "-o", "json"}, {.input = exported.out});
  EXPECT_EQ(added.code, 0) << added.err;
  EXPECT_EQ(json_at(added.out, "/schema"), "semel.v1.dlq_import");
  EXPECT_EQ(json_at(added.out, "/added"), "7");
  EXPECT_EQ(json_at(other.semel({"dlq", "import", file, "-o", "json"}).out, "/present"), "7");
  EXPECT_EQ(other.semel({"dlq", "export"}).out, exported.out) << "byte for byte, ids too";
  ASSERT_EQ(other.semel({"dlq", "replay", "--where", "reason=key.conflict", "-y"}).code, 0);
  work(other);
  EXPECT_EQ(other.number("SELECT sum(balance) FROM account"), 6)
      << "there the key is new, and its payload is handled";
}

TEST_F(DeadLetterTest, AnExportTakesAFilter) {
  const Ran some = dlq({"export", "--where", "reason=payload.invalid", "--limit", "2"});
  EXPECT_EQ(some.code, 0);
  EXPECT_EQ(std::count(some.out.begin(), some.out.end(), '\n'), 2);
  EXPECT_EQ(dlq({"export", "--where", "age>1h"}).code, 4);
  EXPECT_EQ(dlq({"export", id_of("key=b-2"), "4711"}).code, 3);
  const Ran plan = dlq({"export", "--dry-run"});
  EXPECT_EQ(plan.out, "");
  EXPECT_NE(plan.err.find("5 dead letters"), std::string::npos) << plan.err;
}

TEST_F(DeadLetterTest, ABadLineIsNamedAndCostsNoOther) {
  const std::string good = dlq({"export"}).out;
  const auto first = good.substr(0, good.find('\n') + 1);
  std::string strange = first;
  strange.replace(strange.find("payments"), 8, "unknown!");
  const TestBed other(payments(kQueue));
  ASSERT_EQ(other.semel({"store", "init"}).code, 0);
  write_file(other.file("in.jsonl"), "{\"torn\":\n" + strange + "\n" + good);
  const Ran ran = other.semel({"dlq", "import", other.file("in.jsonl"), "-o", "json"});
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_EQ(json_at(ran.out, "/refused"), "2");
  EXPECT_EQ(json_at(ran.out, "/added"), "5");
  EXPECT_NE(ran.err.find("in.jsonl:1: "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("in.jsonl:2: "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("unknown!"), std::string::npos) << ran.err;
  EXPECT_EQ(other.semel({"dlq", "import", other.file("nowhere")}).code, 2);
  EXPECT_EQ(other.semel({"dlq", "import", "-"}, {.input = ""}).code, 4);
  EXPECT_EQ(other.semel({"dlq", "import", "-"}, {.input = "junk\n"}).code, 1);
}

TEST_F(DeadLetterTest, RecordsTakeTheSameGrammar) {
  const Ran list = bed_.semel(
      {"records", "list", "--where", "reason=payload.invalid and key!=b-0", "-o", "json"});
  EXPECT_EQ(json_at(list.out, "/records/1/key"), "b-2") << list.out << list.err;
  EXPECT_EQ(json_at(list.out, "/records/2/key"), "(absent)");
  const Words unlock = {"records", "unlock", "--where", "state=dead and age<1h", "-o", "json"};
  const auto with = [&](const Words& more) {
    Words words = unlock;
    words.insert(words.end(), more.begin(), more.end());
    return bed_.semel(words);
  };
  EXPECT_EQ(with({}).code, 2) << "no terminal to ask on";
  const Ran plan = with({"--dry-run"});
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_EQ(json_at(plan.out, "/matched"), "3");
  EXPECT_NE(json_at(plan.out, "/samples/2").find("b-2"), std::string::npos) << plan.out;
  const Ran one = with({"--yes", "--limit", "1"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(json_at(one.out, "/unlocked"), "1");
  EXPECT_EQ(json_at(with({"--yes"}).out, "/unlocked"), "2");
  EXPECT_EQ(with({"--yes"}).code, 4) << "none is dead any more";
  const Ran forgotten = bed_.semel(
      {"records", "forget", "--where", "state=retrying and key~B-", "--yes", "-o", "json"});
  EXPECT_EQ(json_at(forgotten.out, "/forgotten"), "3") << forgotten.err;
  EXPECT_EQ(bed_.semel({"records", "forget", "--where", "key=p-1 and state=completed", "-y"}).code,
            0);
  EXPECT_EQ(bed_.semel({"records", "show", "p-1"}).code, 4);
  EXPECT_EQ(bed_.semel({"records", "forget", "--where", "state=completed", "-y"}).code, 2);
  EXPECT_EQ(bed_.semel({"records", "list", "--where", "state=completed"}).code, 2);
  EXPECT_EQ(bed_.semel({"records", "forget", "k", "--where", "age>1h", "-y"}).code, 2);
  EXPECT_EQ(bed_.semel({"records", "forget", "-y"}).code, 2);
}

// p-1 is completed: a verb that is about other states has nothing to do with it.
TEST_F(DeadLetterTest, AnUnlockCountsOnlyWhatItCanUnlock) {
  const Ran dry = bed_.semel({"records", "unlock", "p-1", "--dry-run"});
  EXPECT_EQ(dry.code, 4) << dry.out << dry.err;
  EXPECT_NE(dry.out.find("0 would be unlocked of 1; 1 skipped: neither parked nor dead"),
            std::string::npos)
      << dry.out;
  const Ran asked = bed_.semel({"records", "unlock", "p-1"});
  EXPECT_EQ(asked.code, 4) << "there is nothing to ask about: " << asked.err;
  EXPECT_EQ(asked.err.find("confirmation"), std::string::npos) << asked.err;
  EXPECT_EQ(bed_.semel({"records", "unlock", "p-1", "--as", "done", "--yes"}).code, 4);
  const Ran part = bed_.semel({"records", "unlock", "p-1", "b-0", "--dry-run", "-o", "json"});
  EXPECT_EQ(part.code, 3) << part.out;
  EXPECT_EQ(json_at(part.out, "/matched"), "1") << part.out;
  EXPECT_EQ(json_at(part.out, "/skipped"), "1") << part.out;
}

TEST_F(DeadLetterTest, AStoreVerifiesItselfBesideARunner) {
  Program runner({"run", bed_.config(), "-v"});
  send(bed_, payment("p-7", 1, 1));
  ASSERT_TRUE(runner.says("p-7  done")) << runner.err();
  const Ran good = bed_.semel({"store", "verify", "--full", "-o", "json"});
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_EQ(json_at(good.out, "/schema"), "semel.v1.store_verify");
  EXPECT_EQ(json_at(good.out, "/wrong"), "0");
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0);
  EXPECT_NE(bed_.semel({"store", "verify"}).out.find("agrees with itself"), std::string::npos);
  bed_.sql("UPDATE semel_live SET held = 4711 WHERE key = 'b-0'");
  const Ran bad = bed_.semel({"store", "verify", "-o", "json"});
  EXPECT_EQ(bad.code, 1) << bad.err;
  EXPECT_EQ(json_at(bad.out, "/wrong"), "1");
  EXPECT_EQ(json_at(bad.out, "/findings/0/what"), "record.held_missing");
  EXPECT_NE(json_at(bad.out, "/findings/0/where").find("b-0"), std::string::npos) << bad.out;
  EXPECT_NE(bed_.semel({"store", "verify"}).out.find("1 finding wrong"), std::string::npos);
}

}  // namespace
}  // namespace semel::test
