// Pictures of fewer cells: which rows of a picture remain when the filters leave some cells, and what is counted again.

/** The rows of a picture for the cells with a 1 in `among`; a row says in `number` which cell it is of. */
function rowsOfFewer(picture, among) {
  if (picture.again === 'stages') return stagesOf(picture, among);
  let rows = [...picture.rows, ...picture.others].filter(row => among[row.number]);
  if (picture.one_of.length) rows = firstOfEach(rows, row => picture.one_of.map(key => row[key]).join('\n'));
  if (picture.again === 'percent') rows = ofTheBest(rows);
  if (picture.again.startsWith('frontier')) rows = withFrontier(rows, picture.again === 'frontier of more' ? 1 : -1);
  return rows;
}

/** All rows of the first cell of each group; the rows are in the order of preference. */
function firstOfEach(rows, groupOf) {
  const first = new Map();
  for (const row of rows) if (!first.has(groupOf(row))) first.set(groupOf(row), row.number);
  return rows.filter(row => first.get(groupOf(row)) === row.number);
}

/** Percent of the best right result of each column; a column without one is left out, as on the whole picture. */
function ofTheBest(rows) {
  const best = new Map();
  for (const row of rows) {
    if (row.status === 'supported') best.set(row.column, Math.max(row.value, best.get(row.column) || 0));
  }
  return rows.filter(row => best.has(row.column)).map(row => {
    const value = Number((100 * row.value / best.get(row.column)).toPrecision(4));
    const sign = row.label.match(/^\D*/)[0];                   // that of a wrong result
    return {...row, value, label: sign + value.toFixed(value >= 10 ? 0 : 1)};
  });
}

/** The frontier of each model among these rows: right results that no other one beats in accuracy and speed. */
function withFrontier(rows, sign) {
  const best = new Map(), points = new Map();                  // by model: the accuracy so far, and the points on it
  const ordered = rows.filter(row => row.outputs === 'agree')
    .sort((a, b) => sign * (b.value - a.value) || b.accuracy - a.accuracy);
  for (const row of ordered) {
    if (row.accuracy <= (best.get(row.model) ?? -Infinity)) continue;
    best.set(row.model, row.accuracy);
    points.set(row.model, (points.get(row.model) || new Set()).add(`${row.value} ${row.accuracy}`));
  }
  return rows.map(row => {
    const frontier = row.outputs === 'agree' && Boolean(points.get(row.model)?.has(`${row.value} ${row.accuracy}`));
    return {...row, frontier, label: frontier ? `${row.place} ${row.precision}` : ''};
  });
}

/** How many of the cells got through each stage, and with which status the others ended there. */
function stagesOf(picture, among) {
  const left = new Map(), ended = new Map();
  for (const one of picture.others) {
    if (!among[one.number]) continue;
    left.set(one.check, (left.get(one.check) || 0) + 1);
    const place = `${one.check}\n${one.stage}`, lost = ended.get(place) || new Map();
    ended.set(place, lost.set(one.status, (lost.get(one.status) || 0) + 1));
  }
  return picture.rows.filter(row => left.has(row.check)).map(row => {
    const lost = row.stage === 'supported' ? [] : [...ended.get(`${row.check}\n${row.stage}`) || []].sort((a, b) => b[1] - a[1]);
    const gone = lost.reduce((sum, [, count]) => sum + count, 0);
    const count = left.get(row.check) - gone, why = lost.map(([status, of]) => `${of} ${status}`).join(', ');
    left.set(row.check, count);
    return {...row, count, lost: gone, why, label: why ? `${count}, lost ${why}` : String(count)};
  });
}
