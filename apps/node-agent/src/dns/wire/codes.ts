/** Numbers of the DNS protocol (IANA) that something here decides by. */
export const types = { A: 1, NS: 2, CNAME: 5, SOA: 6, PTR: 12, TXT: 16, AAAA: 28, SRV: 33, OPT: 41, IXFR: 251, AXFR: 252, ANY: 255 } as const;
export const rcodes = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5, BADVERS: 16 } as const;
export const classIn = 1;

/** Bits of the header's second word. */
export const flags = { reply: 0x8000, opcode: 0x7800, authoritative: 0x0400, truncated: 0x0200, recursionDesired: 0x0100, recursionAvailable: 0x0080, authentic: 0x0020, checkingDisabled: 0x0010, rcode: 0x000f } as const;

export const headerBytes = 12;
/** The largest datagram that is sent: it passes every usual path whole. */
export const largestDatagram = 1232;
/** What whoever sends no OPT record takes. */
export const plainDatagram = 512;
