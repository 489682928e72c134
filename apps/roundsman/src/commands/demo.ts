export async function demo(): Promise<void> {
  throw new Error('written next');
}
