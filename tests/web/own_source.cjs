// The page that pages are made from contains nothing of the snapshot, whatever the snapshot contains. In Node, on a
// tree with the parts of a document that the page uses.
//
//     own_source.cjs
'use strict';
const fs = require('fs'), path = require('path'), assert = require('assert');
const read = name => fs.readFileSync(path.join(__dirname, '../../web', name), 'utf8');
const VOID = ['meta', 'link', 'input'], RAW = ['script', 'style'];

// ---- a tree of elements --------------------------------------------------------------------------
// Texts are written as they were read. Attributes are written with a raw < and >, as browsers have done for
// thirty years.

const plain = text => text.replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&quot;/g, '"').replace(/&amp;/g, '&');

class Node {
  constructor(name, attributes = [], text = '') { Object.assign(this, {name, attributes, text, inside: [], parent: null}); }
  append(child) { child.parent = this; this.inside.push(child); }
  cloneNode() {
    const copy = new Node(this.name, this.attributes, this.text);
    for (const child of this.inside) copy.append(child.cloneNode());
    return copy;
  }
  querySelector(wanted) {
    for (const child of this.inside) {
      const found = wanted === child.name || wanted === '#' + child.id ? child : child.querySelector(wanted);
      if (found) return found;
    }
    return null;
  }
  replaceWith(...others) {
    this.parent.inside.splice(this.parent.inside.indexOf(this), 1, ...others);
    for (const other of others) other.parent = this.parent;
  }
  remove() { this.replaceWith(); }
  get id() { return (this.attributes.find(([name]) => name === 'id') || [])[1]; }
  set textContent(text) { this.inside = []; this.append(new Node('#text', [], text)); }
  get outerHTML() {
    if (this.name === '#text') return this.text;
    if (this.name === '#comment') return '<!--' + this.text + '-->';
    const attributes = this.attributes.map(([name, value]) => ` ${name}="${value.replace(/&/g, '&amp;').replace(/"/g, '&quot;')}"`);
    const inside = this.inside.map(child => child.outerHTML).join('');
    return `<${this.name}${attributes.join('')}>` + (VOID.includes(this.name) ? '' : inside + `</${this.name}>`);
  }
}

// The tree of a page whose elements are all closed.
function treeOf(html) {
  const part = /<!--([^]*?)-->|<!DOCTYPE html>\n|<\/(\w+)>|<(\w+)((?:[^>"]|"[^"]*")*)>|[^<]+/g, top = new Node('#top');
  let open = top, found;
  while ((found = part.exec(html))) {
    const [text, comment, end, name, attributes] = found;
    if (comment !== undefined) open.append(new Node('#comment', [], comment));
    else if (end) { assert.strictEqual(open.name, end); open = open.parent; }
    else if (!name) { if (text[0] !== '<') open.append(new Node('#text', [], text)); }
    else {
      const all = [...attributes.matchAll(/([\w-]+)(?:="([^"]*)")?/g)].map(([, key, value = '']) => [key, plain(value)]);
      open.append(new Node(name, all));
      if (VOID.includes(name)) continue;
      open = open.inside[open.inside.length - 1];
      if (!RAW.includes(name)) continue;
      const last = html.indexOf(`</${name}>`, part.lastIndex);
      open.append(new Node('#text', [], html.slice(part.lastIndex, last)));
      part.lastIndex = last;
    }
  }
  assert.strictEqual(open, top);
  return top;
}

// ---- the page ------------------------------------------------------------------------------------

const shell = read('shell.js'), begin = shell.indexOf('function ownSource()');
const code = shell.slice(begin, shell.indexOf('\n}\n', begin) + 2);
const empty = read('page.html').replace(/@([A-Z]+)@/g, (mark, name) => name === 'SHELL' ? shell : name.toLowerCase());

function sourceOf(html) {
  const top = treeOf(html), document = {createComment: text => new Node('#comment', [], text)};
  return new Function('byId', 'root', 'document', 'Blob', code + 'return ownSource();')(
    id => top.querySelector('#' + id), top.querySelector('html'), document, class { constructor(parts) { this.text = parts.join(''); } });
}

// As view/page/viewer_page.c writes it.
const escaped = text => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
const withSnapshot = (verdict, leftOut, name, state) => empty
  .replace('<title>memviz</title>', () => `<title>${escaped(name)} · memviz</title>`)
  .replace('<!--' + 'snapshot-->', () => (verdict && `<p id="verdict">${escaped(verdict)}</p>\n`) + (leftOut && `<p id="left_out">${escaped(leftOut)}</p>\n`) +
           `<script type="text/plain" id="snapshot" data-name="${escaped(name)}" data-state="${escaped(state)}">LETTERS</script>`);

// Except for empty lines in place of a verdict.
const lines = html => html.split('\n').filter(line => line).join('\n');
const want = lines(sourceOf(empty).text);
assert.strictEqual(want.split('<!--' + 'snapshot-->').length, 2, 'a page without a snapshot has one mark');

const HOSTILE = ['a', '</script>', '</script><img src=x onerror=alert(1)>', '<!--', '"></script><p id="verdict">', '<!--' + 'snapshot-->', '$&$\'$`', '</p>'];
let pages = 0;
for (const text of HOSTILE)
  for (const verdict of ['', 'It leaks: ' + text])
    for (const leftOut of ['', 'Left out: ' + text]) {
      const source = sourceOf(withSnapshot(verdict, leftOut, text + '.pickle', 'search ' + text)).text;
      assert.strictEqual(lines(source), want, text);
      pages++;
    }
assert.strictEqual(sourceOf(empty.replace('<main', '<p id="served"></p><main')), null, 'the page of serve is of no use elsewhere');
console.log(pages + ' pages, nothing of their snapshots is left');
