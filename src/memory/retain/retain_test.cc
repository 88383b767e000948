#include "memory/retain/retain.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "memory/bank/iso_time.h"
#include "memory/bank/testing/bank_file.h"
#include "memory/testing/scripted_models.h"

namespace windrow::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr UnixMs kStart = 1'700'000'000'000;  // of ManualClock

// A response with one fact for each line of the text in the prompt.
ChatOutcome fact_of_each_line(const ChatCall& call) {
  const size_t begin = call.user.find("<text>\n") + 7;
  std::string text = call.user.substr(begin, call.user.find("\n</text>") - begin) + "\n";
  std::string facts;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end > at)
      facts += fmt::format(R"({}{{"what":"Fact: {}","entities":["Ada"]}})",
                           facts.empty() ? "" : ",", text.substr(at, end - at));
    at = end + 1;
  }
  return ChatReply{.text = fmt::format(R"({{"facts":[{}]}})", facts),
                   .usage = {.prompt_tokens = 10, .completion_tokens = 5}};
}

class RetainTest : public ::testing::Test {
 protected:
  RetainOutcome retained(const std::vector<RetainItem>& items) {
    return retain(file_.store(), models_, config_, items, {}, clock_);
  }

  RetainReport kept(const std::vector<RetainItem>& items) {
    RetainOutcome outcome = retained(items);
    if (const auto* failure = std::get_if<llm::Failure>(&outcome))
      ADD_FAILURE() << failure->message;
    const auto* report = std::get_if<RetainReport>(&outcome);
    return report == nullptr ? RetainReport() : *report;
  }

  llm::Failure refused(const std::vector<RetainItem>& items) {
    const RetainOutcome outcome = retained(items);
    const auto* failure = std::get_if<llm::Failure>(&outcome);
    if (failure == nullptr) ADD_FAILURE() << "it was retained";
    return failure == nullptr ? llm::Failure() : *failure;
  }

  Memory only_memory() { return memories().at(0); }

  std::vector<Memory> memories() { return file_.store().list({}).value().memories; }

  std::vector<std::string> texts() {
    std::vector<std::string> texts;
    for (const Memory& memory : memories())
      texts.push_back(memory.text);
    return texts;
  }

  int64_t consolidations() {
    int64_t total = 0;
    EXPECT_TRUE(file_.store().operations({}, {}, 10, 0, &total));
    return total;
  }

  testing::BankFile file_;
  testing::ScriptedModels models_;
  windrow::testing::ManualClock clock_;
  BankConfig config_;
};

RetainItem item(std::string content, std::string document = "") {
  return {.content = std::move(content), .document_id = std::move(document)};
}

TEST_F(RetainTest, WithoutModelsATextIsStoredWordForWord) {
  RetainItem one = item("Ada moved to Oslo.");
  one.context = "a diary";
  one.timestamp = kStart - 5000;
  one.metadata = {{"source", "mail"}};
  one.entities = {"Ada", "Oslo"};
  one.tags = Tags({"b", "a"});
  one.scopes.kind = ScopeKind::kPerTag;
  const RetainReport report = kept({one});
  ASSERT_THAT(report.memories, SizeIs(1));
  const Memory memory = file_.store().memory(report.memories[0]).value();
  EXPECT_EQ(memory.text, "Ada moved to Oslo.");
  EXPECT_EQ(memory.type, MemoryType::kWorld);
  EXPECT_EQ(memory.context, "a diary");
  EXPECT_EQ(memory.times.mentioned, kStart - 5000);
  EXPECT_EQ(memory.times.event, kStart - 5000);
  EXPECT_EQ(memory.times.occurred_start, std::nullopt);
  EXPECT_EQ(memory.metadata, one.metadata);
  EXPECT_EQ(memory.entities, one.entities);
  EXPECT_EQ(memory.tags, one.tags);
  EXPECT_EQ(memory.scopes, one.scopes);
  EXPECT_THAT(memory.embedding, IsEmpty());
  EXPECT_EQ(memory.document_id, "");
  EXPECT_EQ(consolidations(), 0);
}

TEST_F(RetainTest, TheTimeIsNowOrNoneAsTheItemSays) {
  RetainItem undated = item("undated");
  undated.timestamp_unset = true;
  const RetainReport report = kept({item("dated"), undated});
  EXPECT_EQ(file_.store().memory(report.memories.at(0))->times.mentioned, kStart);
  EXPECT_EQ(file_.store().memory(report.memories.at(1))->times.mentioned, std::nullopt);
  EXPECT_EQ(file_.store().memory(report.memories.at(1))->times.event, std::nullopt);
}

TEST_F(RetainTest, ALongTextIsAFactForEachChunk) {
  config_.retain_chunk_size = 20;
  kept({item("Ada moved to Oslo. Ben caught a cold.")});
  EXPECT_THAT(texts(), UnorderedElementsAre("Ada moved to Oslo.", "Ben caught a cold."));
}

