import { hash } from 'node:crypto'
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider'
import type { Statements } from '../../op.ts'
import type { Seal } from '../seal.ts'

interface Deps {
  pipeline: Statements
  seal: Seal
  /** Called after a grant was removed; what it returns is waited for. */
  grantEnded(id: string): Promise<void>
}

interface Row {
  id: Buffer
  content: Buffer
  consumed_at: Date | null
}

/** Where the authorization server keeps one kind of its records. */
export const recordsOf =
  ({ pipeline, seal, grantEnded }: Deps) =>
  (model: string): Adapter => {
    const place = (id: Buffer) => `${model} ${id.toString('hex')}`

    const opened = (row: Row | undefined): AdapterPayload | undefined => {
      if (!row) return undefined
      const payload = JSON.parse(seal.open(row.content, place(row.id)).toString()) as AdapterPayload
      return row.consumed_at
        ? { ...payload, consumed: Math.floor(row.consumed_at.getTime() / 1000) }
        : payload
    }

    return {
      async upsert(id, payload, expiresIn) {
        const key = keyOf(id)
        const content = seal.seal(Buffer.from(JSON.stringify(payload)), place(key))
        const { grantId = null, uid = null } = payload
        await pipeline.run('oidc_upsert', [model, key, content, grantId, uid, expiresIn ?? null])
      },

      async find(id) {
        return opened(await pipeline.maybe<Row>('oidc_find', [model, keyOf(id)]))
      },

      async findByUid(uid) {
        return opened(await pipeline.maybe<Row>('oidc_find_uid', [model, uid]))
      },

      async findByUserCode() {
        return undefined
      },

      async consume(id) {
        const consumed = await pipeline.run('oidc_consume', [model, keyOf(id)])
        // Another request used it since this one read it.
        if (consumed === 0) throw new errors.InvalidGrant('it was used already')
      },

      async destroy(id) {
        await pipeline.run('oidc_destroy', [model, keyOf(id)])
        if (model !== 'Grant') return
        await pipeline.run('grant_end', [id])
        await grantEnded(id)
      },

      async revokeByGrantId(grantId) {
        await pipeline.run('oidc_revoke_grant', [model, grantId])
      },
    }
  }

const keyOf = (id: string) => Buffer.from(hash('sha256', id, 'hex'), 'hex')
