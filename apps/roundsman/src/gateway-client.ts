import { runnerOf } from './nodes.ts';

/** A Kubernetes object as far as the command line reads it. */
export interface Seen {
  readonly kind?: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly uid?: string };
  readonly spec?: Record<string, unknown>;
  readonly status?: Record<string, unknown> & { readonly conditions?: readonly { type: string; status: string; message?: string }[]; readonly ready?: boolean; readonly reason?: string };
}

/** An answer of the gateway that is an error; the message is for people. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** The gateway over plain HTTP from this machine. */
export class GatewayClient {
  readonly #token: string;
  constructor(
    readonly url: string,
    token: string,
  ) {
    this.#token = token;
  }

  async get<T>(path: string): Promise<T> {
    return (await this.#fetch(path, {})) as T;
  }

  async list(path: string): Promise<Seen[]> {
    return (await this.get<{ items: Seen[] }>(path)).items;
  }

  async create(path: string, manifest: string): Promise<Seen> {
    return (await this.#fetch(path, { method: 'POST', body: manifest, headers: { 'content-type': 'application/yaml' } })) as Seen;
  }

  async delete(path: string): Promise<void> {
    await this.#fetch(path, { method: 'DELETE' });
  }

  /** Which checks do not hold; empty when ready. */
  async problems(): Promise<string[]> {
    const response = await fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(5_000) });
    const report = (await response.json()) as { checks?: { name: string; problem?: string }[] };
    return (report.checks ?? []).flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: ${problem}`]));
  }

  /** Server-sent events of every task until the signal aborts. Rejects when the stream breaks. */
  async *events(path: string, signal: AbortSignal): AsyncGenerator<{ event: string; data: unknown }> {
    const response = await fetch(this.url + path, { headers: { ...this.#auth(), accept: 'text/event-stream' }, signal });
    if (!response.ok || !response.body) throw new GatewayError(response.status, `${path}: ${response.status}`);
    let rest = '';
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop()!;
      for (const block of blocks) {
        const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]));
        const data = fields.get('data');
        if (data !== undefined) yield { event: fields.get('event') ?? 'message', data: JSON.parse(data) };
      }
    }
  }

  #auth(): Record<string, string> {
    return { authorization: `Bearer ${this.#token}` };
  }

  async #fetch(path: string, init: RequestInit & { headers?: Record<string, string> }): Promise<unknown> {
    const response = await fetch(this.url + path, { ...init, headers: { ...this.#auth(), accept: 'application/json', ...init.headers }, signal: AbortSignal.timeout(15_000) });
    const body = (await response.json().catch(() => ({}))) as { message?: string };
    if (!response.ok) throw new GatewayError(response.status, body.message ?? `${path}: HTTP ${response.status}`);
    return body;
  }
}

/** Which nodes are not ready, and why. */
export async function nodeProblems(client: GatewayClient, nodes: readonly string[]): Promise<string[]> {
  const seen = await client.list('/api/v1/nodes');
  return nodes.flatMap((name) => {
    const ready = seen.find(({ metadata }) => metadata.name === name)?.status?.conditions?.find(({ type }) => type === 'Ready');
    return ready?.status === 'True' ? [] : [`node ${name}: ${ready?.message ?? 'not seen yet'}`];
  });
}

/** Status of the condition Ready of a node; undefined when there is no such node, or nothing is known of it. */
export async function readyOf(client: GatewayClient, node: string): Promise<string | undefined> {
  const found = await unlessMissing(client.get<Seen>(`/api/v1/nodes/${node}`));
  return found?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
}

/** What is stored of the runner that the node's agent kept as a process: rounds would wait for it. */
export async function removeRunnerProcess(client: GatewayClient, node: string): Promise<void> {
  await unlessMissing(client.delete(`/apis/roundsman.io/v1/runners/${runnerOf(node)}`));
}

/** Removes a node that no agent stands for any more, and its runner, which rounds would wait for. False when there was no such node. */
export async function removeNode(client: GatewayClient, node: string): Promise<boolean> {
  await removeRunnerProcess(client, node);
  return (await unlessMissing(client.delete(`/api/v1/nodes/${node}`).then(() => true))) === true;
}

/** Removes the pods of a node whose containers are gone for sure: their owners make others elsewhere. */
export async function forgetPods(client: GatewayClient, node: string): Promise<void> {
  for (const { metadata } of await client.list(`/api/v1/pods?fieldSelector=spec.nodeName%3D${node}`)) {
    await unlessMissing(client.delete(`/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}?gracePeriodSeconds=0`));
  }
}

/** Undefined when there is no such object. */
export async function unlessMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof GatewayError && error.code === 404) return undefined;
    throw error;
  }
}

/** Which nodes cannot run containers, each reason once: many nodes may share a daemon. */
export async function containerProblems(client: GatewayClient, nodes: readonly string[]): Promise<string[]> {
  const seen = await client.list('/api/v1/nodes');
  const byReason = new Map<string, string[]>();
  for (const name of nodes) {
    const condition = seen.find(({ metadata }) => metadata.name === name)?.status?.conditions?.find(({ type }) => type === 'ContainersRunnable');
    if (condition?.status !== 'False') continue;
    const message = condition.message ?? '';
    byReason.set(message, [...(byReason.get(message) ?? []), name]);
  }
  return [...byReason].map(([message, names]) => `${names.length === 1 ? 'node' : 'nodes'} ${names.join(', ')}: ContainersRunnable=False: ${message}`);
}

/** What nodes say of their network that may be why something else is not well; not by itself a reason: pods may need none of it. */
export async function networkProblems(client: GatewayClient, nodes: readonly string[]): Promise<string[]> {
  const bad: Readonly<Record<string, string>> = { NetworkUnavailable: 'True', ServicesForwarded: 'False' };
  const seen = await client.list('/api/v1/nodes');
  return nodes.flatMap((name) => {
    const conditions = seen.find(({ metadata }) => metadata.name === name)?.status?.conditions ?? [];
    return conditions.flatMap(({ type, status, message }) => (bad[type] === status ? [`node ${name}: ${type}=${status}: ${message ?? ''}`] : []));
  });
}
