// Memory banks through the published client of Hindsight: its own verbs, and its generated functions
// for what it has no verb for. What its members must be is restated here from the published types.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import {
  createClient, createConfig, HindsightClient, HindsightError, sdk,
} from '@vectorize-io/hindsight-client';

import { Server } from './server.mjs';

const folder = mkdtempSync(join(tmpdir(), 'windrow-hindsight-'));
let server;
let client;
let raw;

before(async () => {
  server = await Server.start([
    '--model', 'sim=sim:instant,answer-tokens=8',
    '--model', `embed=${process.env.WINDROW_MODELS}/windrow-embed.gguf`,
    '--memory-set', 'retain_extraction_mode=verbatim',
    '--memory-set', 'enable_auto_consolidation=false',
    '--data-dir', join(folder, 'data')]);
  client = new HindsightClient({ baseUrl: server.url });
  raw = createClient(createConfig({ baseUrl: server.url }));
});
after(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

let banks = 0;
const newBank = () => `test_bank_${process.pid}_${banks++}`;

// --- what members are ---

const text = (value) => typeof value === 'string';
const count = (value) => Number.isInteger(value) && value >= 0;
const number = (value) => typeof value === 'number';
const flag = (value) => typeof value === 'boolean';
const time = (value) => text(value) && /^\d{4}-\d\d-\d\dT[\d:.]+\+00:00$/.test(value);
const uuid = (value) => text(value) && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
const texts = (value) => Array.isArray(value) && value.every(text);
const object = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const orNull = (is) => (value) => value === null || is(value);
const maybe = (is) => (value) => value === undefined || orNull(is)(value);
const each = (shape) => (value) => Array.isArray(value) && value.every((one) => has(one, shape));
const map = (is) => (value) => object(value) && Object.values(value).every(is);
const like = (shape) => (value) => has(value, shape);

// Whether each member is as its shape says, and there are no others.
function has(value, shape) {
  assert.ok(object(value), JSON.stringify(value));
  for (const [name, is] of Object.entries(shape))
    assert.ok(is(value[name]), `${name} of ${JSON.stringify(value)}`);
  for (const name of Object.keys(value)) assert.ok(name in shape, `${name} is not published`);
  return true;
}

const usage = like({ input_tokens: count, output_tokens: count, total_tokens: count,
                     cached_tokens: count, thoughts_tokens: count });
const retained = { success: flag, bank_id: text, items_count: count, async: flag,
                   operation_id: maybe(uuid), usage: maybe(usage) };
const disposition = like({ skepticism: count, literalism: count, empathy: count });
const profile = { bank_id: text, name: text, disposition, mission: text, background: maybe(text) };
const scores = like({ final: number, semantic: maybe(number), keyword: maybe(number) });
const recalled = {
  id: uuid, text, type: text, entities: maybe(texts), context: maybe(text),
  occurred_start: maybe(time), occurred_end: maybe(time), mentioned_at: maybe(time),
  document_id: maybe(text), metadata: maybe(map(text)), chunk_id: maybe(text), tags: texts,
  source_fact_ids: maybe(texts), scores,
};
const recall = {
  results: each(recalled), trace: maybe(object), chunks: maybe(object), source_facts: maybe(object),
  source_facts_truncated: maybe(flag),
  entities: maybe(map(like({ entity_id: uuid, canonical_name: text, observations: each({}) }))),
};
const listed = {
  id: uuid, text, context: text, date: text, fact_type: text, document_id: orNull(text),
  mentioned_at: orNull(time), occurred_start: orNull(time), occurred_end: orNull(time),
  entities: text, chunk_id: orNull(text), proof_count: count, tags: texts, metadata: map(text),
  consolidated_at: orNull(time), consolidation_failed_at: orNull(time), state: text,
  invalidation_reason: orNull(text), invalidated_at: orNull(time), edited_at: orNull(time),
  updated_at: orNull(time), source_memory_ids: texts,
};
const page = (shape) => ({ items: each(shape), total: count, limit: count, offset: count });
const operation = {
  id: uuid, task_type: text, items_count: count, created_at: time, updated_at: maybe(time),
  status: text, error_message: orNull(text), retry_count: count, next_retry_at: orNull(time),
  progress: maybe(object),
};
const done = { success: flag, message: text, operation_id: uuid };
const deleted = { success: flag, message: maybe(text), deleted_count: maybe(count) };

// The data of a generated function, which must have worked.
async function got(promise) {
  const { data, error } = await promise;
  assert.equal(error, undefined, JSON.stringify(error));
  return data;
}
const at = (bank, more = {}) => ({ client: raw, path: { bank_id: bank, ...more } });

async function refused(promise, status, pattern) {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof HindsightError);
    assert.equal(error.statusCode, status);
    assert.match(JSON.stringify(error.details), pattern);
    return true;
  });
}

