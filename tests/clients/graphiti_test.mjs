// The server as Graphiti uses it, in each of its clients' shapes: the generic one asks chats for
// schemas as pydantic writes them (no additionalProperties, no strict), the one for OpenAI asks
// responses for strict ones; its bursts, its reranker, its embedder.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import Ajv2020 from 'ajv/dist/2020.js';
import OpenAI from 'openai';

import { models, Server } from './server.mjs';

const text = { type: 'string' };
const numbers = { items: { type: 'integer' }, type: 'array' };
const date = { anyOf: [{ type: 'string' }, { type: 'null' }], default: null };

function object(title, properties, required = Object.keys(properties)) {
  return { properties, required, title, type: 'object' };
}

function list(title, property, item) {
  return {
    $defs: { [item.title]: item },
    ...object(title, { [property]: { items: { $ref: `#/$defs/${item.title}` }, type: 'array' } }),
  };
}

const schemas = [
  list('ExtractedEntities', 'extracted_entities', object('ExtractedEntity',
      { name: text, entity_type_id: { type: 'integer' }, episode_indices: numbers },
      ['name', 'entity_type_id'])),
  list('ExtractedEdges', 'edges', object('Edge',
      { source_entity_name: text, target_entity_name: text, relation_type: text, fact: text,
        valid_at: date, invalid_at: date, episode_indices: numbers },
      ['source_entity_name', 'target_entity_name', 'relation_type', 'fact'])),
  list('NodeResolutions', 'entity_resolutions', object('NodeDuplicate',
      { id: { type: 'integer' }, name: text, duplicate_candidate_id: { type: 'integer' } })),
  object('EdgeDuplicate', { duplicate_facts: numbers, contradicted_facts: numbers }),
  object('EdgeTimestamps', { valid_at: date, invalid_at: date }, []),
  list('BatchEdgeTimestamps', 'timestamps',
      object('EdgeTimestamps', { valid_at: date, invalid_at: date }, [])),
  list('SummarizedEntities', 'summaries', object('SummarizedEntity', { name: text, summary: text })),
  object('Summary', { summary: text }),
  object('SummaryDescription', { description: text }),
  object('SagaSummary', { summary: text }),
  {
    $defs: {
      CombinedEntity: object('CombinedEntity', { name: text, entity_type_id: { type: 'integer' } }),
      CombinedFact: object('CombinedFact',
          { source_entity_name: text, target_entity_name: text, relation_type: text, fact: text,
            episode_indices: numbers },
          ['source_entity_name', 'target_entity_name', 'relation_type', 'fact']),
    },
    ...object('CombinedExtraction', {
      extracted_entities: { items: { $ref: '#/$defs/CombinedEntity' }, type: 'array' },
      edges: { items: { $ref: '#/$defs/CombinedFact' }, type: 'array' },
    }),
  },
];

// The model is random and might never end a text; so the lists and texts of a schema are bounded, as
// a user may do in a model of their own.
function brief(schema) {
  if (Array.isArray(schema)) return schema.map(brief);
  if (schema === null || typeof schema !== 'object') return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, brief(value)]));
  if (copy.type === 'string') copy.maxLength = 12;
  if (copy.type === 'array') copy.maxItems = 2;
  if (copy.type === 'integer') Object.assign(copy, { minimum: -1, maximum: 99 });
  return copy;
}

const ajv = new Ajv2020({ strict: false });
let server;

before(async () => {
  server = await Server.start(['--model', `chat=${models}/qwen3-f32.gguf`,
    '--model', `embed=${models}/bert-f32.gguf`, '--model-alias', 'gpt-4.1-mini=chat',
    '--model-alias', 'gpt-4.1-nano=chat']);
});
after(() => server?.stop());

function extraction(schema, content, model = 'gpt-4.1-mini') {
  return server.post('/v1/chat/completions', {
    model,
    messages: [
      { role: 'system', content: 'You extract facts from conversations. Do not escape unicode.' },
      { role: 'user', content },
    ],
    temperature: 1,
    max_tokens: 16384,
    response_format: { type: 'json_schema', json_schema: { name: schema.title, schema } },
  }, { Authorization: 'Bearer none' });
}

async function check(reply, schema) {
  assert.equal(reply.status, 200, reply.text);
  const { choices } = reply.json();
  assert.equal(choices[0].finish_reason, 'stop');
  const value = JSON.parse(choices[0].message.content);
  const valid = ajv.compile(schema);
  assert.ok(valid(value), `${schema.title}: ${JSON.stringify(value)} ${JSON.stringify(valid.errors)}`);
}

test('every schema of the pipeline is kept', async () => {
  for (const schema of schemas.map(brief)) {
    await check(await extraction(schema, 'Alice met Bob in Paris on Monday.'), schema);
  }
});

test('the schemas are taken as they are', async () => {
  // No limits on what is said: an answer that reaches the limit is cut, and says so.
  for (const schema of schemas) {
    const reply = await server.post('/v1/chat/completions', {
      model: 'gpt-4.1-nano', max_tokens: 40, messages: [{ role: 'user', content: 'Alice met Bob.' }],
      response_format: { type: 'json_schema', json_schema: { name: schema.title, schema } },
    });
    assert.equal(reply.status, 200, reply.text);
  }
});

