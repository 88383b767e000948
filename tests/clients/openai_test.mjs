// The server through the official openai package: what its users do with it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';

import { models, Server } from './server.mjs';

const words = ['--model', `chat=${models}/qwen3-f32.gguf`, '--model', `embed=${models}/bert-f32.gguf`,
               '--kv-type', 'f32', '--flash-attn', 'off'];
let server;
let client;

before(async () => {
  server = await Server.start(words);
  client = new OpenAI({ apiKey: 'none', baseURL: `${server.url}/v1`, maxRetries: 0 });
});
after(() => server?.stop());

const asked = (content) => [{ role: 'system', content: 'You are brief.' }, { role: 'user', content }];
const greedy = { model: 'chat', temperature: 0, max_completion_tokens: 24 };

test('models are listed and found', async () => {
  const names = [];
  for await (const model of client.models.list()) names.push(model.id);
  assert.deepEqual(names.slice(0, 2), ['chat', 'embed']);
  assert.equal((await client.models.retrieve('embed')).id, 'embed');
  await assert.rejects(client.models.retrieve('nobody'), OpenAI.NotFoundError);
});

test('a chat', async () => {
  const reply = await client.chat.completions.create({ ...greedy, messages: asked('Say something') });
  assert.equal(reply.object, 'chat.completion');
  assert.equal(reply.choices.length, 1);
  assert.equal(reply.choices[0].message.role, 'assistant');
  assert.equal(typeof reply.choices[0].message.content, 'string');
  assert.ok(['stop', 'length'].includes(reply.choices[0].finish_reason));
  assert.equal(reply.usage.total_tokens, reply.usage.prompt_tokens + reply.usage.completion_tokens);
});

test('the answer is that of windrow run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'windrow-clients-'));
  try {
    const body = { ...greedy, messages: asked('Count to five') };
    writeFileSync(join(folder, 'in.jsonl'),
        `${JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body })}\n`);
    const run = spawnSync(process.env.WINDROW_PROGRAM,
        ['run', 'in.jsonl', '-o', 'out.jsonl', '--quiet', ...words], { cwd: folder });
    assert.equal(run.status, 0, String(run.stderr));
    const line = JSON.parse(readFileSync(join(folder, 'out.jsonl'), 'utf8'));
    const reply = await client.chat.completions.create(body);
    assert.equal(reply.choices[0].message.content,
        line.response.body.choices[0].message.content);
    assert.deepEqual(reply.usage.completion_tokens, line.response.body.usage.completion_tokens);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a stream says what the whole answer says', async () => {
  const body = { ...greedy, messages: asked('Tell a story') };
  const whole = await client.chat.completions.create(body);
  const stream = await client.chat.completions.create(
      { ...body, stream: true, stream_options: { include_usage: true } });
  let text = '';
  const ids = new Set();
  const order = [];  // how many pieces the text comes in is the server's affair
  const ends = [];
  let usage;
  let events = 0;
  for await (const chunk of stream) {
    ++events;
    assert.equal(chunk.object, 'chat.completion.chunk');
    ids.add(chunk.id);
    if (chunk.usage) {
      assert.deepEqual(chunk.choices, []);
      usage = chunk.usage;
      order.push('usage');
      continue;
    }
    const [{ delta, finish_reason: end }] = chunk.choices;
    if (delta.role) {
      assert.equal(delta.role, 'assistant');
      order.push('role');
    }
    if (delta.content) {
      text += delta.content;
      if (order.at(-1) !== 'text') order.push('text');
    }
    if (end) {
      ends.push(end);
      order.push('end');
    }
  }
  assert.equal(text, whole.choices[0].message.content);
  assert.equal(ids.size, 1);
  assert.deepEqual(ends, [whole.choices[0].finish_reason]);
  assert.equal(usage.completion_tokens, whole.usage.completion_tokens);
  assert.deepEqual(order, ['role', 'text', 'end', 'usage']);
  assert.ok(events >= 4, `${events} events`);
});

