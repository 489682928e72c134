import { ApiError, matchesFields, matchesLabels, notFound, type KubeObject } from '@roundsman/api';
import { messages, type Bus } from '@roundsman/bus';
import type { z } from 'zod';
import type { Page, PageQuery, Reader } from './reader.ts';

type Stats = z.infer<typeof messages.nodeStats.reply>;

/** Milliseconds that an agent has to answer; who does not is left out, as in metrics-server. */
const timeoutMs = 2_000;

/** What nodes and pods use, asked of all agents at once. */
export class Usage {
  readonly #bus: Bus;

  constructor(
    bus: Bus,
    readonly nodes: Reader,
    readonly pods: Reader,
  ) {
    this.#bus = bus;
  }

  /** By node; without those that gave no answer. */
  async ask(nodes: readonly string[]): Promise<Map<string, Stats>> {
    const answers = await Promise.allSettled(nodes.map((node) => this.#bus.request(messages.nodeStats, { node }, {}, { timeoutMs })));
    return new Map(answers.flatMap((answer, index) => (answer.status === 'fulfilled' ? [[nodes[index] as string, answer.value] as const] : [])));
  }

  /** Selected nodes or pods, by name; all pages. */
  async all(reader: Reader, { namespace, labels, fields }: PageQuery): Promise<KubeObject[]> {
    const objects: KubeObject[] = [];
    let place: string | undefined;
    do {
      const page = await reader.page({ namespace, labels: [], fields: [], limit: 1000, continue: place });
      objects.push(...page.items.filter((object) => matchesLabels(labels, object.metadata.labels) && matchesFields(fields, object)));
      place = page.continue;
    } while (place !== undefined);
    return objects;
  }
}

/** `kubectl top node`. */
export class NodeUsage implements Reader {
  constructor(private readonly usage: Usage) {}

  async get(_namespace: string | undefined, name: string): Promise<KubeObject> {
    const node = await this.usage.nodes.get(undefined, name);
    if (node === undefined) throw notFound({ plural: 'nodes', group: '' }, name);
    const stats = (await this.usage.ask([name])).get(name);
    if (stats === undefined) throw notMeasured('nodemetrics', name);
    return nodeMetricsOf(node, stats);
  }

  async page(query: PageQuery): Promise<Page> {
    const [version, nodes] = await Promise.all([this.head(), this.usage.all(this.usage.nodes, query)]);
    const stats = await this.usage.ask(nodes.map(({ metadata }) => metadata.name));
    return { version, items: nodes.flatMap((node) => of(stats, node.metadata.name, (one) => nodeMetricsOf(node, one))) };
  }

  head(): Promise<number> {
    return this.usage.nodes.head();
  }
}

/** `kubectl top pod`. */
export class PodUsage implements Reader {
  constructor(private readonly usage: Usage) {}

  async get(namespace: string | undefined, name: string): Promise<KubeObject> {
    const full = `${namespace ?? ''}/${name}`;
    const pod = await this.usage.pods.get(namespace, name);
    if (pod === undefined) throw notFound({ plural: 'pods', group: '' }, full);
    const [metrics] = await this.#of([pod]);
    if (metrics === undefined) throw notMeasured('podmetrics', full);
    return metrics;
  }

  async page(query: PageQuery): Promise<Page> {
    const [version, pods] = await Promise.all([this.head(), this.usage.all(this.usage.pods, query)]);
    return { version, items: await this.#of(pods) };
  }

  head(): Promise<number> {
    return this.usage.pods.head();
  }

  async #of(pods: readonly KubeObject[]): Promise<KubeObject[]> {
    const stats = await this.usage.ask([...new Set(pods.map(nodeOf))].filter((node) => node !== ''));
    return pods.flatMap((pod) => of(stats, nodeOf(pod), (one) => podMetricsOf(pod, one)));
  }
}

const nodeOf = ({ spec }: KubeObject): string => (spec as { nodeName?: string }).nodeName ?? '';
const notMeasured = (plural: string, name: string): ApiError => notFound({ plural, group: 'metrics.k8s.io' }, name);

function of<T>(stats: ReadonlyMap<string, Stats>, node: string, make: (stats: Stats) => T | undefined): T[] {
  const one = stats.get(node);
  const made = one && make(one);
  return made === undefined ? [] : [made];
}

const quantities = ({ cpuNanoCores, memoryBytes }: { cpuNanoCores: number; memoryBytes: number }): Record<string, string> => ({ cpu: `${Math.round(cpuNanoCores)}n`, memory: `${Math.round(memoryBytes / 1024)}Ki` });

/** `metadata` is the object's name and labels, and the time of the measurement. */
function measured({ metadata }: KubeObject, { at, windowSeconds }: Stats) {
  const { name, namespace, labels } = metadata;
  return { metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...(labels === undefined ? {} : { labels }), creationTimestamp: at }, timestamp: at, window: `${Number(windowSeconds.toFixed(3))}s` };
}

const nodeMetricsOf = (node: KubeObject, stats: Stats): KubeObject => ({ kind: 'NodeMetrics', apiVersion: 'metrics.k8s.io/v1beta1', ...measured(node, stats), usage: quantities(stats.node) }) as unknown as KubeObject;

/** Undefined when the agent says nothing of this very pod. */
function podMetricsOf(pod: KubeObject, stats: Stats): KubeObject | undefined {
  const containers = stats.pods.find(({ uid }) => uid === pod.metadata.uid)?.containers;
  if (containers === undefined || containers.length === 0) return undefined;
  return { kind: 'PodMetrics', apiVersion: 'metrics.k8s.io/v1beta1', ...measured(pod, stats), containers: containers.map((one) => ({ name: one.name, usage: quantities(one) })) } as unknown as KubeObject;
}
