// Files and batches through the official openai package.
import assert from 'node:assert/strict';
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import Ajv2020 from 'ajv/dist/2020.js';
import OpenAI, { toFile } from 'openai';

import { models, Server } from './server.mjs';

const folder = mkdtempSync(join(tmpdir(), 'windrow-clients-'));
let server;
let client;

before(async () => {
  server = await Server.start([
    '--model', 'sim=sim:instant,answer-tokens=8', '--model', 'slow=sim:step-us=20000',
    '--model', `chat=${models}/qwen3-f32.gguf`, '--model', `embed=${models}/bert-f32.gguf`,
    '--data-dir', join(folder, 'data')]);
  client = new OpenAI({ apiKey: 'none', baseURL: `${server.url}/v1`, maxRetries: 0 });
});
after(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const chat = (i, more = {}) => ({
  custom_id: `row-${i}`, method: 'POST', url: '/v1/chat/completions',
  body: { model: 'sim', max_tokens: 4, messages: [{ role: 'user', content: `Row ${i}` }], ...more },
});
const lines = (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

async function upload(rows, name = 'rows.jsonl') {
  return client.files.create({ purpose: 'batch', file: await toFile(Buffer.from(lines(rows)), name) });
}

async function begin(rows, more = {}) {
  const file = await upload(rows);
  return client.batches.create({ input_file_id: file.id, endpoint: rows[0].url,
                                 completion_window: '24h', ...more });
}

// Asks until the batch is as wanted; the runner of the tests ends one that never is.
async function until(batch, wanted) {
  for (;;) {
    const now = await client.batches.retrieve(batch.id);
    if (wanted(now)) return now;
    await new Promise((resume) => setTimeout(resume, 5));
  }
}
const ended = ({ status }) => ['completed', 'failed', 'cancelled', 'expired'].includes(status);

async function rowsOf(fileId) {
  const text = await (await client.files.content(fileId)).text();
  return text.trim().split('\n').map((line) => JSON.parse(line));
}

test('a file goes up as a stream and comes back as it was', async () => {
  const path = join(folder, 'up.jsonl');
  const bytes = lines(Array.from({ length: 3000 }, (_, i) => chat(i)));
  writeFileSync(path, bytes);
  const file = await client.files.create({ purpose: 'batch', file: createReadStream(path) });
  assert.equal(file.object, 'file');
  assert.equal(file.bytes, Buffer.byteLength(bytes));
  assert.equal(file.filename, 'up.jsonl');
  assert.equal(file.purpose, 'batch');
  assert.deepEqual(await client.files.retrieve(file.id), file);
  assert.deepEqual(await client.files.waitForProcessing(file.id, { pollInterval: 1 }), file);
  const content = await client.files.content(file.id);
  assert.equal(await content.text(), bytes);
  assert.deepEqual(await client.files.delete(file.id),
      { id: file.id, object: 'file', deleted: true });
  await assert.rejects(client.files.retrieve(file.id), OpenAI.NotFoundError);
  await assert.rejects(client.files.content(file.id), OpenAI.NotFoundError);
});

test('lists come in pages that the client turns', async () => {
  const made = [];
  for (let i = 0; i < 5; ++i) made.push((await upload([chat(i)], `page-${i}.jsonl`)).id);
  const listed = [];
  const sizes = [];
  for await (const page of (await client.files.list({ limit: 2, purpose: 'batch' })).iterPages()) {
    sizes.push(page.data.length);
    listed.push(...page.data.map(({ id }) => id));
  }
  assert.deepEqual(listed.filter((id) => made.includes(id)), [...made].reverse());
  assert.equal(new Set(listed).size, listed.length);
  assert.ok(sizes.slice(0, -1).every((size) => size === 2), `${sizes}`);
  const upwards = [];
  for await (const file of client.files.list({ order: 'asc', limit: 3 })) upwards.push(file.id);
  assert.deepEqual(upwards, [...listed].reverse());
  await Promise.all(made.map((id) => client.files.delete(id)));
});

test('a batch from its file to its results', async () => {
  const rows = Array.from({ length: 40 }, (_, i) => chat(i));
  rows.push(chat('wrong', { temperature: 9 }));
  const batch = await begin(rows, { metadata: { job: 'night' } });
  assert.equal(batch.object, 'batch');
  assert.deepEqual(batch.metadata, { job: 'night' });
  const done = await until(batch, ended);
  assert.equal(done.status, 'completed');
  assert.deepEqual(done.request_counts, { total: 41, completed: 40, failed: 1 });
  assert.ok(done.usage.total_tokens > 0);
  assert.equal(done.usage.total_tokens, done.usage.input_tokens + done.usage.output_tokens);
  const results = await rowsOf(done.output_file_id);
  assert.deepEqual(new Set(results.map(({ custom_id }) => custom_id)),
      new Set(rows.slice(0, 40).map(({ custom_id }) => custom_id)));
  for (const { response } of results) {
    assert.equal(response.status_code, 200);
    assert.equal(response.body.object, 'chat.completion');
  }
  const [failed] = await rowsOf(done.error_file_id);
  assert.equal(failed.custom_id, 'row-wrong');
  assert.equal(failed.response.status_code, 400);
  assert.equal(failed.response.body.error.param, 'temperature');
  assert.equal((await client.files.retrieve(done.output_file_id)).purpose, 'batch_output');
  await assert.rejects(client.batches.cancel(batch.id),
      (error) => error.code === 'batch_not_cancellable');
});

test('rows are answered in the words of their url', async () => {
  const words = (url, body) => ({ custom_id: 'a', method: 'POST', url, body: { model: 'sim', ...body } });
  const messages = [{ role: 'user', content: 'Row' }];
  const bodies = [];
  for (const row of [words('/v1/responses', { input: 'Row', max_output_tokens: 4 }),
                     words('/v1/messages', { messages, max_tokens: 4 })]) {
    const done = await until(await begin([row]), ended);
    assert.equal(done.status, 'completed');
    assert.equal(done.endpoint, row.url);
    assert.ok(done.usage.output_tokens > 0);
    bodies.push((await rowsOf(done.output_file_id))[0].response.body);
  }
  assert.equal(bodies[0].object, 'response');
  assert.equal(bodies[0].store, false);
  assert.equal(bodies[1].type, 'message');
  const refused = await until(await begin(
      [words('/v1/responses', { input: 'Row', previous_response_id: 'resp_1' })]), ended);
  const [failed] = await rowsOf(refused.error_file_id);
  assert.equal(failed.response.body.error.param, 'previous_response_id');
});

test('real models answer batches as they answer requests', async () => {
  const body = { model: 'chat', temperature: 0, max_tokens: 6,
                 messages: [{ role: 'user', content: 'Name a colour' }] };
  const chats = await begin([{ ...chat(0), body }]);
  const input = ['one text', 'another'];
  const vectors = await begin([{ custom_id: 'v', method: 'POST', url: '/v1/embeddings',
                                 body: { model: 'embed', input } }]);
  const [answer] = await rowsOf((await until(chats, ended)).output_file_id);
  const direct = await client.chat.completions.create(body);
  assert.equal(answer.response.body.choices[0].message.content, direct.choices[0].message.content);
  const [embedded] = await rowsOf((await until(vectors, ended)).output_file_id);
  assert.equal(embedded.response.body.data.length, 2);
});

test('a faulty file fails with its lines', async () => {
  const file = await client.files.create({
    purpose: 'batch',
    file: await toFile(Buffer.from(`${lines([chat(0)])}no JSON\n${lines([chat(0)])}`), 'bad.jsonl'),
  });
  const batch = await client.batches.create({ input_file_id: file.id,
    endpoint: '/v1/chat/completions', completion_window: '24h' });
  const failed = await until(batch, ended);
  assert.equal(failed.status, 'failed');
  assert.deepEqual(failed.errors.data.map(({ code, line }) => [code, line]),
      [['invalid_json_line', 2], ['duplicate_custom_id', 3]]);
});

test('a batch is cancelled with what it has, and listed', async () => {
  const rows = Array.from({ length: 200 }, (_, i) => chat(i, { model: 'slow', max_tokens: 40 }));
  const batch = await begin(rows);
  await until(batch, ({ request_counts: { completed } }) => completed > 0);
  await assert.rejects(client.files.delete(batch.input_file_id),
      (error) => error instanceof OpenAI.BadRequestError && error.code === 'file_in_use');
  const cancelling = await client.batches.cancel(batch.id);
  assert.ok(['cancelling', 'cancelled'].includes(cancelling.status));
  const cancelled = await until(batch, ended);
  assert.equal(cancelled.status, 'cancelled');
  const { completed } = cancelled.request_counts;
  assert.ok(completed > 0 && completed < 200, `${completed} rows`);
  assert.equal((await rowsOf(cancelled.output_file_id)).length, completed);
  assert.deepEqual(await client.batches.cancel(batch.id), cancelled, 'said twice it is done once');
  const all = [];
  for await (const one of client.batches.list({ limit: 2 })) all.push(one.id);
  assert.equal(new Set(all).size, all.length);
  assert.equal(all[0], batch.id);
});

test('the same key makes one batch', async () => {
  const file = await upload([chat(0)]);
  const body = { input_file_id: file.id, endpoint: '/v1/chat/completions',
                 completion_window: '24h' };
  const options = { headers: { 'Idempotency-Key': 'once' } };
  const first = await client.batches.create(body, options);
  assert.equal((await client.batches.create(body, options)).id, first.id);
  await assert.rejects(client.batches.create({ ...body, metadata: { a: 'b' } }, options),
      (error) => error.code === 'idempotency_key_reused');
});

test('replies are what /openapi.json says of them', async () => {
  const document = JSON.parse((await server.get('/openapi.json')).text);
  const ajv = new Ajv2020({ strict: false, logger: false, validateFormats: false });
  ajv.addSchema(document, 'document');
  const judge = (name, body) => {
    const valid = ajv.compile({ $ref: `document#/components/schemas/${name}` });
    assert.ok(valid(body), `${name}: ${JSON.stringify(valid.errors)} in ${JSON.stringify(body)}`);
    for (const required of document.components.schemas[name].required) {
      const { [required]: _, ...rest } = body;
      assert.ok(!valid(rest), `${name} is taken without ${required}`);
    }
  };
  const ask = async (path, method = 'GET') =>
    (await fetch(`${server.url}${path}`, { method })).json();
  const file = await upload([chat(0)]);
  judge('File', file);
  const batch = await until(await begin([chat(1)]), ended);
  judge('Batch', batch);
  const files = await ask('/v1/files?limit=3');
  assert.equal(files.data.length, 3);
  judge('FileList', files);
  const batches = await ask('/v1/batches?limit=3');
  assert.ok(batches.data.length > 0);
  judge('BatchList', batches);
  judge('FileDeleted', await ask(`/v1/files/${file.id}`, 'DELETE'));
});

test('errors are the errors of the package', async () => {
  await assert.rejects(client.files.create(
      { purpose: 'fine-tune', file: await toFile(Buffer.from('{}'), 'a.jsonl') }),
  (error) => error instanceof OpenAI.BadRequestError && error.param === 'purpose');
  await assert.rejects(client.files.list({ limit: 0 }), OpenAI.BadRequestError);
  await assert.rejects(client.batches.retrieve('batch_none'), OpenAI.NotFoundError);
  await assert.rejects(client.batches.create({ input_file_id: 'file-none',
    endpoint: '/v1/chat/completions', completion_window: '24h' }), OpenAI.APIError);
});