test('a stream is read while its answer is made', async () => {
  // A token each tenth of a second, for hours: what is read was sent before the end.
  const slow = await Server.start(['--model', 'sim:step-us=100000,answer-tokens=90000,context=100000',
                                   '--grace', '0']);
  try {
    const other = new OpenAI({ apiKey: 'none', baseURL: `${slow.url}/v1`, maxRetries: 0 });
    const stream = await other.chat.completions.create(
        { model: 'sim', messages: asked('Go on'), stream: true, ignore_eos: true });
    let pieces = 0;
    for await (const { choices: [{ delta, finish_reason: end }] } of stream) {
      assert.equal(end, null);
      if (!delta.content) continue;
      const { data } = JSON.parse((await slow.get('/v1/windrow/requests')).text);
      assert.deepEqual(data.map(({ state }) => state), ['answering']);
      if (++pieces === 4) break;
    }
    assert.equal(pieces, 4);
  } finally {
    await slow.stop();
  }
});

test('the stream helper puts the answer together', async () => {
  const body = { ...greedy, messages: asked('Tell a joke'), logprobs: true, top_logprobs: 2 };
  const whole = await client.chat.completions.create(body);
  const final = await client.chat.completions.stream(body).finalChatCompletion();
  assert.equal(final.choices[0].message.content, whole.choices[0].message.content);
  assert.deepEqual(final.choices[0].logprobs.content.map((entry) => entry.token),
      whole.choices[0].logprobs.content.map((entry) => entry.token));
});

test('several choices in one stream', async () => {
  const body = { model: 'chat', seed: 7, n: 3, max_completion_tokens: 12, messages: asked('Guess') };
  const whole = await client.chat.completions.create(body);
  const texts = ['', '', ''];
  for await (const chunk of await client.chat.completions.create({ ...body, stream: true })) {
    for (const choice of chunk.choices) texts[choice.index] += choice.delta.content ?? '';
  }
  assert.deepEqual(texts, whole.choices.map((choice) => choice.message.content));
});

test('an object of a zod schema', async () => {
  const Event = z.object({
    name: z.string().max(20),
    day: z.enum(['Monday', 'Friday']),
    guests: z.array(z.object({ name: z.string().max(10), age: z.number().int() })).max(3),
    place: z.string().max(10).nullable(),
  });
  const body = {
    model: 'chat', temperature: 0, messages: asked('Plan a party'),
    response_format: zodResponseFormat(Event, 'event'),
  };
  const parsed = await client.chat.completions.parse(body);
  Event.parse(parsed.choices[0].message.parsed);
  assert.equal(parsed.choices[0].finish_reason, 'stop');
  const final = await client.chat.completions.stream(body).finalChatCompletion();
  assert.deepEqual(final.choices[0].message.parsed, parsed.choices[0].message.parsed);
});

test('any object', async () => {
  const reply = await client.chat.completions.create({
    ...greedy, max_completion_tokens: 400, messages: asked('An object'),
    response_format: { type: 'json_object' },
  });
  if (reply.choices[0].finish_reason === 'stop') {
    assert.equal(typeof JSON.parse(reply.choices[0].message.content), 'object');
  }
});

test('completions, also in a stream', async () => {
  const body = { model: 'chat', temperature: 0, max_tokens: 8, prompt: ['One', 'Two'] };
  const whole = await client.completions.create(body);
  assert.deepEqual(whole.choices.map((choice) => choice.index), [0, 1]);
  const texts = ['', ''];
  for await (const chunk of await client.completions.create({ ...body, stream: true })) {
    assert.equal(chunk.object, 'text_completion');
    for (const choice of chunk.choices) texts[choice.index] += choice.text;
  }
  assert.deepEqual(texts, whole.choices.map((choice) => choice.text));
});

const length = (vector) => Math.hypot(...vector);
const cosine = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

test('embeddings, as the client wants them by itself and as numbers', async () => {
  const input = ['a short text', 'another one', 'a short text'];
  const packed = await client.embeddings.create({ model: 'embed', input });
  const plain = await client.embeddings.create({ model: 'embed', input, encoding_format: 'float' });
  assert.equal(packed.data.length, 3);
  assert.deepEqual(packed.data[0].embedding, packed.data[2].embedding);
  for (const [i, { embedding, index }] of packed.data.entries()) {
    assert.equal(index, i);
    assert.ok(Math.abs(length(embedding) - 1) < 1e-4);
    assert.ok(cosine(embedding, plain.data[i].embedding) > 0.999999);
    const single = await client.embeddings.create({ model: 'embed', input: input[i] });
    assert.ok(cosine(embedding, single.data[0].embedding) > 0.9999);
  }
  const short = await client.embeddings.create({ model: 'embed', input, dimensions: 16 });
  assert.equal(short.data[0].embedding.length, 16);
  assert.ok(Math.abs(length(short.data[0].embedding) - 1) < 1e-4);
});

