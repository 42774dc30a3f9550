const PIECE_BYTES = 1 << 20
const MOST_PIECES = 16

interface Piece {
  bytes: Buffer
  used: number
  /** Lines in it that were not given back. */
  users: number
}

/**
 * Keeps lines while they wait, in pieces of memory that are used again and again. A buffer for each request lives just
 * long enough to be counted as old: V8 collected all of its heap for every 50 requests of 75 KB.
 */
export class LineMemory {
  readonly #pieces = new Map<ArrayBufferLike, Piece>()
  #free: Piece[] = []
  #current: Piece | undefined

  /** A copy, until it is given back. When all pieces are taken, of memory of its own. */
  keep(lines: Buffer): Buffer {
    const piece = this.#roomFor(lines.length)
    if (!piece) return Buffer.from(lines)
    const start = piece.used
    piece.used += lines.copy(piece.bytes, start)
    piece.users++
    return piece.bytes.subarray(start, piece.used)
  }

  /** Nobody reads what `keep` returned any more. Once for each. */
  giveBack(kept: Buffer): void {
    const piece = this.#pieces.get(kept.buffer)
    if (!piece || --piece.users > 0) return
    piece.used = 0
    if (piece !== this.#current) this.#free.push(piece)
  }

  #roomFor(bytes: number): Piece | undefined {
    const current = this.#current
    if (current && current.used + bytes <= PIECE_BYTES) return current
    if (bytes > PIECE_BYTES) return undefined
    const next = this.#free.pop() ?? this.#another()
    if (next) this.#current = next
    return next
  }

  #another(): Piece | undefined {
    if (this.#pieces.size === MOST_PIECES) return undefined
    // Never a part of what buffers share, which others write to.
    const piece = { bytes: Buffer.allocUnsafeSlow(PIECE_BYTES), used: 0, users: 0 }
    this.#pieces.set(piece.bytes.buffer, piece)
    return piece
  }
}
