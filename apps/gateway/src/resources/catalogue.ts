import { apiVersionOf, kindByResource, storedKinds, taskResources, views, type Kind } from '@roundsman/api';
import type { Bus } from '@roundsman/bus';
import type { ChangeFeed } from '@roundsman/reconcile';
import type { Store } from '@roundsman/store';
import type { Reports } from '@roundsman/reports';
import { NodeStats } from '@roundsman/usage';
import { KdoctorReports, kdoctorReportKind } from './kdoctor-reports.ts';
import type { Reader, Served, Stored, Verb } from './reader.ts';
import type { ReportFeed } from './report-feed.ts';
import { LatestReports, RoundReports } from './report-readers.ts';
import { StoredReader } from './stored-reader.ts';
import type { Tasks } from './tasks.ts';
import { NodeUsage, PodUsage, Usage } from './usage-readers.ts';

const allVerbs: readonly Verb[] = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const taskKeys: ReadonlySet<string> = new Set(Object.values(taskResources));

/** Every resource the gateway answers for, by group, version and plural. */
export class Catalogue {
  readonly all: readonly Served[];
  readonly #byPath: ReadonlyMap<string, Served>;

  constructor(all: readonly Served[]) {
    this.all = all;
    this.#byPath = new Map(all.map((served) => [`${served.kind.group}/${served.kind.version}/${served.kind.plural}`, served]));
  }

  find(group: string, version: string, plural: string): Served | undefined {
    return this.#byPath.get(`${group}/${version}/${plural}`);
  }
}

/** Stored kinds, their views, and with `kdoctorNamespace` those that show one namespace: the kdoctor.io view of the tasks. */
export function storedResources(store: Store, feed: ChangeFeed, kdoctorNamespace: string | undefined): Served[] {
  const served = (kind: Kind, stored: Stored): Served => ({ kind, stored, verbs: allVerbs, reader: new StoredReader(store, feed, stored) });
  const own = storedKinds.map((kind) => served(kind, { kind }));
  const shown = views.filter(({ namespaced }) => namespaced || kdoctorNamespace !== undefined);
  return [
    ...own,
    ...shown.map((view) => {
      const kind = kindByResource.get(view.resource) as Kind;
      const stored = { kind, view: { apiVersion: apiVersionOf(view), ...(view.namespaced ? {} : { namespace: kdoctorNamespace as string }), fromStored: view.toView } };
      // Of another group the stored kinds have the short names; kubectl would warn about the second at every use.
      return served(view.group === kind.group ? view : { ...view, shortNames: [] }, stored);
    }),
  ];
}

/** Reports, which are read from the report tables. */
export function reportResources(reports: Reports, tasks: Tasks, feed: ReportFeed, kdoctorNamespace: string | undefined): Served[] {
  const watched: readonly Verb[] = ['get', 'list', 'watch'];
  return [
    { kind: kindByResource.get('reports.roundsman.io') as Kind, reader: new LatestReports(reports, tasks, feed), verbs: watched },
    { kind: kindByResource.get('roundreports.roundsman.io') as Kind, reader: new RoundReports(reports, feed), verbs: watched },
    ...(kdoctorNamespace === undefined ? [] : [{ kind: kdoctorReportKind, reader: new KdoctorReports(reports, tasks, kdoctorNamespace), verbs: ['get', 'list'] as const }]),
  ];
}

/** What nodes and pods use, asked of the agents (metrics.k8s.io). */
export function usageResources(bus: Bus, stored: readonly Served[]): Served[] {
  const reader = (plural: string): Reader => (stored.find(({ kind }) => kind.group === '' && kind.plural === plural) as Served).reader;
  const usage = new Usage(new NodeStats(bus), reader('nodes'), reader('pods'));
  const kind = (plural: string): Kind => kindByResource.get(`${plural}.metrics.k8s.io`) as Kind;
  return [
    { kind: kind('nodes'), reader: new NodeUsage(usage), verbs: ['get', 'list'] },
    { kind: kind('pods'), reader: new PodUsage(usage), verbs: ['get', 'list'] },
  ];
}

/** Whether a served resource is a task, in whatever group: it can be run, cancelled and watched live. */
export const isTask = ({ stored }: Served): boolean => stored !== undefined && taskKeys.has(`${stored.kind.plural}.${stored.kind.group}`);
