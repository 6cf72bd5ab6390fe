// Which cells are shown, and in which order: search, filters and sorting. The state is also in the address.

const selection = {query: '', filters: new Map(), sort: '', down: false};   // filters: column -> set of codes
let shown = new Uint32Array();      // cells in their order
const followers = [];               // called after every change

const CHIPS = ['change', 'status', 'result', 'check'];   // these are buttons, several may be pressed; the others are lists

/** Compute `shown` and tell everything that shows it. */
function select() {
  const words = selection.query.toLowerCase().split(/\s+/).filter(Boolean);
  const tests = [...selection.filters].map(([id, codes]) => [columns[id].codes, codes]);
  const found = new Uint32Array(data.cells);
  let count = 0;
  cells: for (let cell = 0; cell < data.cells; cell++) {
    for (const [codes, wanted] of tests) if (!wanted.has(codes[cell])) continue cells;
    for (const word of words) if (!haystack[cell].includes(word)) continue cells;
    found[count++] = cell;
  }
  shown = found.subarray(0, count);
  sortShown();
  for (const follow of followers) follow();
}

/** By the column, then by the order of the rows; cells without a figure come last in both directions. */
function sortShown() {
  const column = columns[selection.sort];
  if (!column) return;
  const keys = column.codes || column.values, sign = selection.down ? -1 : 1;
  const last = column.words && column.words[0] === '' && selection.sort !== 'change' ? 0 : -1;
  shown.sort((a, b) => {
    const x = keys[a], y = keys[b];
    const without = (x !== x || x === last) - (y !== y || y === last);
    return without || sign * (x - y) || a - b;
  });
}

function setFilter(id, codes) {
  if (codes.size) selection.filters.set(id, codes);
  else selection.filters.delete(id);
  changed();
}

function toggleFilter(id, code) {
  const codes = new Set(selection.filters.get(id));
  if (!codes.delete(code)) codes.add(code);
  setFilter(id, codes);
}

function sortBy(id, down) {
  selection.sort = id;
  selection.down = down;
  changed();
}

function clearSelection() {
  selection.query = '';
  selection.filters.clear();
}

function changed() {
  select();
  history.replaceState(null, '', address());
}

/** The address with the state behind its #, which can be sent to somebody. */
function address(cell = '') {
  const parts = new URLSearchParams();
  if (cell) parts.set('cell', cell);
  if (selection.query) parts.set('q', selection.query);
  for (const [id, codes] of selection.filters) for (const code of codes) parts.append(id, columns[id].words[code]);
  if (selection.sort) parts.set('sort', (selection.down ? '-' : '') + selection.sort);
  // Without a lone #: Vega cuts the part behind # off the address and would leave the # itself.
  return [location.href.split('#')[0], parts.toString()].filter(Boolean).join('#');
}

/** Take the state from the address; returns the id of the cell that it names, or null where it names a section. */
function readAddress() {
  const text = location.hash.slice(1);
  if (!text.includes('=')) return null;
  const parts = new URLSearchParams(text);
  const cell = parts.get('cell') || '';
  if (cell && [...parts.keys()].length === 1) return cell;     // a link to a cell leaves the filters as they are
  clearSelection();
  for (const [name, value] of parts) {
    if (name === 'q') selection.query = value;
    else if (name === 'sort') {
      selection.down = value.startsWith('-');
      selection.sort = value.replace(/^-/, '');
    } else if (columns[name] && columns[name].words) {
      const code = columns[name].words.indexOf(value);
      if (code >= 0) selection.filters.set(name, (selection.filters.get(name) || new Set()).add(code));
    }
  }
  return cell;
}

/** How many of the cells that pass all other filters have each word of a column. */
function countsOf(id) {
  const column = columns[id], counts = new Uint32Array(column.words.length);
  if (selection.filters.has(id)) {
    for (let cell = 0; cell < data.cells; cell++) counts[column.codes[cell]]++;
  } else {
    for (const cell of shown) counts[column.codes[cell]]++;
  }
  return counts;
}

function makeChips() {
  const box = byId('chips');
  for (const id of CHIPS) {
    const column = columns[id];
    if (!column || (column.words.filter(Boolean).length < 2 && id !== 'change')) continue;
    box.append(make('span', {id: `chips-${id}`}, column.title));
    column.words.forEach((word, code) => {
      if (!word) return;
      const look = data.looks[id] ? lookOf(id, word) : null;
      box.append(make('button', {
        type: 'button', class: look ? look.tone : null, title: look ? look.meaning : null, 'aria-pressed': 'false',
        'data-column': id, 'data-code': code, click: () => toggleFilter(id, code),
      }, look ? make('span', {'aria-hidden': 'true'}, `${look.symbol} `) : '', `${word} `, make('b')));
    });
  }
  followers.push(() => {
    const counts = {};
    for (const button of box.querySelectorAll('button')) {
      const {column, code} = button.dataset;
      counts[column] ??= countsOf(column);
      button.lastChild.textContent = counts[column][code];
      const codes = selection.filters.get(column);
      button.setAttribute('aria-pressed', String(Boolean(codes && codes.has(Number(code)))));
    }
  });
}

function makeFilters() {
  const box = byId('filters');
  for (const column of data.columns) {
    if (!column.filter || CHIPS.includes(column.id) || column.words.length < 2) continue;
    const list = make('select', {'data-column': column.id, change: () =>
      setFilter(column.id, new Set(list.value === '' ? [] : [Number(list.value)]))}, new Option('all', ''));
    column.words.forEach((word, code) => list.append(new Option(word || '(none)', code)));
    box.append(make('label', {}, column.title, list));
  }
  if (!box.children.length) byId('filters-box').hidden = true;
  followers.push(() => {
    const said = [];
    for (const list of box.querySelectorAll('select')) {
      const codes = selection.filters.get(list.dataset.column);
      list.value = codes ? String([...codes][0]) : '';
      if (codes) said.push(`${columns[list.dataset.column].title}: ${list.selectedOptions[0].textContent}`);
    }
    byId('filters-said').textContent = said.join(', ');
  });
}

function makeSearch() {
  const search = byId('search'), list = byId('sort');
  search.addEventListener('input', () => { selection.query = search.value; changed(); });
  list.append(new Option('most urgent first', ''));
  for (const column of data.columns) {
    list.append(new Option(column.title, column.id), new Option(`${column.title}, descending`, `-${column.id}`));
  }
  list.addEventListener('change', () => sortBy(list.value.replace(/^-/, ''), list.value.startsWith('-')));
  byId('reset').addEventListener('click', () => { clearSelection(); changed(); search.focus(); });
  followers.push(() => {
    if (search.value !== selection.query) search.value = selection.query;
    list.value = (selection.down ? '-' : '') + selection.sort;
    const same = data.columns.filter(column => column.same).map(column => `${column.title} ${column.words[0]}`).join(', ');
    byId('every').textContent = same && `Every cell: ${same}.`;
    byId('count').textContent = shown.length === data.cells ? `${data.cells} cells` : `${shown.length} of ${data.cells} cells`;
    byId('reset').disabled = !selection.query && !selection.filters.size;
  });
}
