import { describe, expect, it } from '@jest/globals';
import { parseListeners } from './listeners.ts';
import { parseRoutes, parseRoutes6 } from './route-table.ts';

describe('what the kernel shows in files', () => {
  it('routes of both families', () => {
    const text = ['Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT', 'eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0', 'rn1\t0001F40A\t0101F40A\t0003\t0\t0\t0\t00FFFFFF\t0\t0\t0', 'rn1\t0101F40A\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0', ''].join('\n');
    expect(parseRoutes(text)).toEqual(['0.0.0.0/0', '10.244.1.0/24', '10.244.1.1/32']);
    expect(parseRoutes6('fd000002000000000000000000000000 40 00000000000000000000000000000000 00 fe80 00000400 00000001 00000000 00000001 rv1\n')).toEqual(['fd00:2::/64']);
  });

  it('ports that programs listen on, not those of connections', () => {
    const text = ['  sl  local_address rem_address   st', '   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000', '   1: 0100007F:A000 0100007F:1F90 01 00000000:00000000', ''].join('\n');
    expect(parseListeners(text, '0A')).toEqual([8080]);
  });
});
