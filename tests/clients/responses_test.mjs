// /v1/responses through the official openai package.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import OpenAI from 'openai';

import { models, openaiOf, Server } from './server.mjs';

let server;
let client;

before(async () => {
  server = await Server.start(['--model', `chat=${models}/qwen3-f32.gguf`, '--model', 'sim=sim:',
                               '--kv-type', 'f32', '--flash-attn', 'off']);
  client = openaiOf(server);
});
after(() => server?.stop());

const greedy = { model: 'chat', temperature: 0, max_output_tokens: 24 };

test('a response says what a chat says', async () => {
  const response = await client.responses.create(
      { ...greedy, instructions: 'You are brief.', input: 'Count to five' });
  assert.equal(response.object, 'response');
  assert.equal(response.store, true);
  assert.equal(response.instructions, 'You are brief.');
  const chat = await client.chat.completions.create({
    model: 'chat', temperature: 0, max_completion_tokens: 24,
    messages: [{ role: 'system', content: 'You are brief.' },
               { role: 'user', content: 'Count to five' }],
  });
  assert.equal(response.output_text, chat.choices[0].message.content ?? '');
  assert.equal(response.usage.input_tokens, chat.usage.prompt_tokens);
  assert.equal(response.usage.output_tokens, chat.usage.completion_tokens);
  const cut = chat.choices[0].finish_reason === 'length';
  assert.equal(response.status, cut ? 'incomplete' : 'completed');
  assert.deepEqual(response.incomplete_details, cut ? { reason: 'max_output_tokens' } : null);
});

test('what was answered goes back as input', async () => {
  const first = await client.responses.create({ ...greedy, input: 'Say something' });
  const second = await client.responses.create({
    ...greedy,
    input: [{ role: 'user', content: 'Say something' }, ...first.output,
            { role: 'user', content: [{ type: 'input_text', text: 'And more' }] }],
  });
  assert.equal(typeof second.output_text, 'string');
  assert.ok(second.usage.input_tokens > first.usage.input_tokens);
});

test('a conversation goes on by the id of its last response', async () => {
  const first = await client.responses.create({ ...greedy, input: 'Say something' });
  const whole = await client.responses.create({
    ...greedy, store: false,
    input: [{ role: 'user', content: 'Say something' }, ...first.output,
            { role: 'user', content: 'And more' }],
  });
  const continued = await client.responses.create(
      { ...greedy, previous_response_id: first.id, input: 'And more' });
  assert.equal(continued.output_text, whole.output_text);
  assert.equal(continued.usage.input_tokens, whole.usage.input_tokens);
  const referred = await client.responses.create({
    ...greedy,
    input: [{ role: 'user', content: 'Say something' },
            ...first.output.map(({ id }) => ({ type: 'item_reference', id })),
            { role: 'user', content: 'And more' }],
  });
  assert.equal(referred.output_text, whole.output_text);

  assert.deepEqual((await client.responses.retrieve(continued.id)).output, continued.output);
  const items = [];
  for await (const item of client.responses.inputItems.list(continued.id, { limit: 1 })) items.push(item);
  assert.equal(items.at(-1).content[0].text, 'Say something');
  assert.equal(items[0].content[0].text, 'And more');
  await client.responses.delete(continued.id);
  await assert.rejects(client.responses.retrieve(continued.id), (error) => error.status === 404);
  await assert.rejects(client.responses.retrieve(whole.id), (error) => error.status === 404);
  await assert.rejects(
      client.responses.create({ ...greedy, previous_response_id: continued.id, input: 'x' }),
      (error) => error.status === 404 && error.code === 'previous_response_not_found');
});

test('events and the helper that gathers them agree', async () => {
  const stream = client.responses.stream({ ...greedy, input: 'Tell a story' });
  let text = '';
  let sequence = 0;
  const types = [];
  for await (const event of stream) {
    assert.equal(event.sequence_number, sequence++);
    types.push(event.type);
    if (event.type === 'response.output_text.delta') text += event.delta;
  }
  assert.equal(types[0], 'response.created');
  assert.ok(['response.completed', 'response.incomplete'].includes(types.at(-1)));
  const response = await stream.finalResponse();
  const whole = await client.responses.create({ ...greedy, input: 'Tell a story' });
  assert.equal(text, whole.output_text);
  assert.equal(response.output_text, whole.output_text);
  assert.deepEqual(response.output.map((item) => item.type), whole.output.map((item) => item.type));
  assert.equal(response.usage.output_tokens, whole.usage.output_tokens);
});

test('a structure is kept to', async () => {
  const schema = { type: 'object', properties: { city: { enum: ['Paris', 'Rome'] } },
                   required: ['city'], additionalProperties: false };
  const response = await client.responses.create({
    ...greedy, input: 'Where?',
    text: { format: { type: 'json_schema', name: 'place', strict: true, schema } },
  });
  assert.ok(['Paris', 'Rome'].includes(JSON.parse(response.output_text).city));
  assert.equal(response.output.at(-1).structure, 'valid');
});

test('logprobs are listed where they are included', async () => {
  const response = await client.responses.create({
    model: 'sim', input: 'Hello', max_output_tokens: 4, top_logprobs: 2, seed: 1,
    include: ['message.output_text.logprobs'],
  });
  const { logprobs } = response.output[0].content[0];
  assert.ok(logprobs.length >= 4);
  assert.equal(logprobs[0].top_logprobs.length, 2);
});

test('errors are the errors of the package', async () => {
  await assert.rejects(client.responses.create({ model: 'chat', input: 'a', temperature: 9 }),
      (error) => error instanceof OpenAI.BadRequestError && error.param === 'temperature');
  await assert.rejects(client.responses.create({ model: 'nobody', input: 'a' }),
      OpenAI.NotFoundError);
  await assert.rejects(client.responses.retrieve('resp_1'), OpenAI.NotFoundError);
  await assert.rejects(client.responses.create(
      { model: 'chat', input: 'a', previous_response_id: 'resp_1' }),
      (error) => error.param === 'previous_response_id');
});