async function ended(bank, id) {
  for (;;) {
    const now = await got(sdk.getOperationStatus(at(bank, { operation_id: id })));
    if (!['pending', 'processing'].includes(now.status)) return now;
    await new Promise((resume) => setTimeout(resume, 5));
  }
}

// --- what Hindsight's own tests of this client ask ---

test('one memory is retained', async () => {
  const reply = await client.retain(newBank(), 'Alice loves artificial intelligence');
  has(reply, retained);
  assert.equal(reply.success, true);
  assert.equal(reply.items_count, 1);
  assert.equal(reply.async, false);
});

test('a memory has a context and a time', async () => {
  const bank = newBank();
  const timestamp = new Date('2024-01-15T10:30:00Z');
  await client.retain(bank, 'Bob went hiking', { context: 'outdoor activities', timestamp });
  const { items } = await client.listMemories(bank);
  assert.equal(items[0].context, 'outdoor activities');
  assert.equal(items[0].mentioned_at, '2024-01-15T10:30:00+00:00');
});

test('memories come in batches', async () => {
  const reply = await client.retainBatch(newBank(), [
    { content: 'Charlie enjoys reading' },
    { content: 'Diana learns the guitar', context: 'hobbies' },
    { content: 'Eve completed a marathon', timestamp: '2024-10-15' }]);
  assert.equal(reply.items_count, 3);
});

test('recall finds by words, with limits and by type', async () => {
  const bank = newBank();
  await client.retainBatch(bank, [
    { content: 'Alice loves programming in Python' },
    { content: 'Bob enjoys hiking and outdoor adventures' },
    { content: 'Charlie is interested in quantum physics' },
    { content: 'Diana plays the violin beautifully' }]);
  const found = await client.recall(bank, 'What does Alice like?');
  has(found, recall);
  assert.match(found.results[0].text, /Alice/);
  has(await client.recall(bank, 'outdoor activities', { maxTokens: 1024 }), recall);
  const typed = await client.recall(bank, "What are people's hobbies?",
                                    { types: ['world'], maxTokens: 2048, trace: true });
  has(typed, recall);
  assert.ok(object(typed.trace));
  assert.deepEqual((await client.recall(bank, 'Alice', { types: ['experience'] })).results, []);
});

test('reflect answers', async () => {
  const bank = newBank();
  await client.createBank(bank, { background: 'I help with technology.' });
  await client.retainBatch(bank, [{ content: 'Python is great for data science' }]);
  for (const more of [{}, { context: 'I start a career in data science' }]) {
    const reply = await client.reflect(bank, 'Should I learn Python?', more);
    has(reply, { text, usage });
    assert.ok(reply.text.length > 0);
  }
});

test('memories are listed in pages', async () => {
  const bank = newBank();
  await client.retainBatch(bank, [0, 1, 2, 3, 4].map(
      (i) => ({ content: `Alice likes topic number ${i}` })));
  const all = await client.listMemories(bank);
  has(all, page(listed));
  assert.equal(all.total, 5);
  const two = await client.listMemories(bank, { limit: 2, offset: 4 });
  assert.equal(two.items.length, 1);
  assert.equal(two.limit, 2);
});

