// Calls that must come: required, or named, with arguments held to their schema, in the words of
// each package; and the ways in which clients ask for an object by a call.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { createAnthropic } from '@ai-sdk/anthropic';
import { ChatOpenAI } from '@langchain/openai';
import { generateObject } from 'ai';
import Ajv2020 from 'ajv/dist/2020.js';
import OpenAI from 'openai';
import { zodFunction } from 'openai/helpers/zod';
import { z } from 'zod';

import { anthropicOf, callers, openaiOf, Server, user } from './server.mjs';

const ajv = new Ajv2020({ strict: false });
let server;
let openai;
let anthropic;

before(async () => {
  server = await Server.start(callers);
  openai = openaiOf(server);
  anthropic = anthropicOf(server);
});
after(() => server?.stop());

const schemas = {
  weather: {
    type: 'object', properties: { city: { enum: ['Bern', 'Rome'] }, days: { enum: [1, 2, 3] } },
    required: ['city', 'days'], additionalProperties: false,
  },
  clock: { type: 'object', properties: {}, additionalProperties: false },
};
const tools = Object.entries(schemas).map(([name, parameters]) =>
  ({ type: 'function', function: { name, parameters } }));
const named = (name) => ({ type: 'function', function: { name } });

function check(name, value) {
  const valid = ajv.compile(schemas[name]);
  assert.ok(valid(value), `${name} ${JSON.stringify(value)} ${JSON.stringify(valid.errors)}`);
}

for (const model of ['sim', 'chat']) {
  const body = { model, seed: 3, max_tokens: 400, messages: user('Good morning'), tools };

  test(`${model}: a call is required, whole and streamed`, async () => {
    const wanted = { ...body, tool_choice: 'required', parallel_tool_calls: false };
    const whole = await openai.chat.completions.create(wanted);
    assert.equal(whole.choices[0].finish_reason, 'tool_calls');
    const [call] = whole.choices[0].message.tool_calls;
    check(call.function.name, JSON.parse(call.function.arguments));
    const final = await openai.chat.completions.stream(wanted).finalChatCompletion();
    assert.deepEqual(final.choices[0].message.tool_calls.map((one) => one.function.name),
        [call.function.name]);
    assert.deepEqual(JSON.parse(final.choices[0].message.tool_calls[0].function.arguments),
        JSON.parse(call.function.arguments));
  });

  test(`${model}: a tool is named, in each API`, async () => {
    const chat = await openai.chat.completions.create(
        { ...body, tool_choice: named('weather'), parallel_tool_calls: false });
    const [call] = chat.choices[0].message.tool_calls;
    assert.equal(call.function.name, 'weather');
    check('weather', JSON.parse(call.function.arguments));

    const response = await openai.responses.create({
      model, seed: 3, max_output_tokens: 400, input: 'Good morning',
      tools: tools.map(({ function: { name, parameters } }) =>
        ({ type: 'function', name, parameters, strict: true })),
      tool_choice: { type: 'function', name: 'weather' }, parallel_tool_calls: false,
    });
    const item = response.output.find(({ type }) => type === 'function_call');
    assert.equal(item.name, 'weather');
    check('weather', JSON.parse(item.arguments));

    const message = await anthropic.messages.create({
      model, max_tokens: 400, messages: user('Good morning'),
      tools: Object.entries(schemas).map(([name, schema]) => ({ name, input_schema: schema })),
      tool_choice: { type: 'tool', name: 'weather', disable_parallel_tool_use: true },
    });
    assert.equal(message.stop_reason, 'tool_use');
    const block = message.content.find(({ type }) => type === 'tool_use');
    assert.equal(block.name, 'weather');
    check('weather', block.input);
  });
}

test('any of the tools, in the words of Anthropic, in a stream', async () => {
  const stream = anthropic.messages.stream({
    model: 'sim', max_tokens: 400, messages: user('Good morning'),
    tools: Object.entries(schemas).map(([name, schema]) => ({ name, input_schema: schema })),
    tool_choice: { type: 'any' },
  });
  const message = await stream.finalMessage();
  assert.equal(message.stop_reason, 'tool_use');
  assert.ok(message.content.length > 0);
  for (const { name, input } of message.content) check(name, input);
});

test('strict arguments are parsed', async () => {
  const Weather = z.object({ city: z.enum(['Bern', 'Rome']), days: z.number().int().min(1).max(3) });
  const completion = await openai.chat.completions.parse({
    model: 'sim', messages: user('Good morning'), parallel_tool_calls: false,
    tools: [zodFunction({ name: 'weather', parameters: Weather })], tool_choice: named('weather'),
  });
  Weather.parse(completion.choices[0].message.tool_calls[0].function.parsed_arguments);
});

test('what is wanted and is not there is refused', async () => {
  const body = { model: 'sim', messages: user('a') };
  await assert.rejects(openai.chat.completions.create({ ...body, tools, tool_choice: named('none') }),
      OpenAI.BadRequestError);
  await assert.rejects(openai.chat.completions.create({ ...body, tool_choice: 'required' }),
      OpenAI.BadRequestError);
});

// Objects by a call: the form in which clients ask models that know no schema.
const place = z.object({ city: z.enum(['Paris', 'Rome']) });

test('an object of the AI SDK by messages', async () => {
  const model = createAnthropic({ baseURL: `${server.url}/v1`, apiKey: 'none' })('sim');
  const { object } = await generateObject(
      { model, prompt: 'Where?', schema: place, maxOutputTokens: 400, maxRetries: 0 });
  place.parse(object);
});

test('an object of LangChain by a function', async () => {
  const model = new ChatOpenAI({ model: 'sim', apiKey: 'none', maxRetries: 0,
                                 configuration: { baseURL: `${server.url}/v1` } });
  place.parse(await model.withStructuredOutput(place, { method: 'functionCalling' })
      .invoke('Where?'));
});

test('the client of Graphiti for Anthropic: one tool, named, whose input is the answer', async () => {
  const schema = {
    $defs: { Fact: { type: 'object', title: 'Fact', required: ['name', 'id'],
                     properties: { name: { type: 'string', maxLength: 8 },
                                   id: { type: 'integer', minimum: 0, maximum: 99 } } } },
    type: 'object', title: 'Facts', required: ['facts'],
    properties: { facts: { type: 'array', maxItems: 2, items: { $ref: '#/$defs/Fact' } } },
  };
  const message = await anthropic.messages.create({
    model: 'sim', system: 'You extract facts.', max_tokens: 8192, temperature: 1,
    messages: user('Alice met Bob.'),
    tools: [{ name: 'Facts', description: 'Extract Facts information', input_schema: schema }],
    tool_choice: { type: 'tool', name: 'Facts' },
  });
  const { input } = message.content.find(({ type }) => type === 'tool_use');
  const valid = ajv.compile(schema);
  assert.ok(valid(input), `${JSON.stringify(input)} ${JSON.stringify(valid.errors)}`);
});
