import type { Route } from '#src/http/route.ts'
import { sessionPage, type AppContext } from '../context.ts'
import { seeOther } from '../page.ts'

const path = '/app/json'

/** The address of everything that has an id, as JSON. It goes through a page's address, which may name a workspace; an address of the API may not. */
export const asJson = (id: string): string => `${path}?${id}`

/** Redirects to the API with the same parameters. */
export const createAsJsonRoutes = ({ refuse }: Pick<AppContext, 'refuse'>): readonly Route[] => [
  {
    ...sessionPage(refuse),
    method: 'GET',
    path,
    handler: (ctx) => seeOther(ctx, `/api/app/correlation?${ctx.querystring}`),
  },
]
