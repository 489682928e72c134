/**
 * Steps whose outcome differs from that of a real Kubernetes, and why that is right or bearable. The test fails for a step that differs and is not
 * here, and for one that is here and does not differ.
 */
export const differences: Readonly<Record<string, string>> = {};
