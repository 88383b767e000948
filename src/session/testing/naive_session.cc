#include "session/testing/naive_session.h"

#include <algorithm>
#include <set>
#include <utility>

namespace windrow::session::testing {
namespace {

SampleStatus status_of(const std::string& finish_reason) {
  if (finish_reason == "stop" || finish_reason == "tool_calls") return SampleStatus::kCompleted;
  if (finish_reason == "length") return SampleStatus::kTruncated;
  if (finish_reason == "abort") return SampleStatus::kAborted;
  return SampleStatus::kPending;
}

// The sample of one record, with all that its conversation has.
NaiveSample sample_of(const NaiveTurn& turn) {
  NaiveSample sample{.tokens = turn.tokens,
                     .sampled_by = std::vector<uint64_t>(turn.logprobs.size(), turn.id),
                     .mask = {},
                     .logprobs = turn.logprobs,
                     .rows = {},
                     .status = status_of(turn.finish_reason),
                     .weight_versions = {},
                     .cached_tokens = turn.figures.cached_tokens,
                     .prompt_tokens = turn.figures.prompt_tokens,
                     .last_turn = turn.id};
  if (!turn.figures.weight_version.empty())
    sample.weight_versions.push_back(turn.figures.weight_version);
  for (size_t kind = 0; kind < kRowKinds; ++kind)
    if (turn.rows[kind]) sample.rows[kind] = turn.first_rows[kind];
  return sample;
}

// Removes the last tokens, which are sampled, and what belongs to them.
void strip(NaiveSample& sample, size_t tokens) {
  sample.tokens.resize(sample.tokens.size() - tokens);
  sample.sampled_by.resize(sample.sampled_by.size() - tokens);
  sample.logprobs.resize(sample.logprobs.size() - tokens);
  for (auto& rows : sample.rows)
    if (rows) rows->resize(rows->size() - tokens);
}

// Removes the tokens at the end of the answer that the conversation does not have there: a template
// may write the end of an answer otherwise.
void trim(NaiveSample& sample, const std::vector<int32_t>& conversation) {
  const size_t begin = sample.tokens.size() - sample.sampled_by.size();
  size_t matching = begin;
  while (matching < sample.tokens.size() && matching < conversation.size() &&
         sample.tokens[matching] == conversation[matching])
    ++matching;
  strip(sample, sample.tokens.size() - matching);
}

// `next` with the response of `all` before its own, and zeros where its prompt is new.
NaiveSample merged(NaiveSample all, NaiveSample next) {
  const size_t response = next.tokens.size() - (all.tokens.size() - all.sampled_by.size());
  all.sampled_by.resize(response - next.sampled_by.size());
  all.sampled_by.insert(all.sampled_by.end(), next.sampled_by.begin(), next.sampled_by.end());
  all.logprobs.resize(response - next.logprobs.size());
  all.logprobs.insert(all.logprobs.end(), next.logprobs.begin(), next.logprobs.end());
  all.weight_versions.insert(all.weight_versions.end(), next.weight_versions.begin(),
                             next.weight_versions.end());
  next.sampled_by = std::move(all.sampled_by);
  next.logprobs = std::move(all.logprobs);
  next.weight_versions = std::move(all.weight_versions);
  next.cached_tokens += all.cached_tokens;
  next.prompt_tokens += all.prompt_tokens;
  return next;
}

bool lacks_rows_of(const NaiveSample& next, const NaiveSample& before) {
  for (size_t kind = 0; kind < kRowKinds; ++kind)
    if (before.rows[kind] && !next.rows[kind]) return true;
  return false;
}

}  // namespace

NaiveAttachment NaiveSession::attach(const std::vector<std::string>& request) const {
  NaiveAttachment found =
      options_.kind == HistoryKind::kLinear ? attach_linear(request) : attach_tree(request);
  const size_t turns =
      options_.kind == HistoryKind::kLinear ? turns_.size() - found.left_out : turns_.size();
  if (found.refused == 0 && turns >= options_.turns_max) found.refused = 409;
  found.commits = commits_;
  return found;
}

// The reference counts the stored messages that the request begins with, and looks for the last
// answer among them.
NaiveAttachment NaiveSession::attach_linear(const std::vector<std::string>& request) const {
  NaiveAttachment found;
  if (turns_.empty()) return found;
  const std::vector<std::string>& stored = turns_.rbegin()->second.messages;
  size_t matching = 0;
  while (matching < stored.size() && matching < request.size() &&
         stored[matching] == request[matching])
    ++matching;
  found.left_out = turns_.size();
  for (const auto& [id, turn] : turns_) {
    if (turn.messages.size() > matching) break;
    found.parent = id;
    found.parent_messages = turn.messages.size();
    --found.left_out;
  }
  if (found.left_out > options_.rollback_turns) found.refused = 400;
  return found;
}

NaiveAttachment NaiveSession::attach_tree(const std::vector<std::string>& request) const {
  NaiveAttachment found;
  for (const auto& [id, turn] : turns_) {
    const std::vector<std::string>& messages = turn.messages;
    if (messages.size() > request.size() || messages.size() < found.parent_messages) continue;
    if (!std::equal(messages.begin(), messages.end(), request.begin())) continue;
    found.parent = id;
    found.parent_messages = messages.size();
  }
  if (found.parent != 0 && turns_.at(found.parent).finish_reason == "length") found.refused = 409;
  return found;
}

bool NaiveSession::commit(const NaiveAttachment& attachment, NaiveTurn turn) {
  if (options_.kind == HistoryKind::kLinear) {
    if (attachment.commits != commits_) return false;
    if (attachment.left_out > 0) ++rollbacks_;
    turns_.erase(turns_.upper_bound(attachment.parent), turns_.end());
  }
  turn.id = next_id_++;
  turn.parent = attachment.parent;
  for (size_t kind = 0; kind < kRowKinds; ++kind) {
    NaiveRows& rows = turn.first_rows[kind];
    if (turn.parent != 0) rows = turns_.at(turn.parent).first_rows[kind];
    if (turn.rows[kind])
      for (size_t row = rows.size(); row < turn.rows[kind]->size(); ++row)
        rows.push_back(turn.rows[kind]->at(row));
  }
  ++commits_;
  turns_.emplace(turn.id, std::move(turn));
  return true;
}

std::vector<uint64_t> NaiveSession::leaves() const {
  std::set<uint64_t> parents;
  for (const auto& [id, turn] : turns_)
    parents.insert(turn.parent);
  std::vector<uint64_t> leaves;
  for (const auto& [id, turn] : turns_)
    if (!parents.contains(id)) leaves.push_back(id);
  return leaves;
}

std::vector<uint64_t> NaiveSession::path(uint64_t leaf) const {
  std::vector<uint64_t> path;
  for (uint64_t id = leaf; id != 0; id = turns_.at(id).parent)
    path.push_back(id);
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<NaiveSample> NaiveSession::samples(const std::vector<uint64_t>& leaves,
                                               const SampleRules& rules) const {
  std::map<uint64_t, uint64_t> trained_in;  // of a turn: the first leaf that has it
  for (const uint64_t leaf : leaves)
    for (const uint64_t turn : path(leaf)) {
      uint64_t& first = trained_in.try_emplace(turn, leaf).first->second;
      first = std::min(first, leaf);
    }
  std::vector<NaiveSample> result;
  for (const uint64_t leaf : leaves)
    for (NaiveSample& sample : samples_of(leaf, rules)) {
      if (rules.turns_apart && trained_in.at(sample.last_turn) != leaf) continue;
      for (const uint64_t turn : sample.sampled_by)
        sample.mask += turn != 0 && trained_in.at(turn) == leaf ? '\1' : '\0';
      result.push_back(std::move(sample));
    }
  return result;
}

std::vector<NaiveSample> NaiveSession::samples_of(uint64_t leaf, const SampleRules& rules) const {
  std::vector<NaiveSample> samples;
  for (const uint64_t id : path(leaf)) {
    samples.push_back(sample_of(turns_.at(id)));
    if (id != leaf) trim(samples.back(), turns_.at(leaf).tokens);
  }
  for (size_t i = 0; rules.tokens_max && i < samples.size(); ++i) {
    if (samples[i].tokens.size() <= *rules.tokens_max) continue;
    const size_t excess = samples[i].tokens.size() - *rules.tokens_max;
    const bool fits = excess < samples[i].sampled_by.size();
    samples.resize(fits ? i + 1 : i);
    if (!fits) break;
    strip(samples[i], excess);
    samples[i].status = SampleStatus::kTruncated;
  }
  if (rules.turns_apart || samples.empty()) return samples;
  NaiveSample all = samples.front();
  for (size_t i = 1; i < samples.size(); ++i) {
    if (all.status != SampleStatus::kCompleted || lacks_rows_of(samples[i], all)) break;
    all = merged(std::move(all), samples[i]);
  }
  return {all};
}

}  // namespace windrow::session::testing
