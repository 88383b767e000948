// The server through LlamaIndex for Node: its agents, by chats and by responses.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { tool } from '@llamaindex/core/tools';
import { createMemory } from '@llamaindex/core/memory';
import { OpenAI, OpenAIEmbedding, OpenAIResponses } from '@llamaindex/openai';
import { agent } from '@llamaindex/workflow';
import { z } from 'zod';

import { check, functions, recorder, startServers, turns, user } from './conversation.mjs';
import { models } from './server.mjs';

const systemPrompt = 'You are brief.';
let servers;
let server;

before(async () => {
  servers = await startServers('--model', `embed=${models}/bert-f32.gguf`);
  [server] = servers;
});
after(() => Promise.all((servers ?? []).map((one) => one.stop())));

for (const [api, Model] of Object.entries({ chats: OpenAI, responses: OpenAIResponses })) {
  test(`${api}: an agent with a memory, three turns`, async () => {
    const { exchanges, fetch } = recorder();
    const { ran, weather, clock } = functions();
    const llm = new Model({ model: 'sim', apiKey: 'none', baseURL: `${server.url}/v1`,
                            temperature: 0, maxTokens: 400, maxOutputTokens: 400, maxRetries: 0,
                            additionalChatOptions: api === 'chats'
                                ? { stream_options: { include_usage: true } } : { temperature: 0 },
                            additionalSessionOptions: { fetch } });
    const helper = agent({
      name: 'helper', llm, systemPrompt, memory: createMemory(),
      tools: [
        tool({ name: 'weather', description: 'Of a city',
               parameters: z.object({ city: z.string() }), execute: weather }),
        tool({ name: 'clock', description: 'The time', parameters: z.object({}), execute: clock }),
      ],
    });
    const answers = [];
    for (const { says } of turns) answers.push((await helper.run(says)).data.result);
    await check(servers, { exchanges, ran, answers, system: systemPrompt, compact: true });
  });
}

test('chats: an object', async () => {
  const llm = new OpenAI({ model: 'sim', apiKey: 'none', baseURL: `${server.url}/v1`,
                           maxRetries: 0 });
  const place = z.object({ city: z.enum(['Bern', 'Rome']), wet: z.boolean() });
  const { message } = await llm.chat({ messages: [user('Where?')], responseFormat: place });
  place.parse(JSON.parse(message.content));
});

test('embeddings', async () => {
  const vectors = new OpenAIEmbedding({ model: 'embed', apiKey: 'none',
                                        baseURL: `${server.url}/v1`, maxRetries: 0 });
  assert.equal((await vectors.getTextEmbeddings(['a', 'b'])).length, 2);
});
