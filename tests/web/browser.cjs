// memviz.html in a real Chromium: files, panes, keys, search, reports as text, two files, a narrow
// window, print, a damaged file; no request but the page itself, nothing on the console, hostile
// names are text. Screenshots are left in FOLDER.
//
//     browser.cjs PLAYWRIGHT CHROMIUM PAGE FOLDER MEMVIZ [LARGE FILE...]
'use strict';
const {spawnSync} = require('child_process');
const fs = require('fs'), path = require('path'), assert = require('assert');
const [playwright, executablePath, pagePath, folder, memviz, ...large] = process.argv.slice(2);
const {chromium} = require(playwright);
const snapshots = path.join(__dirname, '../../testdata/snapshots');
const snapshot = name => path.join(snapshots, name);

async function open(browser, options, its = pagePath) {
  const context = await browser.newContext({viewport: {width: 1280, height: 800}, ...options});
  const page = await context.newPage();
  page.said = [];
  page.asked = [];
  page.on('console', message => page.said.push(message.text()));
  page.on('pageerror', error => page.said.push(String(error)));
  page.on('request', request => { if (!request.url().startsWith('blob:')) page.asked.push(request.url()); });
  page.on('dialog', dialog => { page.said.push('dialog'); dialog.dismiss(); });
  await page.goto('file://' + its);
  await page.waitForFunction(() => viewer);
  return page;
}

const files = (page, list) => page.setInputFiles('#files', list);
const shot = (page, name) => page.screenshot({path: path.join(folder, name + '.png')});
const hear = page => page.evaluate(() => {
  window.last = {};
  const old = viewer.onmessage;
  viewer.onmessage = message => { Object.assign(last, message.data); old(message); };
});
const idle = (page, count) => page.waitForFunction(
    n => last.stages && last.stages.length === n && last.state.isIdle && last.stages.every(stage => stage >= 2), count, {timeout: 120000});
const report = async (page, name) => {
  await page.selectOption('#report', name);
  await page.waitForFunction(n => !byId('text').textContent.startsWith(n + ' …') && byId('text').textContent, name, {timeout: 60000});
  return page.textContent('#text');
};
async function end(page, its = pagePath) {
  assert.deepStrictEqual(page.asked, ['file://' + its]);
  assert.deepStrictEqual(page.said, []);
  await page.context().close();
}

async function differs(page, work) {
  const before = await page.locator('#picture').screenshot();
  await work();
  await page.waitForTimeout(700);
  assert(!before.equals(await page.locator('#picture').screenshot()), 'the picture changes');
}

