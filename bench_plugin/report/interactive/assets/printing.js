// Printing: virtual rows are not in the document, so the print view puts all cells that are shown into it.

const NOT_PRINTED = new Set(['E', 'cost', 'memory', 'result', 'category']);

function fillPrinted() {
  const kept = data.columns.filter(column => !NOT_PRINTED.has(column.id));
  let html = `<h2>${shown.length} of ${data.cells} cells</h2><table><thead><tr>${kept.map(column => `<th scope="col">${escaped(column.title)}</th>`).join('')}<th scope="col">key</th></tr></thead><tbody>`;
  for (const cell of shown) {
    html += '<tr>' + kept.map(column => `<td>${column.values ? figure(column.values[cell], column.unit)
      : column.id === 'status' || column.id === 'change' ? badgeText(column.id, column.words[column.codes[cell]])
        : escaped(column.words[column.codes[cell]])}</td>`).join('') + `<td>${escaped(data.ids[cell])}</td></tr>`;
  }
  byId('printed').innerHTML = html + '</tbody></table>';
  byId('printed').hidden = false;
}

function clearPrinted() {
  byId('printed').replaceChildren();
  byId('printed').hidden = true;
}

function makePrinting() {
  const button = byId('print');
  let on = false;
  button.setAttribute('aria-pressed', 'false');
  button.addEventListener('click', () => {
    on = !on;
    document.body.classList.toggle('printing', on);
    button.setAttribute('aria-pressed', String(on));
    button.textContent = on ? 'Back to the report' : 'Print view';
    if (on) fillPrinted();
    else clearPrinted();
    if (on) scrollTo(0, 0);
  });
  followers.push(() => { if (on) fillPrinted(); });
  addEventListener('beforeprint', () => { if (!on) fillPrinted(); });
  addEventListener('afterprint', () => { if (!on) clearPrinted(); });
}
