import type { Pipeline } from '../lake/pipeline.ts'
import { openSession, type Session } from '../lake/session.ts'
import { loadModels } from '../model/graph.ts'
import { runModels } from '../model/run.ts'
import type { Brand } from '../op.ts'
import { openMembers } from './members.ts'

/**
 * What rules and data teams read in an opened session, beside its sources: the models, `member_history` and
 * `segment_members (segment_id, customer)`, the members at the session's instant under the customer of today.
 */
export async function prepareReading(pipeline: Pipeline, session: Session): Promise<void> {
  const { duck, manifest } = session
  await runModels(duck.connection, await loadModels())
  await openMembers(session, pipeline.lakeDir, 'view')
  const segments = await pipeline.postgres.pipeline.many<{ id: string; ordinal: number }>(
    'segment_ordinals',
    [manifest.brandId],
  )
  await duck.run('create table segment_ids (segment integer, segment_id varchar)')
  await duck.run(
    `insert into segment_ids
     select (pair ->> 0)::integer, pair ->> 1 from (select unnest($1::json::json[]) as pair)`,
    [JSON.stringify(segments.map(({ ordinal, id }) => [ordinal, id]))],
  )
  // The past is played again from the history: the members of now have lost when someone left.
  await duck.run(`
    create view segment_members as
    with changed_later as (
      select exists (from member_history, params where changed_at > params.as_of) as yes
    ),
    then_members as (
      select segment, customer from member_history, params where changed_at <= params.as_of
      group by segment, customer having arg_max(action, generation) = 'entered'
    ),
    at_instant as (
      select segment, customer from then_members, changed_later where yes
      union all
      select segment, customer from member_before, changed_later where not yes
    )
    select distinct segment_id, coalesce(redirect.customer, at_instant.customer) as customer
    from at_instant
    join segment_ids using (segment)
    left join subject_redirect as redirect on redirect.subject = at_instant.customer`)
}

/** All sources, models and members of a brand in one locked session. */
export async function openReading(pipeline: Pipeline, brand: Brand, asOf: Date): Promise<Session> {
  const session = await openSession(pipeline, brand, asOf)
  try {
    await prepareReading(pipeline, session)
    return session
  } catch (error) {
    await session.close()
    throw error
  }
}
