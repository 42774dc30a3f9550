import type { Membership } from '../../access/sign-in/user.ts'
import type { Reply } from '../reply.ts'
import { type Html, html } from './html.ts'
import { page } from './page.ts'
import { SCOPE_WORDS } from './words.ts'

export interface LoginPage {
  /** Where its form is sent. */
  action: string
  /** Name of the client that asks; null for the web app. */
  client: string | null
  email?: string
  problem?: string
  /** Whether the problem is what was entered. */
  invalid?: boolean
  status?: number
  headers?: Record<string, string>
  /** Sent back with the form. */
  next?: string
}

export function loginPage(asked: LoginPage): Reply {
  const { action, client, email, problem, invalid, status, headers, next } = asked
  const wrong = html`${problem && html`aria-describedby="problem"`} ${invalid && html`aria-invalid="true"`}`
  const content = html`<h1>Sign in</h1>
${client && html`<p>to connect <strong><bdi>${client}</bdi></strong></p>`}
${problem && html`<p class="problem" role="alert" id="problem">${problem}</p>`}
<form method="post" action="${action}">
${next && html`<input type="hidden" name="next" value="${next}">`}
<label for="email">Email</label>
<input type="email" id="email" name="email" value="${email}" autocomplete="username" required maxlength="254"
  ${wrong} ${!email && html`autofocus`}>
<label for="password">Password</label>
<input type="password" id="password" name="password" autocomplete="current-password" required maxlength="256"
  ${wrong} ${email && html`autofocus`}>
<button>Sign in</button>
</form>`
  return page({ title: problem ? 'Not signed in' : 'Sign in', content, status, headers })
}

export interface ConsentPage {
  /** Path of the interaction. */
  action: string
  client: string
  /** Where the answer is sent, in words. */
  target: string
  email: string
  memberships: readonly Membership[]
  /** Brand that is chosen at first. */
  brandId: string
  scopes: readonly string[]
  problem?: string
  status?: number
  leadsTo: readonly string[]
}

export function consentPage(asked: ConsentPage): Reply {
  const { action, client, target, email, memberships, brandId, scopes, problem, status, leadsTo } = asked
  const words = Object.entries(SCOPE_WORDS).filter(([scope]) => scopes.includes(scope))
  const list = (title: string, changes: boolean) => {
    const items = words.filter(([, one]) => one.changes === changes)
    return (
      items.length > 0 &&
      html`<h2>${title}</h2>
<ul>${items.map(([, { says }]) => html`<li>${says}</li>`)}</ul>`
    )
  }
  const content = html`<h1>Connect <bdi>${client}</bdi>?</h1>
<p class="quiet">You are signed in as ${email}. Your answer is sent to ${target}.</p>
${problem && html`<p class="problem" role="alert">${problem}</p>`}
<form method="post" action="${action}/consent">
${brands(memberships, brandId)}
${list('It can see', false)}
${list('It can', true)}
<p class="quiet">It stays connected for a year, or until it has not been used for 30 days.</p>
<button>Allow</button>
</form>
<form method="post" action="${action}/cancel"><button class="second">Cancel</button></form>
<form method="post" action="${action}/switch"><button class="link">Use another account</button></form>`
  return page({ title: `Connect ${client}`, content, status, leadsTo })
}

function brands(memberships: readonly Membership[], chosen: string): Html {
  const [only, another] = memberships
  if (only && !another)
    return html`<h2>Brand</h2>
<p>${only.name} <span class="quiet">${only.shop_domain}</span></p>
<input type="hidden" name="brand_id" value="${only.brand_id}">`
  return html`<fieldset>
<legend>Brand</legend>
${memberships.map(
  ({ brand_id, name, shop_domain, role }) => html`<label class="choice">
<input type="radio" name="brand_id" value="${brand_id}" required ${brand_id === chosen && html`checked`}>
<span>${name}<small>${shop_domain} · you are ${role === 'admin' ? 'an administrator' : 'a member'}</small></span>
</label>`,
)}
</fieldset>`
}

/** After a sign-in to the web app by somebody with several brands. */
export function brandPage(asked: {
  memberships: readonly Membership[]
  brandId: string
  next: string
}): Reply {
  const content = html`<h1>Choose a brand</h1>
<form method="post" action="/sign-in/brand">
<input type="hidden" name="next" value="${asked.next}">
${brands(asked.memberships, asked.brandId)}
<button>Continue</button>
</form>`
  return page({ title: 'Choose a brand', content })
}

export function errorPage(status: number, title: string, message: string): Reply {
  return page({ status, title, content: html`<h1>${title}</h1><p>${message}</p>` })
}
