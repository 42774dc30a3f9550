/** What the first answers, once neither goes on any more; an error of either. */
export async function together<Answer>(one: Promise<Answer>, other: Promise<void> | null): Promise<Answer> {
  await Promise.allSettled([one, other])
  await other
  return await one
}
