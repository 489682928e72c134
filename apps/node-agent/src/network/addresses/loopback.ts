/** Of an address in its usual spelling. */
export const isLoopback = (address: string): boolean => address.startsWith('127.') || address === '::1';
