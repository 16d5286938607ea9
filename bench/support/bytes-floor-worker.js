// The floor for bytes: the least a Worker can do to take a file to R2 and to give it back.

export default {
  async fetch(request, env) {
    const key = new URL(request.url).pathname
    if (request.method === 'PUT') {
      await env.BLOBS.put(key, request.body)
      return new Response(null, { status: 201 })
    }
    const object = await env.BLOBS.get(key)
    return new Response(object?.body ?? null, { status: object === null ? 404 : 200 })
  },
}
