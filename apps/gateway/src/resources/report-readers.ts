import { badRequest, matchesFields, matchesLabels, taskLabels, type KubeObject, type ReportObject } from '@roundsman/api';
import { BadPageToken, type Page as ReportPage, type ReportList, type Reports } from '@roundsman/reports';
import type { ReportFeed } from './report-feed.ts';
import type { EventSink, EventSource, Page, PageQuery, Reader } from './reader.ts';
import type { Tasks } from './tasks.ts';

const asObject = (one: ReportObject): KubeObject => one as unknown as KubeObject;

/** `reports`: the last closed round of each existing task, as `<kind>-<task>`. */
export class LatestReports implements Reader {
  readonly #reports: Reports;
  readonly #tasks: Tasks;
  readonly #feed: ReportFeed;

  constructor(reports: Reports, tasks: Tasks, feed: ReportFeed) {
    this.#reports = reports;
    this.#tasks = tasks;
    this.#feed = feed;
  }

  async get(namespace: string | undefined, name: string): Promise<KubeObject | undefined> {
    const task = await this.#tasks.ofReport(namespace, name);
    const found = task && (await this.#reports.latest(task.object.metadata.uid));
    return found && asObject(found);
  }

  async page(query: PageQuery): Promise<Page> {
    const uids = (await this.#tasks.list(query.namespace)).map(({ object }) => object.metadata.uid);
    return filteredPage(query, (page) => this.#reports.listLatest(uids, page));
  }

  head(): Promise<number> {
    return this.#reports.version();
  }

  follow(namespace: string | undefined, since: number, sink: EventSink): EventSource {
    return this.#feed.followLatest(namespace, since, sink);
  }
}

/** `roundreports`: every kept round, also of deleted tasks. */
export class RoundReports implements Reader {
  readonly #reports: Reports;
  readonly #feed: ReportFeed;

  constructor(reports: Reports, feed: ReportFeed) {
    this.#reports = reports;
    this.#feed = feed;
  }

  async get(namespace: string | undefined, name: string): Promise<KubeObject | undefined> {
    const found = await this.#reports.round(namespace ?? '', name);
    return found && asObject(found);
  }

  page(query: PageQuery): Promise<Page> {
    // What the tables can select by is left to them; the rest is filtered here.
    const label = (key: string): string | undefined => query.labels.find((one) => one.key === key && one.operator === 'in' && one.values.length === 1)?.values[0];
    const name = query.fields.find(({ path, equal }) => path === 'metadata.name' && equal)?.value;
    const task = label(taskLabels.name);
    const taskUid = label(taskLabels.uid);
    const filter = {
      ...(query.namespace === undefined ? {} : { namespace: query.namespace }),
      ...(name === undefined ? {} : { name }),
      ...(task === undefined ? {} : { task }),
      ...(taskUid === undefined ? {} : { taskUid }),
    };
    return filteredPage(query, (page) => this.#reports.listRounds(filter, page));
  }

  head(): Promise<number> {
    return this.#reports.version();
  }

  follow(namespace: string | undefined, since: number, sink: EventSink): EventSource {
    return this.#feed.followRounds(namespace, since, sink);
  }
}

/** Reads on until the page is full of what is selected. The token carries the version of the first page. */
async function filteredPage({ labels, fields, limit, continue: place }: PageQuery, read: (page: ReportPage) => Promise<ReportList>): Promise<Page> {
  const [begun, token] = place === undefined ? [undefined, undefined] : splitToken(place);
  const items: KubeObject[] = [];
  let version = begun;
  let after = token;
  for (;;) {
    const wanted = limit === undefined ? undefined : limit - items.length;
    let page: ReportList;
    try {
      page = await read({ ...(wanted === undefined ? {} : { limit: wanted }), ...(after === undefined ? {} : { after }) });
    } catch (error) {
      if (error instanceof BadPageToken) throw badRequest('continue key is not valid');
      throw error;
    }
    version ??= page.version;
    items.push(...page.items.map(asObject).filter((object) => matchesLabels(labels, object.metadata.labels) && matchesFields(fields, object)));
    after = page.next;
    if (after === undefined) return { version, items };
    if (limit !== undefined && items.length >= limit) return { version, items, continue: `${version}.${after}` };
  }
}

function splitToken(place: string): [number, string] {
  const match = /^(\d{1,15})\.(.+)$/.exec(place);
  if (!match) throw badRequest('continue key is not valid');
  return [Number(match[1]), match[2] as string];
}
