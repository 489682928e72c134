import { ApiError, matchesFields, matchesLabels, notFound, type KubeObject, type Pod } from '@roundsman/api';
import { nodeMetricsOf, podMetricsOf, type NodeStats, type Stats } from '@roundsman/usage';
import type { Page, PageQuery, Reader } from './reader.ts';

/** What nodes and pods use, asked of all agents at once. */
export class Usage {
  constructor(
    readonly stats: NodeStats,
    readonly nodes: Reader,
    readonly pods: Reader,
  ) {}

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
    const stats = (await this.usage.stats.of([name])).get(name);
    if (stats === undefined) throw notMeasured('nodemetrics', name);
    return shown(nodeMetricsOf(node, stats));
  }

  async page(query: PageQuery): Promise<Page> {
    const [version, nodes] = await Promise.all([this.head(), this.usage.all(this.usage.nodes, query)]);
    const stats = await this.usage.stats.of(nodes.map(({ metadata }) => metadata.name));
    return { version, items: nodes.flatMap((node) => of(stats, node.metadata.name, (one) => shown(nodeMetricsOf(node, one)))) };
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
    const [metrics] = await this.#of([pod as Pod]);
    if (metrics === undefined) throw notMeasured('podmetrics', full);
    return metrics;
  }

  async page(query: PageQuery): Promise<Page> {
    const [version, pods] = await Promise.all([this.head(), this.usage.all(this.usage.pods, query)]);
    return { version, items: await this.#of(pods as Pod[]) };
  }

  head(): Promise<number> {
    return this.usage.pods.head();
  }

  async #of(pods: readonly Pod[]): Promise<KubeObject[]> {
    const stats = await this.usage.stats.of(pods.map(nodeOf).filter((node) => node !== ''));
    return pods.flatMap((pod) =>
      of(stats, nodeOf(pod), (one) => {
        const metrics = podMetricsOf(pod, one);
        return metrics && shown(metrics);
      }),
    );
  }
}

const nodeOf = ({ spec }: Pod): string => spec.nodeName ?? '';
const notMeasured = (plural: string, name: string): ApiError => notFound({ plural, group: 'metrics.k8s.io' }, name);
/** They are objects in all but the spec. */
const shown = (metrics: Pick<KubeObject, 'metadata'>): KubeObject => metrics as KubeObject;

function of<T>(stats: ReadonlyMap<string, Stats>, node: string, make: (stats: Stats) => T | undefined): T[] {
  const one = stats.get(node);
  const made = one && make(one);
  return made === undefined ? [] : [made];
}
