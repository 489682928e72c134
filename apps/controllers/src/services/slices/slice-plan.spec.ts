import { describe, expect, it } from '@jest/globals';
import type { Endpoint, EndpointSlice } from '@roundsman/api';
import { array, assert, constantFrom, nat, property, record } from 'fast-check';
import type { SliceGroup } from './slice-groups.ts';
import { planSlices, type SliceContent, type SlicePlan } from './slice-plan.ts';

const limit = 3;
const endpoint = (name: number, ready = true): Endpoint => ({ addresses: [`10.0.0.${name}`], conditions: { ready }, targetRef: { uid: String(name) } });
const group = (port: number, ...endpoints: Endpoint[]): SliceGroup => ({ addressType: 'IPv4', ports: [{ name: '', protocol: 'TCP', port }], endpoints });
let made = 0;
const stored = (content: SliceContent, name = `s${String(made++).padStart(5, '0')}`): EndpointSlice => ({ metadata: { name }, ...content }) as EndpointSlice;
const apply = (slices: readonly EndpointSlice[], { create, update, remove }: SlicePlan): EndpointSlice[] => [
  ...slices.filter((slice) => !remove.includes(slice)).map((slice) => {
    const content = update.find((one) => one.slice === slice)?.content;
    return content === undefined ? slice : stored(content, slice.metadata.name);
  }),
  ...create.map((content) => stored(content)),
];
const plan = (wanted: readonly SliceGroup[], slices: readonly EndpointSlice[]): SlicePlan => planSlices(wanted, slices, () => false, limit);
const writes = ({ create, update, remove }: SlicePlan): number[] => [create.length, update.length, remove.length];
const names = (slice: Pick<EndpointSlice, 'endpoints'> | undefined): string[] => (slice?.endpoints ?? []).map(({ targetRef }) => targetRef?.uid ?? '');

describe('slices of a service', () => {
  it('are no write when all is so already', () => {
    const slices = apply([], plan([group(80, endpoint(1), endpoint(2), endpoint(3), endpoint(4))], []));
    expect(slices).toHaveLength(2);
    expect(writes(plan([group(80, endpoint(4), endpoint(3), endpoint(2), endpoint(1))], slices))).toEqual([0, 0, 0]);
  });

  it('one that changed is one write, and what is new comes along', () => {
    const slices = apply([], plan([group(80, endpoint(1), endpoint(2), endpoint(3), endpoint(4))], []));
    const { update, ...rest } = plan([group(80, endpoint(1), endpoint(3), endpoint(4), endpoint(5, false))], slices);
    expect([update.length, rest.create.length, rest.remove.length]).toEqual([1, 0, 0]);
    expect(names(update[0]?.content)).toEqual(['1', '3', '5']);
  });

  it('what is new goes where it has room, else into a new one', () => {
    const slices = [stored({ ...group(80, endpoint(1), endpoint(2)), ports: [...group(80).ports], endpoints: [endpoint(1), endpoint(2)] })];
    expect(writes(plan([group(80, endpoint(1), endpoint(2), endpoint(3))], slices))).toEqual([0, 1, 0]);
    expect(writes(plan([group(80, endpoint(1), endpoint(2), endpoint(3), endpoint(4))], slices))).toEqual([1, 0, 0]);
  });

  it('none at all is one empty slice, which becomes the first that is not', () => {
    const none: SliceGroup = { addressType: 'IPv4', ports: [], endpoints: [] };
    const empty = apply([], plan([none], []));
    expect(empty.map(({ endpoints, ports }) => ({ endpoints, ports }))).toEqual([{ endpoints: [], ports: [] }]);
    expect(writes(plan([none], empty))).toEqual([0, 0, 0]);
    const one = plan([group(80, endpoint(1))], empty);
    expect(writes(one)).toEqual([0, 1, 0]);
    expect(writes(plan([none], apply(empty, one)))).toEqual([0, 1, 0]);
    expect(writes(plan([none], [...empty, stored({ addressType: 'IPv4', ports: [], endpoints: [] })]))).toEqual([0, 0, 1]);
  });

  it('of other ports or another family are not mixed', () => {
    const slices = apply([], plan([group(80, endpoint(1)), group(8080, endpoint(2))], []));
    expect(slices.map((slice) => [slice.ports[0]?.port, names(slice)])).toEqual([[80, ['1']], [8080, ['2']]]);
    const six = plan([{ addressType: 'IPv6', ports: [], endpoints: [] }], slices);
    expect(writes(six)).toEqual([1, 0, 2]);
  });

  it('hold exactly what is wanted, once, within their size, whatever was there; and then nothing is to do', () => {
    const endpoints = array(record({ name: nat(12), ready: constantFrom(true, false), port: constantFrom(80, 8080) }), { maxLength: 20 });
    assert(
      property(array(endpoints, { minLength: 1, maxLength: 6 }), (steps) => {
        let slices: EndpointSlice[] = [];
        for (const step of steps) {
          const each = [...new Map(step.map((one) => [one.name, one])).values()];
          const of = (port: number): Endpoint[] => each.filter((one) => one.port === port).map(({ name, ready }) => endpoint(name, ready));
          const groups = [80, 8080].map((port) => group(port, ...of(port))).filter((one) => one.endpoints.length > 0);
          const wanted = groups.length > 0 ? groups : [{ addressType: 'IPv4' as const, ports: [], endpoints: [] }];
          slices = apply(slices, plan(wanted, slices));
          for (const slice of slices) expect(slice.endpoints.length).toBeLessThanOrEqual(limit);
          const told = slices.flatMap((slice) => slice.endpoints.map((one) => `${one.targetRef?.uid} ${one.conditions.ready} ${slice.ports[0]?.port}`)).sort();
          expect(told).toEqual(each.map(({ name, ready, port }) => `${name} ${ready} ${port}`).sort());
          expect(writes(plan(wanted, slices))).toEqual([0, 0, 0]);
        }
      }),
      { numRuns: 300 },
    );
  });
});
