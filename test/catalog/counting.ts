// A database that counts what is asked of it, as D1 would bill it.

export function counting(db: D1Database) {
  let written = 0
  let read = 0
  const count = ({ meta }: D1Result<unknown>) => {
    written += meta.rows_written
    read += meta.rows_read
  }
  const counted = {
    prepare: (sql: string) => selecting(db.prepare(sql), count),
    async batch<T>(statements: D1PreparedStatement[]): Promise<D1Result<T>[]> {
      const results = await db.batch<T>(statements)
      results.forEach(count)
      return results
    },
  }
  return {
    // The catalog uses these two methods alone; the abstract class has more.
    db: counted as unknown as D1Database,
    rowsWritten: () => written,
    rowsRead: () => read,
  }
}

/** `raw()`, with which drizzle selects, tells no cost: this one asks `all()`, which does. */
function selecting(
  statement: D1PreparedStatement,
  count: (result: D1Result<unknown>) => void,
): D1PreparedStatement {
  return new Proxy(statement, {
    get(target, name) {
      if (name === 'bind') return (...values: unknown[]) => selecting(target.bind(...values), count)
      if (name === 'raw') {
        return async () => {
          const result = await target.all<Record<string, unknown>>()
          count(result)
          return result.results.map((row) => Object.values(row))
        }
      }
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}
