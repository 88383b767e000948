// /v1/messages through the official @anthropic-ai/sdk package.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import Anthropic from '@anthropic-ai/sdk';

import { anthropicOf, models, Server, user } from './server.mjs';

let server;
let client;

before(async () => {
  server = await Server.start(['--model', `chat=${models}/qwen3-f32.gguf`, '--model', 'sim=sim:',
                               '--kv-type', 'f32', '--flash-attn', 'off']);
  client = anthropicOf(server);
});
after(() => server?.stop());

const greedy = { model: 'chat', temperature: 0, max_tokens: 24 };
const said = (message) => message.content.filter((block) => block.type === 'text')
    .map((block) => block.text).join('');

test('a message says what a chat says', async () => {
  const message = await client.messages.create(
      { ...greedy, system: 'You are brief.', messages: user('Count to five') });
  assert.equal(message.type, 'message');
  assert.equal(message.role, 'assistant');
  const reply = await server.post('/v1/chat/completions', {
    model: 'chat', temperature: 0, max_tokens: 24,
    messages: [{ role: 'system', content: 'You are brief.' }, ...user('Count to five')],
  });
  const chat = reply.json();
  assert.equal(said(message), chat.choices[0].message.content);
  assert.equal(message.usage.input_tokens + message.usage.cache_read_input_tokens,
      chat.usage.prompt_tokens);
  assert.equal(message.usage.output_tokens, chat.usage.completion_tokens);
  assert.equal(message.stop_reason,
      chat.choices[0].finish_reason === 'length' ? 'max_tokens' : 'end_turn');
  assert.equal(typeof message._request_id, 'string');
});

test('a stream gathers into the message', async () => {
  const body = { ...greedy, messages: user([{ type: 'text', text: 'Tell a story' }]) };
  const stream = client.messages.stream(body);
  let text = '';
  stream.on('text', (delta) => { text += delta; });
  const gathered = await stream.finalMessage();
  const whole = await client.messages.create(body);
  assert.equal(text, said(whole));
  assert.deepEqual(gathered.content, whole.content);
  assert.equal(gathered.stop_reason, whole.stop_reason);
  assert.equal(gathered.usage.output_tokens, whole.usage.output_tokens);
  assert.ok(gathered.usage.input_tokens + gathered.usage.cache_read_input_tokens > 0);
});

test('the text that ended an answer is named', async () => {
  const body = { model: 'sim', max_tokens: 20, seed: 3, messages: user('Go on') };
  const stop = said(await client.messages.create(body)).trim().split(' ')[1];
  assert.notEqual(stop, undefined);
  const message = await client.messages.create({ ...body, stop_sequences: ['never', stop] });
  assert.equal(message.stop_reason, 'stop_sequence');
  assert.equal(message.stop_sequence, stop);
  assert.ok(!said(message).includes(stop));
});

test('tokens are counted as they are used', async () => {
  const body = { model: 'chat', system: 'You are brief.', messages: user('How many?') };
  const { input_tokens } = await client.messages.countTokens(body);
  const message = await client.messages.create({ ...body, max_tokens: 1 });
  assert.equal(input_tokens,
      message.usage.input_tokens + message.usage.cache_read_input_tokens);
});

test('models are listed, in the shape of OpenAI', async () => {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.deepEqual(ids, ['chat', 'sim']);
  assert.equal((await client.models.retrieve('sim')).id, 'sim');
});

// As agents send them: marks for caches, beta headers, thoughts on or off.
test('what agents send beside a conversation is taken', async () => {
  const mark = { cache_control: { type: 'ephemeral' } };
  const message = await client.beta.messages.create({
    model: 'sim', max_tokens: 4, betas: ['interleaved-thinking-2025-05-14'],
    system: [{ type: 'text', text: 'You are an agent.', ...mark }],
    messages: user([{ type: 'text', text: 'Go on', ...mark }]),
    tools: [{ name: 'read', description: 'A file', input_schema: { type: 'object' }, ...mark }],
    thinking: { type: 'enabled', budget_tokens: 1024 }, metadata: { user_id: 'u' },
    context_management: { edits: [] },
  });
  assert.equal(message.type, 'message');
});

test('a stream that is left ends the request', async () => {
  const stream = client.messages.stream(
      { model: 'sim', max_tokens: 100000, messages: user('Talk') });
  for await (const event of stream) {
    if (event.type === 'content_block_delta') break;
  }
  await server.until('/v1/windrow/requests', (reply) => JSON.parse(reply.text).total === 0);
});

test('errors are the errors of the package', async () => {
  await assert.rejects(client.messages.create({ ...greedy, temperature: 9, messages: user('a') }),
      (error) => error instanceof Anthropic.BadRequestError &&
          error.error.error.type === 'invalid_request_error' &&
          error.message.includes('temperature is 9'));
  await assert.rejects(
      client.messages.create({ ...greedy, model: 'nobody', messages: user('a') }),
      Anthropic.NotFoundError);
  await assert.rejects(client.messages.create({
    ...greedy,
    messages: user([{ type: 'image', source: { type: 'url', url: 'http://x/y.png' } }]),
  }), (error) => error.message.includes('messages[0].content[0].type'));
});

test('the key may come as x-api-key', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'windrow-clients-'));
  let other;
  try {
    const file = join(folder, 'keys.txt');
    const made = spawnSync(process.env.WINDROW_PROGRAM, ['keys', 'add', file, 'alice']);
    assert.equal(made.status, 0, String(made.stderr));
    const apiKey = String(made.stdout).match(/wr-[\w-]{43}/)[0];
    other = await Server.start(['--model', 'sim=sim:', '--api-keys', file]);
    const ask = (key) => anthropicOf(other, { apiKey: key })
        .messages.create({ model: 'sim', max_tokens: 2, messages: user('a') });
    assert.ok((await ask(apiKey)).usage.output_tokens > 0);
    await assert.rejects(ask('wr-wrong'), (error) =>
      error instanceof Anthropic.AuthenticationError &&
        error.error.error.type === 'authentication_error');
  } finally {
    await other?.stop();
    rmSync(folder, { recursive: true });
  }
});
