import { ageOf, badRequest, matchesFields, matchesLabels, numberAt, textAt, valueAt, type Column, type Kind, type KubeObject } from '@roundsman/api';
import type { Reports } from '@roundsman/reports';
import { z } from 'zod';
import type { Page, PageQuery, Reader } from './reader.ts';
import { kdoctorTask, type Tasks } from './tasks.ts';

const column = (name: string, type: Column['type'], description: string, priority: 0 | 1, cell: Column['cell']): Column => ({ name, type, description, priority, cell });

/** As kdoctor declares it: namespaced, though the namespace means nothing. */
export const kdoctorReportKind: Kind = {
  group: 'system.kdoctor.io',
  version: 'v1beta1',
  kind: 'KdoctorReport',
  plural: 'kdoctorreports',
  singular: 'kdoctorreport',
  shortNames: [],
  categories: [],
  namespaced: true,
  schema: z
    .object({
      apiVersion: z.literal('system.kdoctor.io/v1beta1').describe('Version of the schema of this object'),
      kind: z.literal('KdoctorReport').describe('Kind of this object'),
      metadata: z.looseObject({}).describe('Name and creation time of the task'),
      task: z.looseObject({ name: z.string().describe('Name of the task'), kind: z.string().describe('NetReach, AppHttpHealthy or Netdns') }).describe('The task'),
      status: z.looseObject({}).describe('How far the task is'),
      report: z.looseObject({ latestRoundReport: z.array(z.looseObject({})).describe('One report per agent') }).describe('The last closed round'),
    })
    .describe('The last closed round of a task, in the schema of kdoctor'),
  hasStatus: false,
  virtual: true,
  columns: [
    column('Name', 'string', 'Kind and name of the task', 0, (object) => object.metadata.name),
    column('Round', 'integer', 'Number of the round', 0, (object) => numberAt(object, 'status', 'roundNumber') ?? null),
    column('Result', 'string', 'succeed, or fail when one agent failed', 0, (object) => ((valueAt(object, 'report', 'latestRoundReport') as object[]).every((one) => textAt(one, 'roundResult') === 'succeed') ? 'succeed' : 'fail')),
    column('Status', 'string', 'Whether all rounds are done', 0, (object) => textAt(object, 'status', 'status') ?? null),
    column('Age', 'string', 'Time since the task was created', 0, (object, now) => ageOf(object.metadata.creationTimestamp, now)),
    column('Agents', 'integer', 'Agents that reported', 1, (object) => (valueAt(object, 'report', 'latestRoundReport') as object[]).length),
  ],
  fieldSelectors: [],
};

/** `kdoctorreports`: kdoctor's own form of the last closed round, of the tasks in one namespace. */
export class KdoctorReports implements Reader {
  readonly #reports: Reports;
  readonly #tasks: Tasks;
  readonly #namespace: string;

  constructor(reports: Reports, tasks: Tasks, namespace: string) {
    this.#reports = reports;
    this.#tasks = tasks;
    this.#namespace = namespace;
  }

  async get(_namespace: string | undefined, name: string): Promise<KubeObject | undefined> {
    const task = await this.#tasks.ofReport(this.#namespace, name);
    return task && ((await this.#reports.kdoctor(kdoctorTask(task.kind, task.object))) as unknown as KubeObject | undefined);
  }

  /** By name; the continue key is the last name. */
  async page({ labels, fields, limit, continue: place }: PageQuery): Promise<Page> {
    if (place !== undefined && !/^[a-z0-9.-]+$/.test(place)) throw badRequest('continue key is not valid');
    const version = await this.head();
    const tasks = (await this.#tasks.list(this.#namespace))
      .map((task) => ({ ...task, report: `${task.kind.toLowerCase()}-${task.object.metadata.name}` }))
      .filter(({ report }) => place === undefined || report > place)
      .sort((a, b) => (a.report < b.report ? -1 : 1));
    const items: KubeObject[] = [];
    for (const [i, { kind, object, report }] of tasks.entries()) {
      const found = (await this.#reports.kdoctor(kdoctorTask(kind, object))) as unknown as KubeObject | undefined;
      if (found && matchesLabels(labels, found.metadata.labels) && matchesFields(fields, found)) items.push(found);
      if (limit !== undefined && items.length >= limit && i + 1 < tasks.length) return { version, items, continue: report };
    }
    return { version, items };
  }

  head(): Promise<number> {
    return this.#reports.version();
  }
}
