#include "session/session_host.h"

#include <stdexcept>
#include <utility>

#include "api/session/session_calls.h"
#include "base/random.h"
#include "fleet/load_tokenizer.h"
#include "sim_upstream/answer_text.h"

namespace windrow::session_bench {
namespace {

constexpr int32_t kContextTokens = 1 << 24;
constexpr int32_t kInFlightMax = 4096;

// Another tokenizer, of a model with a long context.
class LongContext final : public llm::Tokenizer {
 public:
  explicit LongContext(std::shared_ptr<const llm::Tokenizer> inner) : inner_(std::move(inner)) {}

  int32_t vocabulary_size() const override { return inner_->vocabulary_size(); }
  int32_t context_tokens_max() const override { return kContextTokens; }
  std::vector<int32_t> encode(std::string_view text, bool control,
                              llm::SpecialTokens added) const override {
    return inner_->encode(text, control, added);
  }
  void append_piece(int32_t token, std::string& bytes) const override {
    inner_->append_piece(token, bytes);
  }
  bool is_control(int32_t token) const override { return inner_->is_control(token); }
  std::variant<llm::RenderedChat, llm::Failure> render(const llm::Chat& chat,
                                                       bool asks_for_answer) const override {
    return inner_->render(chat, asks_for_answer);
  }
  std::variant<llm::AppendedTokens, llm::Failure> append(const llm::SampledAnswer& answer,
                                                         const llm::Chat& appended) const override {
    return inner_->append(answer, appended);
  }
  std::unique_ptr<llm::AnswerReader> read_answer(const llm::Chat& chat,
                                                 std::span<const int32_t> prompt,
                                                 llm::ReadingOptions options) const override {
    return inner_->read_answer(chat, prompt, std::move(options));
  }

 private:
  const std::shared_ptr<const llm::Tokenizer> inner_;
};

}  // namespace

BenchTokenizer::BenchTokenizer(const std::string& path) {
  auto library = engine::LlamaLibrary::start("");
  if (!library) throw std::runtime_error(library.error().message);
  library_ = *std::move(library);
  auto tokenizer =
      fleet::load_tokenizer(library_.get(), {.path = path}, SystemClock().unix_seconds());
  if (!tokenizer) throw std::runtime_error(tokenizer.error().message);
  tokenizer_ = std::make_shared<LongContext>(*std::move(tokenizer));
}

int32_t BenchTokenizer::end_id() const {
  const std::vector<int32_t> ids =
      tokenizer_->encode("<|im_end|>", true, llm::SpecialTokens::kNone);
  if (ids.size() != 1) throw std::runtime_error("the model has no <|im_end|>: take a ChatML model");
  return ids.front();
}

double BenchTokenizer::tokens_per_word() const {
  constexpr int kWords = 4000;
  Random random(1);
  std::string text;
  for (int i = 0; i < kWords; ++i) {
    text += ' ';
    text += sim_upstream::answer_word(random.next());
  }
  const auto ids = tokenizer_->encode(text, false, llm::SpecialTokens::kNone);
  return static_cast<double>(ids.size()) / kWords;
}

// A dispatcher and an upstream for each name.
class SessionHost::NamedModels final : public dispatch::Models {
 public:
  NamedModels(const std::vector<HostModel>& models, http::Client& client, const Clock& clock) {
    for (const HostModel& model : models) {
      upstream::UpstreamOptions options;
      options.base = upstream::with_version({.host = "127.0.0.1", .port = model.port});
      options.in_flight = kInFlightMax;
      Upstream& upstream = upstreams_[model.name];
      upstream.backend =
          std::make_unique<upstream::UpstreamBackend>(client, clock, std::move(options));
      dispatch::DispatchOptions dispatch;
      dispatch.in_flight_max = kInFlightMax;
      dispatch.waiting_max = kInFlightMax;
      upstream.dispatcher =
          std::make_unique<dispatch::Dispatcher>(*upstream.backend, std::move(dispatch));
    }
  }

  std::variant<dispatch::Model, llm::Failure> find(llm::Endpoint /*endpoint*/,
                                                   std::string_view name) override {
    const auto found = upstreams_.find(name);
    if (found == upstreams_.end())
      return llm::Failure{.status = 404, .code = "model_not_found", .message = "no such model"};
    return dispatch::Model{
        .name = found->first, .dispatcher = found->second.dispatcher.get(), .raw = true};
  }
  uint64_t upstreams_of(std::string_view /*name*/) override { return 0; }

 private:
  struct Upstream {
    std::unique_ptr<upstream::UpstreamBackend> backend;
    std::unique_ptr<dispatch::Dispatcher> dispatcher;
  };
  std::map<std::string, Upstream, std::less<>> upstreams_;
};

SessionHost::SessionHost(const std::vector<HostModel>& models,
                         std::shared_ptr<const llm::Tokenizer> tokenizer, const Options& options)
    : models_(std::make_unique<NamedModels>(models, client_, clock_)) {
  session::SessionOptions sessions;
  sessions.limits.sessions_max = 100'000;
  sessions.limits.session_bytes_max = size_t{1} << 40;
  sessions.limits.bytes_max = size_t{1} << 40;
  sessions.limits.body_bytes_max = size_t{1} << 30;
  sessions.limits.reply_bytes_max = size_t{1} << 40;
  sessions.defaults.routed_experts = options.layers > 0;
  sessions.defaults.routed_layers = options.layers;
  sessions.defaults.asks_new_rows = options.asks_new_rows;
  service_ = std::make_unique<session::SessionService>(clock_, sessions, std::string(32, 's'));

  session::DispatchedSessionModelsOptions asking;
  asking.kind_of = [kind = options.kind](std::string_view) { return kind; };
  asking.tokenizer_of =
      [tokenizer](std::string_view) -> Result<std::shared_ptr<const llm::Tokenizer>> {
    return tokenizer;
  };
  asking.reply_bytes_max = sessions.limits.reply_bytes_max;
  session_models_ =
      std::make_unique<session::DispatchedSessionModels>(*models_, clock_, std::move(asking));
  service_->start(*session_models_);

  api::ApiOptions api;
  api.parts = {api::session_part(service_.get())};
  auto server = api::ApiServer::open(api_loop_, clock_, registry_, std::move(api));
  if (!server) throw std::runtime_error(server.error().message);
  server_ = *std::move(server);
  registry_.set_state(api::ServeState::kReady);
}

SessionHost::~SessionHost() {
  service_->stop();
  server_->stop(Duration{});
}

CpuSeconds SessionHost::cpu_of_reader() {
  CpuSeconds cpu;
  upstream_loop_.run([&] { cpu = cpu_of_thread(); });
  return cpu;
}

}  // namespace windrow::session_bench
