// The grid: one axis against another; a place shows the worst status of its cells and how many have it.

const MOST_ROWS = 150, MOST_COLUMNS = 60;
let gridShown = false;

function makeGrid() {
  const usable = data.columns.filter(column => column.filter && !['status', 'change', 'result'].includes(column.id) && column.words.length > 1);
  for (const [list, preferred] of [['grid-rows', ['model', 'category', 'check']], ['grid-columns', ['compiler', 'importer', 'exporter', 'precision']]]) {
    const select = byId(list);
    for (const column of usable) select.append(new Option(column.title, column.id));
    const start = preferred.find(id => usable.some(column => column.id === id));
    if (start) select.value = start;
    select.addEventListener('change', drawGrid);
  }
  const [rows, across] = [byId('grid-rows'), byId('grid-columns')];
  if (rows.value === across.value && usable.length > 1) across.value = usable.find(column => column.id !== rows.value).id;
  byId('view-table').addEventListener('click', () => showView(false));
  byId('view-grid').addEventListener('click', () => showView(true));
  byId('view-grid').hidden = usable.length < 2;
  byId('grid-box').addEventListener('keydown', gridKey);
  followers.push(() => { if (gridShown) drawGrid(); });
}

function showView(grid) {
  gridShown = grid;
  byId('grid-view').hidden = !grid;
  byId('table-view').hidden = grid;
  byId('view-grid').setAttribute('aria-pressed', String(grid));
  byId('view-table').setAttribute('aria-pressed', String(!grid));
  if (grid) drawGrid();
  else drawRows();
}

function drawGrid() {
  const rows = columns[byId('grid-rows').value], across = columns[byId('grid-columns').value], statuses = columns.status;
  const places = new Map(), rowsSeen = new Map(), acrossSeen = new Set();
  for (const cell of shown) {
    const row = rows.codes[cell], column = across.codes[cell], status = statuses.codes[cell];
    const key = row * across.words.length + column;
    const place = places.get(key);
    if (!place) places.set(key, {worst: status, of: 1, count: 1, cell});
    else {
      place.count++;
      if (status < place.worst) Object.assign(place, {worst: status, of: 1, cell});
      else if (status === place.worst) place.of++;
    }
    rowsSeen.set(row, Math.min(status, rowsSeen.get(row) ?? Infinity));
    acrossSeen.add(column);
  }
  const ordered = [...rowsSeen.keys()].sort((a, b) => a - b);
  // Too many rows: those with the worst status are the ones to look at.
  const kept = ordered.length <= MOST_ROWS ? ordered
    : [...ordered].sort((a, b) => rowsSeen.get(a) - rowsSeen.get(b) || a - b).slice(0, MOST_ROWS);
  const heads = [...acrossSeen].sort((a, b) => a - b).slice(0, MOST_COLUMNS);
  let html = `<thead><tr><th scope="col">${escaped(rows.title)}</th>` + heads.map(code => `<th scope="col">${escaped(across.words[code] || '(none)')}</th>`).join('') + '</tr></thead><tbody>';
  let first = true;
  for (const row of kept) {
    html += `<tr><th scope="row" title="${escaped(rows.words[row])}">${escaped(rows.words[row] || '(none)')}</th>`;
    for (const column of heads) {
      const place = places.get(row * across.words.length + column);
      if (!place) { html += '<td></td>'; continue; }
      const word = statuses.words[place.worst], look = lookOf('status', word);
      const said = place.count === 1 ? word : `${place.of} of ${place.count} ${word}`;
      html += `<td><button type="button" class="${look.tone}" tabindex="${first ? 0 : -1}" data-row="${row}" data-column="${column}" data-cell="${place.cell}" data-count="${place.count}" ` +
        `title="${escaped(rows.words[row])}, ${escaped(across.words[column])}: ${escaped(said)}"><span aria-hidden="true">${look.symbol}</span> ${escaped(place.count === 1 ? shortWord(word) : `${place.of}/${place.count}`)}` +
        `<span hidden> ${escaped(said)}</span></button></td>`;
      first = false;
    }
    html += '</tr>';
  }
  byId('grid-box').innerHTML = `<table class="crossed" aria-label="${escaped(rows.title)} against ${escaped(across.title)}: the worst status of each place">${html}</tbody></table>`;
  for (const button of byId('grid-box').querySelectorAll('button')) button.addEventListener('click', gridClicked);
  const left = ordered.length - kept.length;
  byId('grid-said').textContent = 'A place shows its worst status, and how many of its cells have it. ' +
    (left ? `The ${kept.length} worst of ${ordered.length} rows; search or filter for the others.` : '');
}

const shortWord = word => word.length > 12 ? word.slice(0, 11) + '…' : word;

function gridClicked(event) {
  const place = event.currentTarget.dataset;
  if (place.count === '1') {
    openEvidence(Number(place.cell));
    return;
  }
  selection.filters.set(byId('grid-rows').value, new Set([Number(place.row)]));
  selection.filters.set(byId('grid-columns').value, new Set([Number(place.column)]));
  selection.sort = 'status';
  selection.down = false;
  showView(false);
  changed();
  byId('table').focus();
}

/** Arrow keys move between places; only one of them is reached with Tab. */
function gridKey(event) {
  const button = event.target.closest('button');
  if (!button || !event.key.startsWith('Arrow')) return;
  const place = button.parentElement, at = place.cellIndex;
  const rows = [...byId('grid-box').querySelectorAll('tbody tr')], row = rows.indexOf(place.parentElement);
  const [down, right] = {ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
  for (let y = row + down, x = at + right; rows[y] && rows[y].cells[x]; y += down, x += right) {
    const next = rows[y].cells[x].querySelector('button');
    if (next) {
      button.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
      break;
    }
  }
  event.preventDefault();
}
