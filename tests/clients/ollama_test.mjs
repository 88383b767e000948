// Ollama's API through its published package.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Ollama } from 'ollama';

import { callers, models, openaiOf, Server } from './server.mjs';

let server;
let ollama;

before(async () => {
  server = await Server.start([...callers, '--model', `embed=${models}/bert-f32.gguf`,
                               '--kv-type', 'f32', '--flash-attn', 'off']);
  ollama = new Ollama({ host: server.url });
});
after(() => server?.stop());

const messages = [{ role: 'user', content: 'Count to five' }];
const options = { temperature: 0, num_predict: 24 };
const weather = {
  type: 'function',
  function: { name: 'weather', description: 'The weather of a city',
              parameters: { type: 'object', properties: { city: { type: 'string' } },
                            required: ['city'], additionalProperties: false } },
};

test('a chat says what it says in the words of OpenAI, whole and as a stream', async () => {
  const chat = await openaiOf(server).chat.completions.create(
      { model: 'chat', messages, temperature: 0, max_tokens: 24 });
  const whole = await ollama.chat({ model: 'chat', messages, options });
  assert.equal(whole.message.content, chat.choices[0].message.content ?? '');
  assert.equal(whole.prompt_eval_count, chat.usage.prompt_tokens);
  assert.equal(whole.eval_count, chat.usage.completion_tokens);
  assert.equal(whole.done_reason, chat.choices[0].finish_reason);
  assert.ok(whole.total_duration >= whole.eval_duration && whole.eval_duration >= 0);
  assert.ok(!Number.isNaN(Date.parse(whole.created_at)));

  let text = '';
  let last;
  for await (const part of await ollama.chat({ model: 'chat', messages, options, stream: true })) {
    text += part.message.content;
    last = part;
  }
  assert.equal(text, whole.message.content);
  assert.equal(last.done, true);
  assert.equal(last.eval_count, whole.eval_count);
});

test('generate is a chat of one message', async () => {
  const chat = await ollama.chat(
      { model: 'chat', options, messages: [{ role: 'system', content: 'Be brief' }, ...messages] });
  const generated = await ollama.generate(
      { model: 'chat', options, system: 'Be brief', prompt: 'Count to five' });
  assert.equal(generated.response, chat.message.content);
  let text = '';
  for await (const part of await ollama.generate(
      { model: 'chat', options, system: 'Be brief', prompt: 'Count to five', stream: true }))
    text += part.response;
  assert.equal(text, chat.message.content);
  const raw = await ollama.generate({ model: 'chat', options, prompt: 'Count to five', raw: true });
  assert.equal(typeof raw.response, 'string');
});

test('a form is held to', async () => {
  const format = { type: 'object', properties: { city: { enum: ['Paris', 'Rome'] } },
                   required: ['city'], additionalProperties: false };
  const { message } = await ollama.chat({ model: 'chat', messages, format, options });
  assert.ok(['Paris', 'Rome'].includes(JSON.parse(message.content).city));
});

test('three turns with a tool', async () => {
  // The simulated model makes the call that it is told to make.
  const asked = { role: 'user', content: 'call weather {"city": "Rome"}' };
  const turns = [];
  for (let turn = 0; turn < 3; ++turn) {
    turns.push(asked);
    const { message } = await ollama.chat({ model: 'sim', messages: turns, tools: [weather] });
    const calls = message.tool_calls.map(({ function: call }) => [call.name, call.arguments]);
    assert.deepEqual(calls, [['weather', { city: 'Rome' }]]);
    turns.push(message, { role: 'tool', tool_name: 'weather', content: 'dry' });
    const answer = await ollama.chat({ model: 'sim', messages: turns, tools: [weather] });
    assert.ok(!answer.message.tool_calls?.length);
    turns.push(answer.message);
  }
});

test('texts are embedded', async () => {
  const { embeddings } = await ollama.embed({ model: 'embed', input: ['one', 'two'] });
  assert.equal(embeddings.length, 2);
  const { data } = await openaiOf(server).embeddings.create(
      { model: 'embed', input: ['one', 'two'], encoding_format: 'float' });
  embeddings.forEach((vector, i) => vector.forEach(
      (value, j) => assert.ok(Math.abs(value - data[i].embedding[j]) < 1e-5)));
  const { embedding } = await ollama.embeddings({ model: 'embed', prompt: 'one' });
  assert.deepEqual(embedding, embeddings[0]);
});

test('models are listed, shown, loaded and unloaded', async () => {
  const names = (await ollama.list()).models.map(({ model }) => model);
  assert.deepEqual(names.sort(), ['chat', 'embed', 'sim']);
  assert.ok((await ollama.show({ model: 'chat' })).capabilities.includes('completion'));
  assert.deepEqual((await ollama.show({ model: 'embed' })).capabilities, ['embedding']);
  assert.equal((await ollama.generate({ model: 'embed', keep_alive: 0 })).done_reason, 'unload');
  await server.until('/api/ps', ({ text }) => !text.includes('"embed"'));
  assert.equal((await ollama.generate({ model: 'chat' })).done_reason, 'load');
  assert.equal(typeof (await ollama.version()).version, 'string');
});

test('what is wrong is said', async () => {
  await assert.rejects(ollama.chat({ model: 'none', messages }),
                       (error) => error.status_code === 404 && /no model "none"/.test(error.message));
  await assert.rejects(ollama.chat({ model: 'chat', messages, options: { mirostat: 1 } }),
                       /options.mirostat must be 0/);
  await assert.rejects(ollama.pull({ model: 'x' }), (error) => error.status_code === 404);
});

test('a model that is not kept alive leaves after its answer', async () => {
  const { message } = await ollama.chat({ model: 'chat', messages, options, keep_alive: 0 });
  assert.equal(message.role, 'assistant');
  await server.until('/api/ps', ({ text }) => !text.includes('"chat"'));
});