test('a bank has a name, a mission and a configuration', async () => {
  const bank = newBank();
  const background = 'I am a helpful assistant for testing.';
  has(await client.createBank(bank, { name: 'Test Agent', background }), profile);
  const known = await client.getBankProfile(bank);
  assert.equal(known.name, 'Test Agent');
  assert.equal(known.background, background);
  assert.equal((await client.setMission(bank, 'I answer.')).mission, 'I answer.');
  const config = await client.updateBankConfig(bank, {
    retainMission: 'only facts', enableObservations: false });
  has(config, { bank_id: text, config: object, overrides: object });
  assert.equal(config.config.retain_mission, 'only facts');
  assert.equal(config.overrides.enable_observations, false);
  assert.deepEqual((await client.resetBankConfig(bank)).overrides, {});
  await refused(client.updateBankConfig(bank, { retainCustomInstructions: 'x' }), 400,
                /retain_custom_instructions/);
  const list = await got(sdk.listBanks({ client: raw }));
  assert.ok(list.banks.some(({ bank_id }) => bank_id === bank));
});

test('statistics count', async () => {
  const bank = newBank();
  await client.retainBatch(bank, [{ content: 'Alice likes Python' }, { content: 'Bob hikes' }]);
  const stats = await got(sdk.getAgentStats(at(bank)));
  has(stats, {
    bank_id: text, total_nodes: count, total_links: count, total_documents: count,
    nodes_by_fact_type: map(count), links_by_link_type: object, links_by_fact_type: object,
    links_breakdown: object, pending_operations: count, failed_operations: count,
    operations_by_status: map(count), last_consolidated_at: maybe(time),
    pending_consolidation: count, failed_consolidation: count, total_observations: count });
  assert.equal(stats.total_nodes, 2);
  assert.equal(stats.pending_consolidation, 2);
});

test('documents keep their text', async () => {
  const bank = newBank();
  const id = 'reports/2024 №1';
  await client.retain(bank, 'Test document content', { documentId: id, tags: ['x'] });
  const document = await client.getDocument(bank, id);
  assert.equal(document.id, id);
  assert.match(document.original_text, /Test document content/);
  assert.equal((await client.listDocuments(bank)).total, 1);
  assert.equal((await client.updateDocument(bank, id, { tags: ['y'] })).success, true);
  assert.deepEqual((await client.listMemories(bank)).items[0].tags, ['y']);
  has(await got(sdk.deleteDocument(at(bank, { document_id: id }))),
      { success: flag, message: text, document_id: text, memory_units_deleted: count });
  assert.equal(await client.getDocument(bank, id), null);
});

test('entities are listed', async () => {
  const bank = newBank();
  await client.retain(bank, 'Alice works at Google', { entities: [{ text: 'Alice' }] });
  const list = await got(sdk.listEntities(at(bank)));
  assert.equal(list.items[0].canonical_name, 'Alice');
  const one = await got(sdk.getEntity(at(bank, { entity_id: list.items[0].id })));
  assert.equal(one.id, list.items[0].id);

  const includes = async (includeEntities) =>
      (await client.recall(bank, 'Where does Alice work?', { includeEntities })).entities;
  assert.ok(object(await includes(undefined)));
  assert.equal(await includes(false), undefined);
  assert.ok(object(await includes(true)));
});

test('a deleted bank is empty', async () => {
  const bank = newBank();
  await client.createBank(bank, { name: 'n' });
  await client.retain(bank, 'Alice likes tea');
  has(await got(sdk.deleteBank(at(bank))), deleted);
  await client.deleteBank(bank);
  assert.equal((await client.listMemories(bank)).total, 0);
});

// --- what it has no verb for ---

