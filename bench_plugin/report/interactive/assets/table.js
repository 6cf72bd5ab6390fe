// The table: only the rows in sight are in the document, between two spaces; one row is active, for the keyboard.

const OVER = 8;                     // rows drawn beyond those in sight
const narrow = matchMedia('(max-width: 640px)');
let active = 0, rowHeight = 30, visible = [];

const WIDTHS = {why: 420, status: 150, change: 125, model: 190, opset: 70};

function makeTable() {
  visible = data.columns.filter(column => !column.same);
  const heads = make('tr', {'aria-rowindex': '1'});
  let width = 0;
  for (const column of visible) {
    const size = WIDTHS[column.id] || widthOf(column);
    width += size;
    heads.append(make('th', {scope: 'col', 'data-column': column.id, style: `width:${size}px`, title: column.hint},
      make('button', {type: 'button', tabindex: '-1', click: () => headClicked(column)}, column.title)));
  }
  byId('heads').append(heads);
  const table = byId('table'), scroller = byId('scroller');
  table.style.width = `${width}px`;
  table.setAttribute('aria-colcount', visible.length);
  let frame;
  scroller.addEventListener('scroll', () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(drawRows); });
  byId('rows').addEventListener('click', event => {
    const row = event.target.closest('tr[data-at]');
    if (!row) return;
    active = Number(row.dataset.at);
    openEvidence(shown[active]);
  });
  table.addEventListener('keydown', tableKey);
  table.addEventListener('focus', markActive);
  table.addEventListener('blur', markActive);
  narrow.addEventListener('change', measureRows);
  addEventListener('resize', drawRows);
  followers.push(() => {
    active = 0;
    scroller.scrollTop = 0;
    table.setAttribute('aria-rowcount', shown.length + 1);
    for (const head of heads.children) {
      if (head.dataset.column === selection.sort) {
        head.setAttribute('aria-sort', selection.down ? 'descending' : 'ascending');
        head.firstChild.textContent = `${columns[selection.sort].title} ${selection.down ? '▾' : '▴'}`;
      } else {
        head.removeAttribute('aria-sort');
        head.firstChild.textContent = columns[head.dataset.column].title;
      }
    }
    drawRows();
  });
  measureRows();
}

function widthOf(column) {
  if (!column.words) return Math.max(96, 9 * column.title.length + 24);
  const longest = Math.max(column.title.length + 2, ...column.words.map(word => word.length));
  return Math.min(240, 8 * longest + 26);
}

function headClicked(column) {
  const again = selection.sort === column.id;
  if (again && selection.down) sortBy('', false);
  else sortBy(column.id, again);
}

function measureRows() {
  rowHeight = parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row'));
  drawRows();
}

function drawRows() {
  const scroller = byId('scroller'), top = Math.max(0, Math.floor(scroller.scrollTop / rowHeight) - OVER);
  const end = Math.min(shown.length, top + Math.ceil(scroller.clientHeight / rowHeight) + 2 * OVER);
  let html = space(top);
  for (let at = top; at < end; at++) {
    const cell = shown[at];
    html += `<tr id="row-${at}" data-at="${at}" aria-rowindex="${at + 2}">`;
    html += narrow.matches ? narrowRow(cell) : wideRow(cell);
    html += '</tr>';
  }
  byId('rows').innerHTML = shown.length
    ? html + space(shown.length - end)
    : `<tr class="space"><td colspan="${visible.length}" style="padding:1rem">No cell passes the filters.</td></tr>`;
  markActive();
}

/** Mark the active row while the table has the focus. Rows stay: a press of the mouse focuses before it clicks. */
function markActive() {
  const table = byId('table'), row = document.activeElement === table && byId(`row-${active}`);
  for (const old of byId('rows').querySelectorAll('.active')) {
    old.classList.remove('active');
    old.removeAttribute('aria-selected');
  }
  if (row) {
    row.classList.add('active');
    row.setAttribute('aria-selected', 'true');
    table.setAttribute('aria-activedescendant', row.id);
  } else {
    table.removeAttribute('aria-activedescendant');
  }
}

const space = rows => rows
  ? `<tr class="space" aria-hidden="true"><td colspan="${visible.length}" style="height:${rows * rowHeight}px"></td></tr>`
  : '';

function wideRow(cell) {
  let html = '';
  for (const column of visible) {
    if (column.values) {
      html += `<td class="n">${figure(column.values[cell], column.unit)}</td>`;
    } else {
      const word = column.words[column.codes[cell]];
      html += `<td>${column.id === 'status' || column.id === 'change' ? badgeText(column.id, word) : escaped(word)}</td>`;
    }
  }
  return html;
}

/** On a phone a row is one cell of three lines: the verdict and the model, which cell it is, and why. */
function narrowRow(cell) {
  const names = ['check', 'compiler', 'importer', 'exporter', 'precision', 'opset', 'target', 'batch', 'threads'];
  const axes = names.map(id => wordOf(id, cell)).filter(Boolean).join(' · ');
  const why = [wordOf('stage', cell), wordOf('why', cell)].filter(Boolean).join(': ');
  return `<td colspan="${visible.length}"><span class="two">${badgeText('status', wordOf('status', cell))} ` +
    `${badgeText('change', wordOf('change', cell))} <strong>${escaped(wordOf('model', cell))}</strong></span>` +
    `<span class="two">${escaped(axes)}</span><span class="two quiet">${escaped(why)}</span></td>`;
}

function tableKey(event) {
  if (event.target !== byId('table') || event.ctrlKey || event.metaKey || event.altKey) return;
  const page = Math.max(1, Math.floor(byId('scroller').clientHeight / rowHeight) - 2);
  const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -shown.length, End: shown.length};
  if (event.key in steps) {
    event.preventDefault();
    activate(active + steps[event.key]);
  } else if (event.key === 'Enter' && shown.length) {
    event.preventDefault();
    openEvidence(shown[active]);
  } else if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
    event.preventDefault();
    byId('scroller').scrollLeft += event.key === 'ArrowRight' ? 120 : -120;
  }
}

/** Make a row the active one and bring it into sight. */
function activate(at) {
  active = Math.max(0, Math.min(shown.length - 1, at));
  const scroller = byId('scroller'), head = byId('heads').offsetHeight;
  const top = active * rowHeight, bottom = top + rowHeight + head;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (bottom > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = bottom - scroller.clientHeight;
  drawRows();
}