test('errors are the errors of the API', async () => {
  const messages = asked('x');
  await assert.rejects(client.chat.completions.create({ ...greedy, messages, temperature: 7 }),
      (error) => error instanceof OpenAI.BadRequestError && error.param === 'temperature' &&
                 error.type === 'invalid_request_error');
  await assert.rejects(client.chat.completions.create({ ...greedy, model: 'nobody', messages }),
      (error) => error instanceof OpenAI.NotFoundError && error.code === 'model_not_found');
  await assert.rejects(client.chat.completions.create({ ...greedy, messages: [] }),
      (error) => error instanceof OpenAI.BadRequestError && error.param === 'messages');
  await assert.rejects(client.embeddings.create({ model: 'chat', input: '' }), OpenAI.BadRequestError);
  await assert.rejects(client.get('/nothing/here'), OpenAI.NotFoundError);
  const wrong = await server.get('/v1/chat/completions');
  assert.equal(wrong.status, 405);
  assert.match(wrong.headers.get('allow'), /POST/);
  assert.ok(JSON.parse(wrong.text).error.message.length > 0);
});

test('a client that leaves frees its place', async () => {
  const stream = await client.chat.completions.create(
      { model: 'chat', messages: asked('Go on for ever'), max_completion_tokens: 4000,
        stream: true, ignore_eos: true });
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta.content) break;
  }
  stream.controller.abort();
  await server.until('/v1/windrow/requests', ({ text }) => JSON.parse(text).data.length === 0);
});

test('a deadline that has passed', async () => {
  const long = [];
  for (let i = 0; i < 80; ++i) {
    long.push(client.chat.completions.create(
        { model: 'chat', messages: asked(`Task ${i}`), max_completion_tokens: 30 }));
  }
  await assert.rejects(
      client.chat.completions.create({ ...greedy, messages: asked('Quick'), priority: 'batch' },
          { headers: { 'X-Windrow-Deadline-Ms': '1' } }),
      (error) => error.status === 408 && error.code === 'deadline_exceeded');
  await Promise.all(long);
});

test('many at once have the answers they have alone', async () => {
  const bodies = [];
  for (let i = 0; i < 64; ++i) {
    bodies.push({ ...greedy, messages: asked(`Question number ${i}`),
                  service_tier: i % 2 ? 'flex' : 'priority' });
  }
  const alone = [];
  for (const body of bodies.slice(0, 8)) alone.push(await client.chat.completions.create(body));
  const together = await Promise.all(bodies.map((body) => client.chat.completions.create(body)));
  for (const [i, reply] of alone.entries()) {
    assert.equal(together[i].choices[0].message.content, reply.choices[0].message.content);
  }
});

test('keys and their limits', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'windrow-clients-'));
  const hash = createHash('sha256').update('wr-secret').digest('hex');
  writeFileSync(join(folder, 'keys'), `# people\nalice sha256:${hash} rpm=3\n`, { mode: 0o600 });
  const locked = await Server.start([...words, '--api-keys', join(folder, 'keys')]);
  try {
    const body = { ...greedy, max_completion_tokens: 1, messages: asked('x') };
    const stranger = new OpenAI({ apiKey: 'wr-guess', baseURL: `${locked.url}/v1`, maxRetries: 0 });
    await assert.rejects(stranger.chat.completions.create(body),
        (error) => error instanceof OpenAI.AuthenticationError && error.code === 'invalid_api_key');
    assert.equal((await locked.get('/health')).status, 200);
    const alice = new OpenAI({ apiKey: 'wr-secret', baseURL: `${locked.url}/v1`, maxRetries: 0 });
    const { response } = await alice.chat.completions.create(body).withResponse();
    assert.equal(response.headers.get('x-ratelimit-limit-requests'), '3');
    assert.equal(response.headers.get('x-ratelimit-remaining-requests'), '2');
    await alice.chat.completions.create(body);
    await alice.chat.completions.create(body);
    await assert.rejects(alice.chat.completions.create(body),
        (error) => error instanceof OpenAI.RateLimitError && error.code === 'rate_limit_exceeded' &&
                   Number(error.headers.get('retry-after')) > 0);
  } finally {
    await locked.stop();
    rmSync(folder, { recursive: true });
  }
});

test('it stops when it is told to', async () => {
  const other = await Server.start(words);
  assert.deepEqual(await other.stop(), { code: 0, signal: null });
});