// As OpenAI's clients make a schema strict: everything is required, nothing else may be there.
function strict(schema) {
  if (Array.isArray(schema)) return schema.map(strict);
  if (schema === null || typeof schema !== 'object') return schema;
  const copy = Object.fromEntries(Object.entries(schema)
      .filter(([name, value]) => name !== 'default' || value !== null)
      .map(([name, value]) => [name, strict(value)]));
  if (copy.type !== 'object') return copy;
  return { ...copy, required: Object.keys(copy.properties), additionalProperties: false };
}

test('the client for OpenAI: strict schemas through responses', async () => {
  const client = new OpenAI({ apiKey: 'none', baseURL: `${server.url}/v1`, maxRetries: 0 });
  for (const schema of schemas.map(brief).map(strict)) {
    const response = await client.responses.parse({
      model: 'gpt-4.1-mini',
      input: [{ role: 'system', content: 'You extract facts.' },
              { role: 'user', content: 'Alice met Bob in Paris on Monday.' }],
      temperature: 1, max_output_tokens: 16384,
      text: { format: { type: 'json_schema', strict: true, name: schema.title, schema } },
    });
    assert.equal(response.status, 'completed');
    const valid = ajv.compile(schema);
    const value = JSON.parse(response.output_text);
    assert.ok(valid(value), `${schema.title}: ${response.output_text} ${JSON.stringify(valid.errors)}`);
    assert.ok(response.usage.input_tokens > 0 && response.usage.output_tokens > 0);
  }
  // For models of certain names it says how hard to think and how long to write, in place of a
  // temperature.
  const schema = strict(brief(schemas[7]));
  const thought = await client.responses.create({
    model: 'gpt-4.1-mini', input: [{ role: 'user', content: 'Alice met Bob.' }],
    max_output_tokens: 16384, reasoning: { effort: 'minimal' },
    text: { verbosity: 'low',
            format: { type: 'json_schema', strict: true, name: schema.title, schema } },
  });
  JSON.parse(thought.output_text);
  // Where it has no schema it asks a chat for any object.
  const any = await client.chat.completions.create({
    model: 'gpt-4.1-nano', max_tokens: 60, messages: [{ role: 'user', content: 'As JSON.' }],
    response_format: { type: 'json_object' },
  });
  assert.ok(any.choices[0].message.content.startsWith('{'));
});

test('a burst of 18 extractions', async () => {
  const schema = brief(schemas[6]);
  const replies = await Promise.all(Array.from({ length: 18 }, (_, i) =>
    extraction(schema, `Summarize entity number ${i}: it was seen ${i} times.`, 'gpt-4.1-nano')));
  for (const reply of replies) await check(reply, schema);
});

test('the same question asked at once', async () => {
  const body = { model: 'chat', temperature: 0, max_tokens: 20,
                 messages: [{ role: 'user', content: 'What is a fact?' }] };
  const replies = await Promise.all(Array.from({ length: 12 },
      () => server.post('/v1/chat/completions', body)));
  const texts = new Set(replies.map((reply) => reply.json().choices[0].message.content));
  assert.equal(texts.size, 1);
});

test('the reranker: true or false by log-probability', async () => {
  const passages = Array.from({ length: 20 }, (_, i) => `Passage ${i}: Bob likes tea.`);
  const scores = await Promise.all(passages.map(async (passage) => {
    const reply = await server.post('/v1/chat/completions', {
      model: 'gpt-4.1-nano',
      messages: [
        { role: 'system', content: 'You are an expert tasked with determining relevance.' },
        { role: 'user', content: `Respond with "True" or "False".\n<PASSAGE>${passage}</PASSAGE>\n` +
                                 '<QUERY>What does Bob like?</QUERY>' },
      ],
      temperature: 0, max_tokens: 1, logit_bias: { 6432: 1, 7983: 1 }, logprobs: true, top_logprobs: 2,
    });
    assert.equal(reply.status, 200, reply.text);
    const { content } = reply.json().choices[0].logprobs;
    assert.equal(content.length, 1);
    assert.equal(content[0].top_logprobs.length, 2);
    assert.ok(content[0].top_logprobs[0].logprob >= content[0].top_logprobs[1].logprob);
    return Math.exp(content[0].top_logprobs[0].logprob);
  }));
  for (const score of scores) assert.ok(score > 0 && score <= 1);
});

test('the embedder: one, many, the same ones at once', async () => {
  const embed = async (input) => {
    const reply = await server.post('/v1/embeddings', { model: 'embed', input, encoding_format: 'base64' });
    assert.equal(reply.status, 200, reply.text);
    return reply.json().data.map(({ embedding }) => {
      const bytes = Buffer.from(embedding, 'base64');
      return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
    });
  };
  const facts = Array.from({ length: 32 }, (_, i) => `Entity ${i % 16} works with entity ${i}`);
  const [single] = await embed(['Entity 0 works with entity 0']);
  const many = await Promise.all([embed(facts), embed(facts), ...facts.map((fact) => embed([fact]))]);
  const cosine = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  assert.ok(cosine(single, many[0][0]) > 0.9999);
  for (let i = 0; i < facts.length; ++i) {
    assert.ok(cosine(many[0][i], many[1][i]) > 0.9999);
    assert.ok(cosine(many[0][i], many[2 + i][0]) > 0.9999);
  }
});
