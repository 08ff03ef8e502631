import { scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { z } from 'zod'
import { runService, type Reply } from './service.ts'

const charge = z.object({ order: z.string(), cents: z.number().int().positive(), card: z.string() })
/** A gift card's code is its own content, base64url of JSON. */
const giftCard = z.object({ cents: z.number().int() })

const derive = promisify<string, string, number, { N: number; maxmem: number }, Buffer>(scrypt)
const thoroughFromCents = 20_000

/** ISO/IEC 7812-1, annex B. */
function hasValidCheckDigit(card: string): boolean {
  const digits = (card.match(/\d/g) ?? []).reverse().map(Number)
  const sum = digits.reduce((total, digit, index) => {
    const weighted = index % 2 === 0 ? digit : digit * 2
    return total + (weighted > 9 ? weighted - 9 : weighted)
  }, 0)
  return digits.length >= 12 && sum % 10 === 0
}

await runService('payments', ({ log, inSpan }) => {
  /** A fingerprint of the card, more costly to guess the more is at stake. That is what makes large payments slow. */
  const checkRisk = (card: string, cents: number): Promise<string> => {
    const cost = cents >= thoroughFromCents ? 2 ** 16 : 2 ** 11
    return inSpan('risk check', { attributes: { 'risk.cost': cost } }, async () => {
      const fingerprint = await derive(card, 'demo', 16, { N: cost, maxmem: 256 * cost * 8 })
      return fingerprint.toString('hex')
    })
  }

  const chargeGiftCard = (code: string, cents: number): Promise<Reply> =>
    inSpan('redeem gift card', {}, async () => {
      // A code that was not copied whole breaks here; nobody has thought of that yet.
      const held = giftCard.parse(JSON.parse(Buffer.from(code, 'base64url').toString('utf8')))
      if (held.cents >= cents) return { status: 200, body: { paid: true } }
      log.warn({ held_cents: held.cents, cents }, 'gift card holds too little')
      return { status: 402, body: { paid: false, reason: 'the gift card holds too little' } }
    })

  const chargeCard = async (card: string, cents: number): Promise<Reply> => {
    if (!hasValidCheckDigit(card)) {
      log.warn({ cents, last4: card.slice(-4) }, 'card declined: not a card number')
      return { status: 402, body: { paid: false, reason: 'not a card number' } }
    }
    const fingerprint = await checkRisk(card, cents)
    log.info({ cents, fingerprint }, 'payment captured')
    return { status: 200, body: { paid: true } }
  }

  return new Map([
    [
      'POST /charges',
      (body) => {
        const { card, cents } = charge.parse(body)
        return card.startsWith('GIFT-') ? chargeGiftCard(card.slice(5), cents) : chargeCard(card, cents)
      },
    ],
  ])
})