TEST_F(RetainTest, FactsAreEmbeddedInOneCallAndTheBankNotesTheModel) {
  models_.on_embed = testing::embed_by_words({"Ada", "Ben"});
  kept({item("Ada moved."), item("Ben slept.")});
  ASSERT_THAT(models_.embeds(), SizeIs(1));
  EXPECT_THAT(models_.embeds()[0], ElementsAre("Ada moved.", "Ben slept."));
  EXPECT_EQ(file_.store().bank()->embedding_model, "scripted-embed");
  EXPECT_EQ(file_.store().bank()->embedding_size, 3);

  models_.embed_name = "another";
  const llm::Failure failure = refused({item("Cleo sang.")});
  EXPECT_EQ(failure.status, 409);
  EXPECT_THAT(failure.message, HasSubstr("are those of the model \"scripted-embed\""));
  EXPECT_THAT(memories(), SizeIs(2));
}

TEST_F(RetainTest, ATextThatIsTooLongForTheEmbeddingModelIsEmbeddedByItsBeginning) {
  models_.on_embed = [](const std::vector<std::string>& asked) -> EmbedOutcome {
    for (const std::string& text : asked) {
      if (text.size() > 100) {
        return llm::Failure{.status = 400,
                            .code = "context_length_exceeded",
                            .message = "too long",
                            .prompt_excess = llm::PromptExcess{
                                .tokens = static_cast<int64_t>(text.size()), .tokens_max = 100}};
      }
    }
    return testing::embed_by_words({"x"})(asked);
  };
  kept({item("short"), item(std::string(1000, 'x'))});
  ASSERT_THAT(models_.embeds(), SizeIs(2));
  EXPECT_EQ(models_.embeds()[1][0], "short");
  EXPECT_EQ(models_.embeds()[1][1], std::string(90, 'x'));
  EXPECT_EQ(memories().at(0).text.size() + memories().at(1).text.size(), 1005U);
}

TEST_F(RetainTest, AFailedEmbeddingStoresNothing) {
  models_.on_embed = [](const std::vector<std::string>&) -> EmbedOutcome {
    return llm::Failure{.status = 503, .code = "overloaded", .message = "later"};
  };
  EXPECT_EQ(refused({item("Ada moved.", "notes")}).status, 503);
  EXPECT_THAT(memories(), IsEmpty());
  EXPECT_FALSE(file_.store().document("notes"));
}

TEST_F(RetainTest, AModelExtractsFactsOfEachChunk) {
  models_.on_chat = fact_of_each_line;
  config_.retain_chunk_size = 12;
  RetainItem one = item("Ada moved.\nBen slept.\nCleo sang.");
  one.entities = {"family"};
  const RetainReport report = kept({one});
  EXPECT_THAT(texts(),
              UnorderedElementsAre("Fact: Ada moved.", "Fact: Ben slept.", "Fact: Cleo sang."));
  EXPECT_THAT(models_.chats(), SizeIs(3));
  EXPECT_EQ(report.usage.prompt_tokens, 30);
  EXPECT_EQ(report.usage.completion_tokens, 15);
  EXPECT_THAT(only_memory().entities, ElementsAre("family", "Ada"));
  // The wording of the source is kept, and its chunks.
  const Document document = file_.store().document(only_memory().document_id).value();
  EXPECT_EQ(document.text, one.content);
  EXPECT_THAT(file_.store().chunks(document.id).value(), SizeIs(3));
  EXPECT_EQ(consolidations(), 1);
}

TEST_F(RetainTest, ConsolidationIsSubmittedOnlyWhereTheBankDoesSoByItself) {
  models_.on_chat = fact_of_each_line;
  config_.enable_auto_consolidation = false;
  kept({item("Ada moved.")});
  config_.enable_auto_consolidation = true;
  config_.enable_observations = false;
  kept({item("Ben slept.")});
  EXPECT_EQ(consolidations(), 0);
}

TEST_F(RetainTest, TheTypeOfTheItemCountsMoreThanThatOfTheModel) {
  models_.on_chat = [](const ChatCall&) -> ChatOutcome {
    return ChatReply{.text = R"({"facts":[{"what":"I sent it.","type":"experience"}]})"};
  };
  kept({item("I sent it.")});
  EXPECT_EQ(only_memory().type, MemoryType::kExperience);
  RetainItem typed = item("I sent it again.");
  typed.type = MemoryType::kWorld;
  const RetainReport report = kept({typed});
  EXPECT_EQ(file_.store().memory(report.memories.at(0))->type, MemoryType::kWorld);
}

