// Elements made without HTML text: what a row says is always text.

/** An element with attributes (functions are listeners) and children, which are elements or texts. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined && child !== ''));
  return element;
}

const ESCAPES = {'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;'};
const escaped = text => text.replace(/[&<>"']/g, letter => ESCAPES[letter]);

const lookOf = (kind, word) => data.looks[kind][word] || {symbol: '·', tone: 'absent', meaning: ''};

/** A status or a change with its symbol, so that its colour is not the only sign. */
function badge(kind, word) {
  const look = lookOf(kind, word);
  return make('span', {class: `badge ${look.tone}`, title: look.meaning},
    make('span', {'aria-hidden': 'true'}, look.symbol), ` ${word}`);
}

function badgeText(kind, word) {
  if (!word) return '';
  const look = lookOf(kind, word);
  return `<span class="badge ${look.tone}"><span aria-hidden="true">${look.symbol}</span> ${escaped(word)}</span>`;
}

/** A table of heads and rows of texts, numbers or elements. */
function plainTable(heads, rows) {
  return make('table', {class: 'plain'},
    make('thead', {}, make('tr', {}, heads.map(head => make('th', {scope: 'col'}, head)))),
    make('tbody', {}, rows.map(row => make('tr', {}, row.map((cell, at) =>
      make(at ? 'td' : 'th', at ? {class: typeof cell === 'number' ? 'n' : null} : {scope: 'row'},
        typeof cell === 'number' ? digits(cell) : cell ?? ''))))));
}

const scrolling = (label, ...children) =>
  make('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label}, ...children);
