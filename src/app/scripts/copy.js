// Puts a button on each block of code that copies it. Without it, the text can be selected as any other.
import { copy } from './clipboard.js'

const saidMs = 2_000

function buttonFor(code) {
  const [button, words] = [document.createElement('button'), document.createElement('span')]
  button.type = 'button'
  button.textContent = 'Copy'
  // A region of its own, which is there before anything is said in it: the words of a button are not read out when they change.
  words.setAttribute('role', 'status')
  let timer
  const copyAndSay = async () => {
    clearTimeout(timer)
    words.textContent = (await copy(code)) ? 'Copied' : 'Not copied: select it, and press Ctrl+C.'
    timer = setTimeout(() => void (words.textContent = ''), saidMs)
  }
  button.addEventListener('click', () => void copyAndSay())
  const place = document.createElement('div')
  place.className = 'copy note'
  place.append(words, button)
  return place
}

for (const code of document.querySelectorAll('pre:is([data-step], [data-secret])')) code.before(buttonFor(code))
