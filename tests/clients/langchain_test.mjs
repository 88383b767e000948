// The server through LangChain: its chat models, its agents, which have names and send them along,
// and LangGraph, whose checkpoints keep a conversation. Settings are those of docs/clients.md.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ChatAnthropic } from '@langchain/anthropic';
import { ContextOverflowError } from '@langchain/core/errors';
import { tool } from '@langchain/core/tools';
import { MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { createAgent, providerStrategy } from 'langchain';
import { z } from 'zod';

import { allCalls, check, demo, functions, recorder, screening, startServers, turns,
         user } from './conversation.mjs';
import { models } from './server.mjs';

const place = z.object({ city: z.enum(['Bern', 'Rome']), wet: z.boolean() });
const systemPrompt = 'You are brief.';
let servers;
let server;

before(async () => {
  servers = await startServers('--model', `embed=${models}/bert-f32.gguf`, ...demo);
  [server] = servers;
});
after(() => Promise.all((servers ?? []).map((one) => one.stop())));

// A chat model by one of the APIs, and what becomes of its requests.
function connect(api, more = {}) {
  const { exchanges, fetch } = recorder();
  const common = { model: 'sim', apiKey: 'none', temperature: 0, maxTokens: 400, maxRetries: 0,
                   ...more };
  const configuration = { baseURL: `${server.url}/v1`, fetch };
  const model = {
    chats: () => new ChatOpenAI({ ...common, configuration }),
    responses: () => new ChatOpenAI({ ...common, configuration, useResponsesApi: true }),
    messages: () => new ChatAnthropic({ ...common, anthropicApiUrl: server.url,
                                        clientOptions: { fetch } }),
  }[api]();
  return { model, exchanges, compact: api !== 'responses' };
}

function tools({ weather, clock }) {
  return [
    tool(weather, { name: 'weather', description: 'Of a city',
                    schema: z.object({ city: z.string() }) }),
    tool(clock, { name: 'clock', description: 'The time', schema: z.object({}) }),
  ];
}

for (const api of ['chats', 'responses', 'messages']) {
  test(`${api}: texts, streams and calls`, async () => {
    const { model } = connect(api);
    assert.ok((await model.invoke('Say hello')).text.length > 0);
    let text = '';
    for await (const chunk of await model.stream('Say hello')) text += chunk.text;
    assert.ok(text.length > 0);
    const { tool_calls: calls } = await model.bindTools(tools(functions()))
        .invoke('call weather {"city": "Bern"}');
    assert.deepEqual(calls.map(({ name, args }) => [name, args]), [['weather', { city: 'Bern' }]]);
  });

  test(`${api}: a prompt that is too long is known as such`, async () => {
    const { model } = connect(api);
    await assert.rejects(model.invoke('word '.repeat(9000)),
        (error) => ContextOverflowError.isInstance(error) || assert.fail(String(error)));
  });

  test(`${api}: a named agent, three turns`, async () => {
    const { model, exchanges, compact } = connect(api);
    const { ran, ...own } = functions();
    const agent = createAgent({ name: 'helper', model, tools: tools(own), systemPrompt });
    const answers = [];
    let messages = [];
    for (const { says } of turns) {
      ({ messages } = await agent.invoke({ messages: [...messages, user(says)] }));
      answers.push(messages.at(-1).text);
    }
    await check(servers, { exchanges, ran, answers, system: systemPrompt, compact });
  });

  test(`${api}: a graph with a checkpoint, streamed`, async () => {
    const { model, exchanges, compact } = connect(api);
    const { ran, ...own } = functions();
    const bound = model.bindTools(tools(own));
    const graph = new StateGraph(MessagesAnnotation)
        .addNode('model', async ({ messages }) => ({ messages: [await bound.invoke(messages)] }))
        .addNode('tools', new ToolNode(tools(own)))
        .addEdge(START, 'model')
        .addConditionalEdges('model', toolsCondition)
        .addEdge('tools', 'model')
        .compile({ checkpointer: new MemorySaver() });
    const answers = [];
    for (const { says } of turns) {
      let answer = '';
      for await (const [chunk] of await graph.stream({ messages: [user(says)] },
          { configurable: { thread_id: 'one' }, streamMode: 'messages' })) {
        if (chunk.getType() === 'ai') answer += chunk.text;
      }
      answers.push(answer);
    }
    await check(servers, { exchanges, ran, answers, compact });
  });
}

for (const api of ['chats', 'responses']) {
  test(`${api}: an agent answers in an object, after its tools`, async () => {
    const { model } = connect(api);
    const { ran, ...own } = functions();
    const agent = createAgent({ name: 'helper', model, tools: tools(own),
                                responseFormat: providerStrategy(place) });
    let messages = [];
    for (const { says } of turns) {
      const result = await agent.invoke({ messages: [...messages, user(says)] });
      place.parse(result.structuredResponse);
      ({ messages } = result);
    }
    assert.deepEqual(ran, allCalls);
  });

  test(`${api}: an object without tools`, async () => {
    const held = connect(api).model.withStructuredOutput(place, { method: 'jsonSchema' });
    place.parse(await held.invoke('Where?'));
  });
}

test('responses: thoughts are sent back', async () => {
  const { model, exchanges } = connect('responses', { model: 'demo', maxTokens: 192 });
  const agent = createAgent({ name: 'recruiter', model, systemPrompt: screening.system });
  let messages = [];
  for (const candidate of screening.candidates) {
    ({ messages } = await agent.invoke({ messages: [...messages, user(candidate)] }));
  }
  assert.match(JSON.stringify(exchanges.at(-1).body), /"type":"reasoning"/);
});

test('embeddings', async () => {
  const vectors = new OpenAIEmbeddings({ model: 'embed', apiKey: 'none',
                                         configuration: { baseURL: `${server.url}/v1` } });
  assert.equal((await vectors.embedDocuments(['a', 'b'])).length, 2);
});