TEST_F(RetainTest, AnUnusableResponseIsAskedForOnceMore) {
  int calls = 0;
  models_.on_chat = [&calls](const ChatCall& call) -> ChatOutcome {
    if (++calls == 1) return ChatReply{.text = "I am sorry"};
    return fact_of_each_line(call);
  };
  kept({item("Ada moved.")});
  EXPECT_THAT(texts(), ElementsAre("Fact: Ada moved."));
  ASSERT_THAT(models_.chats(), SizeIs(2));
  EXPECT_EQ(models_.chats()[0].temperature, 0);
  EXPECT_GT(models_.chats()[1].temperature, 0);
}

TEST_F(RetainTest, OneTextWithoutAUsableResponseStoresNothing) {
  models_.on_chat = [](const ChatCall& call) -> ChatOutcome {
    if (call.user.find("Ben") != std::string::npos) return ChatReply{.text = R"({"facts":7})"};
    return fact_of_each_line(call);
  };
  const llm::Failure failure = refused({item("Ada moved."), item("Ben slept.")});
  EXPECT_EQ(failure.status, 502);
  EXPECT_EQ(failure.param, "items[1].content");
  EXPECT_THAT(failure.message, HasSubstr("the response has no list \"facts\"; send it again"));
  EXPECT_THAT(models_.chats(), SizeIs(3));  // only the unusable one again
  EXPECT_THAT(memories(), IsEmpty());
}

TEST_F(RetainTest, AResponseThatWasCutOffSaysWhatToDo) {
  models_.on_chat = [](const ChatCall&) -> ChatOutcome {
    return ChatReply{.text = R"({"facts":[]})", .truncated = true};
  };
  EXPECT_THAT(refused({item("Ada moved.")}).message, HasSubstr("a smaller retain_chunk_size"));
}

TEST_F(RetainTest, AFailedModelStoresNothing) {
  models_.on_chat = [](const ChatCall&) -> ChatOutcome {
    return llm::Failure{.failure_class = llm::FailureClass::kTransient,
                        .status = 429,
                        .code = "rate_limited",
                        .message = "slow down",
                        .retry_after_ms = 1000};
  };
  const llm::Failure failure = refused({item("Ada moved.", "notes")});
  EXPECT_EQ(failure.status, 429);
  EXPECT_EQ(failure.retry_after_ms, 1000);
  EXPECT_EQ(failure.message, "extraction of facts: slow down");
  EXPECT_THAT(memories(), IsEmpty());
  EXPECT_FALSE(file_.store().document("notes"));
}

TEST_F(RetainTest, WithoutAChatModelExtractionIsRefusedWithWhatToDo) {
  config_.retain_extraction_mode = "concise";
  const llm::Failure failure = refused({item("Ada moved.")});
  EXPECT_EQ(failure.status, 400);
  EXPECT_EQ(failure.param, "retain_extraction_mode");
  EXPECT_THAT(memories(), IsEmpty());
}

TEST_F(RetainTest, ABadItemStoresNothing) {
  EXPECT_EQ(refused({item("Ada moved."), item(" ")}).param, "items[1].content");
  EXPECT_THAT(memories(), IsEmpty());
  EXPECT_THAT(kept({}).memories, IsEmpty());
}

TEST_F(RetainTest, ItemsOfADocumentAreItsText) {
  kept({item("Ada moved.", "notes"), item("Ben slept.", "others"), item("Cleo sang.", "notes")});
  EXPECT_EQ(file_.store().document("notes")->text, "Ada moved.\n\nCleo sang.");
  EXPECT_EQ(file_.store().document("notes")->memory_count, 2);
  EXPECT_EQ(file_.store().document("others")->text, "Ben slept.");
}

