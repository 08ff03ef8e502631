import type { Route } from '#src/http/route.ts'
import { sessionPage, type AppContext } from '../context.ts'
import { seeOther } from '../page.ts'

const path = '/app/json'

/** The address of all that belongs to an id as JSON, by way of a page's: that may say which workspace it is of, and the API's may not. */
export const asJson = (id: string): string => `${path}?${id}`

/** Leads to the answer of the API, whose parameters it is given. */
export const createAsJsonRoutes = ({ refuse }: Pick<AppContext, 'refuse'>): readonly Route[] => [
  {
    ...sessionPage(refuse),
    method: 'GET',
    path,
    handler: (ctx) => seeOther(ctx, `/api/app/correlation?${ctx.querystring}`),
  },
]
