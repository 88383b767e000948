// The official packages with errors, limits, timeouts and cancelled requests.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

import { anthropicOf as anthropic, openaiOf as openai, Server, user } from './server.mjs';

const folder = mkdtempSync(join(tmpdir(), 'windrow-clients-'));
let open; // a server without keys, whose model takes its time
let locked; // one with keys and limits

const hash = (key) => createHash('sha256').update(key).digest('hex');

before(async () => {
  writeFileSync(join(folder, 'keys'),
      `alice sha256:${hash('wr-alice')} rpm=60\nbob sha256:${hash('wr-bob')} in-flight=1\n` +
      `carol sha256:${hash('wr-carol')} rpm=3\n`, { mode: 0o600 });
  open = await Server.start(['--model', 'sim=sim:step-us=20000,answer-tokens=100000']);
  locked = await Server.start(['--model', 'sim=sim:instant,answer-tokens=4',
                               '--model', 'slow=sim:step-us=20000,answer-tokens=100000',
                               '--api-keys', join(folder, 'keys')]);
});
after(async () => {
  await open?.stop('SIGKILL');
  await locked?.stop('SIGKILL');
  rmSync(folder, { recursive: true });
});

const none = (server) =>
  server.until('/v1/windrow/requests', ({ text }) => JSON.parse(text).total === 0);
const running = (server) =>
  server.until('/v1/windrow/requests', ({ text }) => JSON.parse(text).total > 0);
// No row is left in the batch.
const rowsGone = (server) =>
  server.until('/metrics', ({ text }) => /^windrow_rows_running\{[^}]*\} 0$/m.test(text));

// The ways to ask for something long, each with what stops it.
const long = { model: 'sim', messages: user('Go on for ever') };
const ways = [
  ['a chat', OpenAI, (options) =>
    openai(open).chat.completions.create({ ...long, max_tokens: 4000 }, options)],
  ['a response', OpenAI, (options) =>
    openai(open).responses.create({ model: 'sim', input: 'Go on', max_output_tokens: 4000 }, options)],
  ['a message', Anthropic, (options) =>
    anthropic(open).messages.create({ ...long, max_tokens: 4000 }, options)],
];

for (const [name, { APIUserAbortError, APIConnectionTimeoutError }, ask] of ways) {
  test(`${name} that is aborted frees its row`, async () => {
    const controller = new AbortController();
    const asked = ask({ signal: controller.signal });
    await running(open);
    controller.abort();
    await assert.rejects(asked, APIUserAbortError);
    await none(open);
    await rowsGone(open);
  });

  test(`${name} that times out frees its row`, async () => {
    await assert.rejects(ask({ timeout: 300 }), APIConnectionTimeoutError);
    await none(open);
    await rowsGone(open);
  });
}

test('streams that are left free their rows', async () => {
  const chats = await openai(open).chat.completions.create(
      { ...long, max_tokens: 4000, stream: true });
  for await (const chunk of chats) if (chunk.choices[0]?.delta.content) break;
  const events = openai(open).responses.stream(
      { model: 'sim', input: 'Go on', max_output_tokens: 4000 });
  for await (const event of events) if (event.type === 'response.output_text.delta') break;
  const blocks = anthropic(open).messages.stream({ ...long, max_tokens: 4000 });
  for await (const event of blocks) if (event.type === 'content_block_delta') break;
  await none(open);
  await rowsGone(open);
});

test('errors have the classes of their status', async () => {
  const one = { model: 'sim', max_tokens: 2, messages: user('a') };
  const theirs = openai(locked, { apiKey: 'wr-bob' });
  const others = anthropic(locked, { apiKey: 'wr-bob' });
  await assert.rejects(openai(locked, { apiKey: 'wr-no' }).chat.completions.create(one),
      OpenAI.AuthenticationError);
  await assert.rejects(anthropic(locked, { apiKey: 'wr-no' }).messages.create(one),
      Anthropic.AuthenticationError);
  await assert.rejects(theirs.chat.completions.create({ ...one, model: 'nobody' }),
      (error) => error instanceof OpenAI.NotFoundError && error.code === 'model_not_found');
  await assert.rejects(others.messages.create({ ...one, model: 'nobody' }),
      Anthropic.NotFoundError);
  await assert.rejects(theirs.chat.completions.create({ ...one, top_p: 7 }),
      (error) => error instanceof OpenAI.BadRequestError && error.param === 'top_p' &&
                 error.requestID.length > 0);
  await assert.rejects(others.messages.create({ ...one, top_p: 7 }), Anthropic.BadRequestError);
  await assert.rejects(theirs.post('/windrow/models/sim/unload'), OpenAI.PermissionDeniedError);
  await assert.rejects(theirs.files.list(), (error) => error.code === 'no_data_dir');
});

test('a limit of a key is heard, and waited for', async () => {
  const one = { model: 'sim', max_tokens: 2, messages: user('a') };
  const alice = openai(locked, { apiKey: 'wr-alice' });
  const asked = await Promise.allSettled(Array.from({ length: 70 },
      () => alice.chat.completions.create(one)));
  const refused = asked.filter(({ status }) => status === 'rejected').map(({ reason }) => reason);
  assert.ok(refused.length > 0);
  for (const error of refused) {
    assert.ok(error instanceof OpenAI.RateLimitError);
    assert.equal(error.code, 'rate_limit_exceeded');
    assert.ok(Number(error.headers.get('retry-after')) >= 1);
  }
  // Their own retries wait as long as they are told.
  const patient = openai(locked, { apiKey: 'wr-alice', maxRetries: 3 });
  assert.equal((await patient.chat.completions.create(one)).object, 'chat.completion');
  const carol = anthropic(locked, { apiKey: 'wr-carol' });
  for (let i = 0; i < 3; ++i) await carol.messages.create(one);
  await assert.rejects(carol.messages.create(one), (error) =>
    error instanceof Anthropic.RateLimitError && Number(error.headers.get('retry-after')) >= 1 &&
      error.error.error.type === 'rate_limit_error');
});

test('requests at one time are bounded', async () => {
  const bob = openai(locked, { apiKey: 'wr-bob' });
  const stream = await bob.chat.completions.create(
      { model: 'slow', messages: user('a'), max_tokens: 4000, stream: true });
  await stream[Symbol.asyncIterator]().next();
  await assert.rejects(bob.chat.completions.create({ model: 'sim', messages: user('b') }),
      OpenAI.RateLimitError);
  stream.controller.abort();
});