TEST_F(RetainTest, OfADocumentThatComesAgainOnlyNewChunksAreExtracted) {
  models_.on_chat = fact_of_each_line;
  config_.retain_chunk_size = 12;
  kept({item("Ada moved.\nBen slept.\nCleo sang.", "notes")});
  const std::vector<Memory> before = memories();
  clock_.advance(std::chrono::seconds(60));
  const RetainReport report = kept({item("Ada moved.\nBen woke.\nCleo sang.", "notes")});
  EXPECT_THAT(report.memories, SizeIs(1));
  EXPECT_THAT(models_.chats(), SizeIs(4));
  EXPECT_THAT(texts(),
              UnorderedElementsAre("Fact: Ada moved.", "Fact: Ben woke.", "Fact: Cleo sang."));
  EXPECT_EQ(file_.store().document("notes")->text, "Ada moved.\nBen woke.\nCleo sang.");
  EXPECT_EQ(file_.store().document("notes")->created, kStart);
  EXPECT_EQ(file_.store().document("notes")->updated, kStart + 60'000);
  for (const Memory& memory : before) {
    const bool stays = memory.text != "Fact: Ben slept.";
    EXPECT_EQ(file_.store().memory(memory.id).has_value(), stays) << memory.text;
  }
}

TEST_F(RetainTest, OfADocumentWithOtherTagsAllIsDoneAgain) {
  models_.on_chat = fact_of_each_line;
  kept({item("Ada moved.", "notes")});
  RetainItem tagged = item("Ada moved.", "notes");
  tagged.tags = Tags({"family"});
  EXPECT_THAT(kept({tagged}).memories, SizeIs(1));
  EXPECT_THAT(memories(), SizeIs(1));
  EXPECT_EQ(only_memory().tags, Tags({"family"}));
  EXPECT_EQ(file_.store().document("notes")->tags, Tags({"family"}));
}

TEST_F(RetainTest, AppendingExtractsOnlyWhatIsNew) {
  models_.on_chat = fact_of_each_line;
  kept({item("Ada moved.", "notes")});
  RetainItem more = item("Ben slept.", "notes");
  more.update = DocumentUpdate::kAppend;
  more.tags = Tags({"family"});
  EXPECT_THAT(kept({more}).memories, SizeIs(1));
  EXPECT_THAT(texts(), UnorderedElementsAre("Fact: Ada moved.", "Fact: Ben slept."));
  EXPECT_THAT(models_.chats(), SizeIs(2));
  const Document document = file_.store().document("notes").value();
  EXPECT_EQ(document.text, "Ada moved.\n\nBen slept.");
  EXPECT_EQ(document.tags, Tags({"family"}));
  EXPECT_THAT(file_.store().chunks("notes").value(), SizeIs(2));
}

TEST_F(RetainTest, ADocumentThatAnotherRequestChangesMeanwhileIsPlannedAnew) {
  models_.on_chat = fact_of_each_line;
  kept({item("Ada moved.", "notes")});
  bool is_first = true;
  models_.on_chat = [&](const ChatCall& call) -> ChatOutcome {
    if (std::exchange(is_first, false)) {
      testing::ScriptedModels others;
      RetainItem other = item("Cleo sang.", "notes");
      other.update = DocumentUpdate::kAppend;
      EXPECT_EQ(retain(file_.store(), others, config_, {other}, {}, clock_).index(), 0U);
    }
    return fact_of_each_line(call);
  };
  RetainItem more = item("Ben slept.", "notes");
  more.update = DocumentUpdate::kAppend;
  kept({more});
  EXPECT_THAT(texts(), UnorderedElementsAre("Fact: Ada moved.", "Cleo sang.", "Fact: Ben slept."));
  EXPECT_EQ(file_.store().document("notes")->text, "Ada moved.\n\nCleo sang.\n\nBen slept.");
  EXPECT_THAT(models_.chats(), SizeIs(2));  // its text is not asked about again
}

TEST_F(RetainTest, AnOperationIsCompletedWithTheFactsAndNeverDoneTwice) {
  const OperationId id{"00000000-0000-4000-8000-000000000001"};
  BankStore& store = file_.store();
  ASSERT_TRUE(store.add_operation({.id = id, .type = OperationType::kRetain}));
  const Operation claimed =
      store.claim(OperationType::kRetain, "one", kStart, 1000).value().value();
  const std::vector<RetainItem> items = {item("Ada moved.")};
  const auto done_by = [&](const std::string& worker) {
    return retain(store, models_, config_, items, {}, clock_,
                  RetainWork{.operation = claimed.id, .worker = worker});
  };
  EXPECT_EQ(std::get<llm::Failure>(done_by("another")).status, 409);
  EXPECT_THAT(memories(), IsEmpty());
  EXPECT_EQ(store.operation(id)->status, OperationStatus::kProcessing);

  EXPECT_TRUE(std::holds_alternative<RetainReport>(done_by("one")));
  EXPECT_EQ(store.operation(id)->status, OperationStatus::kCompleted);
  EXPECT_EQ(store.operation(id)->result.at("memories"), 1);
  EXPECT_EQ(std::get<llm::Failure>(done_by("one")).status, 409);
  EXPECT_THAT(texts(), ElementsAre("Ada moved."));
}

TEST_F(RetainTest, TheDemoModelGetsTextsOfItsSize) {
  config_.prompt_profile = PromptProfile::kDemo;
  models_.on_chat = [](const ChatCall&) -> ChatOutcome {
    return ChatReply{.text = R"({"facts":[{"entity":"Ada","fact":"moved","time":"2023-11-13"}]})"};
  };
  kept({item(std::string(100, 'a') + ". " + std::string(100, 'b') + ".")});
  ASSERT_THAT(models_.chats(), SizeIs(2));
  EXPECT_THAT(models_.chats()[0].user, HasSubstr("Message of 2023-11-14:\n"));
  EXPECT_EQ(only_memory().times.event, unix_ms_from_iso("2023-11-13"));
  EXPECT_EQ(only_memory().times.mentioned, kStart);
}

}  // namespace
}  // namespace windrow::memory
