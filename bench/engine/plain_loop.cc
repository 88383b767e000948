#include "engine/plain_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace windrow::bench {

namespace {

constexpr int kBatchTokens = 512;  // what libllama computes in one go by default
constexpr int kSequencesMax = 256;

}  // namespace

PlainLoop::PlainLoop(llama_model* model, const Shape& shape, const PlainLoopOptions& options)
    : shape_(shape), options_(options) {
  // A wave of rows in the order of their groups has no more prefixes than rows.
  const int prefixes = shape.shared_tokens > 0 ? std::min(shape.groups, options.at_once) : 0;
  if (options.at_once + prefixes > kSequencesMax) {
    throw std::runtime_error(fmt::format("the plain loop needs {} sequences of libllama's {}",
                                         options.at_once + prefixes, kSequencesMax));
  }
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(options.cells);
  params.n_batch = 2048;
  params.n_ubatch = kBatchTokens;
  params.n_seq_max = static_cast<uint32_t>(options.at_once + prefixes);
  params.kv_unified = true;
  params.n_threads = params.n_threads_batch = options.threads;
#if WINDROW_HAVE_N_OUTPUTS_MAX
  params.n_outputs_max = params.n_seq_max;  // libllama dies of fewer
#endif
  context_.reset(llama_init_from_model(model, params));
  if (context_ == nullptr) throw std::runtime_error("libllama makes no context");
  vocabulary_size_ = llama_vocab_n_tokens(llama_model_get_vocab(model));
  batch_ = llama_batch_init(kBatchTokens, 0, 1);
  for (int i = 0; i < prefixes; ++i)
    free_sequences_.insert(options.at_once + i);
}

PlainLoop::~PlainLoop() {
  llama_batch_free(batch_);
}

PlainWork PlainLoop::run(const std::vector<Row>& rows) {
  std::vector<const Row*> sorted;
  sorted.reserve(rows.size());
  for (const Row& row : rows)
    sorted.push_back(&row);
  // Within a group they stay in the order of the list.
  std::sort(sorted.begin(), sorted.end(), [](const Row* a, const Row* b) {
    return std::pair(a->group, a) < std::pair(b->group, b);
  });
  work_ = {};
  const auto at_once = static_cast<size_t>(options_.at_once);
  for (size_t first = 0; first < sorted.size(); first += at_once) {
    wave(std::span(sorted).subspan(first, std::min(at_once, sorted.size() - first)));
  }
  return work_;
}

void PlainLoop::wave(std::span<const Row* const> rows) {
  const int count = static_cast<int>(rows.size());
  last_.assign(rows.size(), 0);
  if (shape_.shared_tokens > 0) bring_prefixes(rows);
  for (int i = 0; i < count; ++i) {
    const Row& row = *rows[static_cast<size_t>(i)];
    for (int position = shape_.shared_tokens; position < shape_.prompt_tokens(); ++position) {
      add(row.prompt[static_cast<size_t>(position)], position, i,
          position + 1 == shape_.prompt_tokens());
    }
  }
  flush();
  work_.prefilled_tokens += int64_t{count} * shape_.own_tokens;
  for (int token = 1; token < shape_.answer_tokens; ++token) {
    for (int i = 0; i < count; ++i)
      add(last_[static_cast<size_t>(i)], shape_.prompt_tokens() + token - 1, i, true);
    flush();
  }
  work_.generated_tokens += int64_t{count} * shape_.answer_tokens;
  for (int i = 0; i < count; ++i)
    llama_memory_seq_rm(llama_get_memory(context_.get()), i, -1, -1);
}

// Drops the prefixes that no row of the wave has, computes those that are lacking, all in one go,
// and gives each row its own.
void PlainLoop::bring_prefixes(std::span<const Row* const> rows) {
  llama_memory_t memory = llama_get_memory(context_.get());
  std::map<int, const Row*> wanted;
  for (const Row* row : rows)
    wanted.emplace(row->group, row);
  for (auto it = prefixes_.begin(); it != prefixes_.end();) {
    if (wanted.contains(it->first)) {
      ++it;
      continue;
    }
    llama_memory_seq_rm(memory, it->second, -1, -1);
    free_sequences_.insert(it->second);
    it = prefixes_.erase(it);
  }
  for (const auto& [group, row] : wanted) {
    if (prefixes_.contains(group)) continue;
    const int sequence = free_sequences_.extract(free_sequences_.begin()).value();
    prefixes_.emplace(group, sequence);
    for (int position = 0; position < shape_.shared_tokens; ++position)
      add(row->prompt[static_cast<size_t>(position)], position, sequence, false);
    work_.prefilled_tokens += shape_.shared_tokens;
  }
  flush();
  for (size_t i = 0; i < rows.size(); ++i) {
    llama_memory_seq_cp(memory, prefixes_.at(rows[i]->group), static_cast<int>(i), 0,
                        shape_.shared_tokens);
  }
}

void PlainLoop::add(engine::Token token, int position, int sequence, bool logits) {
  if (batch_.n_tokens == kBatchTokens) flush();
  const int i = batch_.n_tokens++;
  batch_.token[i] = token;
  batch_.pos[i] = position;
  batch_.n_seq_id[i] = 1;
  batch_.seq_id[i][0] = sequence;
  batch_.logits[i] = logits ? 1 : 0;
}

void PlainLoop::flush() {
  if (batch_.n_tokens == 0) return;
  const int code = llama_decode(context_.get(), batch_);
  if (code != 0) throw std::runtime_error(fmt::format("llama_decode failed with {}", code));
  for (int i = 0; i < batch_.n_tokens; ++i) {
    if (batch_.logits[i] != 0) last_[static_cast<size_t>(batch_.seq_id[i][0])] = greedy(i);
  }
  batch_.n_tokens = 0;
}

engine::Token PlainLoop::greedy(int index) const {
  const float* logits = llama_get_logits_ith(context_.get(), index);
  return static_cast<engine::Token>(std::max_element(logits, logits + vocabulary_size_) - logits);
}

}  // namespace windrow::bench
