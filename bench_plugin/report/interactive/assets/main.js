// The start: open the data, make the parts, follow the address, the theme and the keys of the whole page.

const THEMES = ['auto', 'light', 'dark'];

function makeTheme() {
  const button = byId('theme');
  let now = 0;
  button.addEventListener('click', async () => {
    now = (now + 1) % THEMES.length;
    if (THEMES[now] === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = THEMES[now];
    button.textContent = `Theme: ${THEMES[now]}`;
    await redrawPictures();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawPictures);
}

async function follow() {
  const id = readAddress();
  if (id === null) return;
  select();
  if (id) {
    const cell = data.ids.indexOf(id);
    if (cell >= 0) await openEvidence(cell);
    else byId('count').textContent = `The link names the cell ${id}, which this page does not have.`;
  } else {
    byId('cells').scrollIntoView();
  }
}

(async () => {
  await openData();
  makeChips();
  makeFilters();
  makeSearch();
  makeTable();
  makeGrid();
  makeEvidence();
  makePrinting();
  makeTheme();
  select();
  await follow();
  addEventListener('hashchange', follow);
  addEventListener('keydown', event => {
    if (event.key === '/' && !event.target.closest('input, select, dialog')) {
      event.preventDefault();
      byId('search').focus();
    }
  });
  await makePictures();
  document.documentElement.dataset.ready = 'yes';
})();