const tests = {
  async 'a file, keys, wheel and search'(browser) {
    const page = await open(browser, {colorScheme: 'dark'});
    await shot(page, 'empty');
    await hear(page);
    await files(page, [snapshot('leak_in_training.pickle')]);
    await idle(page, 1);
    await shot(page, 'timeline');
    assert.match(await page.title(), /^leak_in_training\.pickle/);
    for (const key of ['2', '3', '1', '4', '5', '6', '7']) await differs(page, () => page.keyboard.press(key));
    await page.mouse.move(500, 300);
    await differs(page, async () => { for (let i = 0; i < 5; i++) await page.mouse.wheel(0, -100); });
    await differs(page, () => page.keyboard.press('0'));
    await page.keyboard.press('/');
    await page.waitForFunction(() => last.state.wantsText);
    await differs(page, () => page.keyboard.type('size>1M'));
    await shot(page, 'search');
    await page.keyboard.press('Escape');
    await differs(page, () => page.keyboard.press('t'));
    assert.strictEqual(await page.evaluate(() => document.documentElement.dataset.theme), 'light');
    await shot(page, 'light');
    await end(page);
  },

  async 'reports are text, and JSON to save'(browser) {
    const page = await open(browser);
    await hear(page);
    await files(page, [snapshot('leak_in_training.pickle')]);
    await idle(page, 1);
    await page.click('#texts');
    assert.match(await report(page, 'leaks'), /^LEAK +train\.py:62 forward/);
    assert.match(await report(page, 'fragmentation'), /reserved/);
    await shot(page, 'reports');
    const [saved] = await Promise.all([page.waitForEvent('download'), page.click('#json')]);
    assert.strictEqual(saved.suggestedFilename(), 'leak_in_training.pickle.fragmentation.json');
    JSON.parse(fs.readFileSync(await saved.path(), 'utf8'));
    await page.emulateMedia({media: 'print'});
    await shot(page, 'print');
    await end(page);
  },

  async 'two files, a narrow window'(browser) {
    const page = await open(browser, {viewport: {width: 620, height: 800}});
    await hear(page);
    await files(page, [snapshot('gpt_train.pickle'), snapshot('leak_in_training.pickle')]);
    await idle(page, 2);
    await page.click('#texts');
    assert.match(await report(page, 'diff'), /gpt_train/);
    assert.match(await report(page, 'ranks'), /leak_in_training/);
    await page.click('#close');
    await differs(page, () => page.keyboard.press('Control+PageDown'));
    await shot(page, 'narrow');
    await end(page);
  },

  async 'a damaged file is refused in words, and hostile names are text'(browser) {
    const page = await open(browser);
    const good = fs.readFileSync(snapshot('gpt_train.pickle'));
    await hear(page);
    await files(page, [{name: '<img src=x onerror=alert(1)>.pickle', mimeType: '', buffer: good.subarray(0, good.length / 2)}]);
    await page.waitForFunction(() => last.failed && last.failed.length);
    assert.match(await page.textContent('#status'), /<img src=x onerror=alert\(1\)>\.pickle: byte \d+: input ends/);
    await files(page, [{name: '</script><script>alert(2)</script>', mimeType: '', buffer: good}]);
    await idle(page, 2);
    await page.click('#texts');
    await report(page, 'info');
    await end(page);
  },

  async 'a page with a snapshot inside opens it, and reports on it'(browser) {
    const its = path.join(folder, 'inside.html');
    assert.strictEqual(spawnSync(memviz, ['convert', '-q', snapshot('gpt_train.pickle'), its]).status, 0);
    const page = await open(browser, {}, its);
    await page.waitForFunction(() => byId('status').textContent === 'gpt_train.pickle', null, {timeout: 60000});
    await page.waitForTimeout(1000);
    await shot(page, 'inside');
    await page.click('#texts');
    assert.strictEqual(await report(page, 'leaks'), spawnSync(memviz, ['leaks', snapshot('gpt_train.pickle')]).stdout.toString());
    await end(page, its);
  },

  async 'the picture is that of the window'(browser) {
    const file = snapshot('leak_in_training.pickle'), window = path.join(folder, 'window.png');
    const drawn = spawnSync(memviz, ['view', '--headless', '--theme', 'dark', '--size', '1280x720', '--shot', window, file],
                            {env: {...process.env, MEMVIZ_CACHE: 'off'}});
    assert.strictEqual(drawn.status, 0, drawn.stderr.toString());
    const page = await open(browser, {colorScheme: 'dark', viewport: {width: 1280, height: 756}});
    await hear(page);
    await files(page, [file]);
    await idle(page, 1);
    await page.evaluate(() => picture.blur());
    await page.waitForTimeout(500);
    const picture = await page.locator('#picture').screenshot({path: path.join(folder, 'page.png')});
    const blank = await (await browser.newContext()).newPage();
    const share = await blank.evaluate(async pictures => {
      const [a, b] = await Promise.all(pictures.map(async text => {
        const image = await createImageBitmap(await (await fetch('data:image/png;base64,' + text)).blob());
        const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height);
      }));
      if (a.width !== b.width || a.height !== b.height) return 1;
      let other = 0;
      for (let i = 0; i < a.data.length; i += 4)
        other += [0, 1, 2].some(part => a.data[i + part] !== b.data[i + part]);
      return other / (a.width * a.height);
    }, [picture.toString('base64'), fs.readFileSync(window).toString('base64')]);
    assert.strictEqual(share, 0, 'pixels that differ: ' + share);
    await end(page);
  },

  async 'an exported picture is offered'(browser) {
    const page = await open(browser);
    await hear(page);
    await files(page, [snapshot('gpt_train.pickle')]);
    await idle(page, 1);
    for (const ending of ['.png', '.svg']) {
      await page.keyboard.press('Control+e');
      await page.waitForFunction(() => last.state.wantsText);
      await page.waitForTimeout(200);
      await page.keyboard.press('Control+a');
      for (let i = 0; i < 40; i++) await page.keyboard.press('Backspace');
      await page.keyboard.type('picture' + ending);
      const [saved] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')]);
      assert.strictEqual(saved.suggestedFilename(), 'picture' + ending);
      const bytes = fs.readFileSync(await saved.path());
      assert(ending === '.png' ? bytes.subarray(1, 4).toString() === 'PNG' : bytes.toString().startsWith('<svg'));
      await page.waitForTimeout(300);
    }
    await end(page);
  },
};

async function time(browser, file) {
  const page = await open(browser, {viewport: {width: 1600, height: 900}});
  await hear(page);
  await page.evaluate(() => {
    byId('files').addEventListener('change', () => { window.began = performance.now(); }, true);
    window.times = [];
    const old = viewer.onmessage;
    viewer.onmessage = message => {
      if (message.data.timing) times.push(message.data.timing);
      if (message.data.shown && !window.first) window.first = performance.now() - began;
      old(message);
    };
    viewer.postMessage({measure: true});
  });
  await files(page, [file]);
  await idle(page, 1);
  await page.evaluate(() => { times = []; });
  await page.mouse.move(700, 300);
  for (let i = 0; i < 100; i++) { await page.mouse.wheel(0, i % 30 < 15 ? -100 : 100); await page.waitForTimeout(30); }
  await page.waitForTimeout(500);
  const {first, times} = await page.evaluate(() => ({first: window.first, times: window.times.sort((a, b) => a - b)}));
  const part = share => times[Math.min(times.length - 1, Math.ceil(times.length * share) - 1)].toFixed(1);
  console.log(path.basename(file) + ': first frame ' + first.toFixed(0) + ' ms; ' + times.length + ' frames of the wheel, p50 ' + part(0.5) + ', p99 ' +
              part(0.99) + ', worst ' + part(1) + ' ms; memory of WebAssembly ' +
              ((await page.workers()[0].evaluate(() => core.memory.buffer.byteLength)) / 1048576).toFixed(0) + ' MiB');
  await page.context().close();
}

(async () => {
  const browser = await chromium.launch({executablePath, args: ['--no-sandbox']});
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test(browser);
      console.log('ok: ' + name);
    } catch (error) {
      failed++;
      console.log('FAILED: ' + name + ': ' + error.stack);
    }
  }
  for (const file of large) await time(browser, file);
  await browser.close();
  process.exit(failed ? 1 : 0);
})();