test('operations run, are listed, and are ended or done again', async () => {
  const bank = newBank();
  const operationId = '5c1f0000-0000-4000-8000-000000000001';
  const queue = () => client.retain(bank, 'Alice likes tea', { async: true, operationId });
  const reply = await queue();
  has(reply, retained);
  assert.equal(reply.operation_id, operationId);
  assert.equal((await queue()).operation_id, operationId);
  const state = await ended(bank, operationId);
  has(state, {
    operation_id: uuid, status: text, operation_type: text, created_at: time, updated_at: time,
    completed_at: maybe(time), error_message: maybe(text), retry_count: count,
    next_retry_at: maybe(time), progress: maybe(object), result_metadata: maybe(object) });
  assert.equal(state.status, 'completed');
  assert.equal((await client.listMemories(bank)).total, 1);

  const list = await got(sdk.listOperations(at(bank)));
  has(list, { bank_id: text, total: count, limit: count, offset: count,
              operations: each(operation) });
  assert.equal(list.operations[0].id, operationId);
  const cancelled = await sdk.cancelOperation(at(bank, { operation_id: operationId }));
  assert.equal(cancelled.response.status, 409);
  assert.ok(text(cancelled.error.detail));
  has(await got(sdk.deleteOperation(at(bank, { operation_id: operationId }))), done);
  const gone = await sdk.retryOperation(at(bank, { operation_id: operationId }));
  assert.equal(gone.response.status, 404);
});

test('a memory is edited, retired and brought back', async () => {
  const bank = newBank();
  await client.retain(bank, 'Alice likes tea', { tags: ['user:alice', 'drinks'] });
  const { items: [{ id }] } = await client.listMemories(bank);
  const edit = (body) => got(sdk.updateMemory({ ...at(bank, { memory_id: id }), body }));
  assert.equal((await edit({ text: 'Alice likes coffee' })).text, 'Alice likes coffee');
  assert.equal((await edit({ state: 'invalidated', reason: 'wrong' })).state, 'invalidated');
  assert.deepEqual((await client.recall(bank, 'coffee')).results, []);
  await edit({ state: 'valid' });
  assert.equal((await client.recall(bank, 'coffee')).results.length, 1);
  assert.equal((await got(sdk.getMemory(at(bank, { memory_id: id })))).id, id);
  assert.deepEqual(await got(sdk.getObservationHistory(at(bank, { memory_id: id }))), []);
  const tags = await got(sdk.listTags({ ...at(bank), query: { q: 'USER:*' } }));
  has(tags, page({ tag: text, count }));
  assert.deepEqual(tags.items, [{ tag: 'user:alice', count: 1 }]);
});

test('a consolidation takes all facts', async () => {
  const bank = newBank();
  await client.retainBatch(bank, [{ content: 'Alice likes tea', tags: ['a'] },
                                  { content: 'Bob likes coffee', tags: ['b'] }]);
  const queued = await got(sdk.triggerConsolidation(at(bank)));
  has(queued, { operation_id: uuid, deduplicated: flag });
  const state = await ended(bank, queued.operation_id);
  assert.equal(state.operation_type, 'consolidation');
  assert.ok(['completed', 'failed'].includes(state.status), JSON.stringify(state));
  const stats = await got(sdk.getAgentStats(at(bank)));
  const recovered = await got(sdk.recoverConsolidation(at(bank)));
  has(recovered, { retried_count: count });
  assert.equal(recovered.retried_count, stats.failed_consolidation);
  const scopes = await got(sdk.listObservationScopes(at(bank)));
  has(scopes, { scopes: each({ tags: texts, count }) });
  has(await got(sdk.clearObservations(at(bank))), deleted);
  has(await got(sdk.clearBankMemories(at(bank))), deleted);
  assert.equal((await client.listMemories(bank)).total, 0);
});

test('the version and what is not there', async () => {
  const { api_version, features } = await client.getVersion();
  assert.equal(api_version, '0.9.1');
  assert.equal(Object.keys(features).length, 11);
  assert.ok(Object.values(features).every(flag));
  await refused(client.listMentalModels(newBank()), 501, /mental models are not there/);
  await refused(client.createDirective(newBank(), 'n', 'c'), 501, /reflect_mission/);
});

test('errors say where and why', async () => {
  const bank = newBank();
  await refused(client.retain(bank, ' '), 422, /items.*content cannot be empty/);
  await refused(client.retain(bank, 'a', { tags: [7] }), 422, /must be a string/);
  await refused(client.recall(bank, '?!'), 422, /query/);
  await refused(client.retain('x'.repeat(193), 'a'), 422, /192/);
  await refused(client.getBankProfile(bank), 404, new RegExp(bank));
});
