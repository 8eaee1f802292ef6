/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the images of a page live: slices, one image against another, what is laid over them. Each element has its data
 * beside it: the voxels of a layer are one PNG, its slices from below in rows of `columns`, each with R to the right and
 * A downwards; greys from 0 to `greys` - 1. */
'use strict'
for (const root of document.querySelectorAll('.viewer')) {
  const data = JSON.parse(root.querySelector('script').textContent)
  const isImage = l => l.look === 'grey' || l.look === 'colour', isOutline = l => l.look === 'outlines' || l.look === 'contour'
  const images = data.layers.filter(isImage), over = data.layers.filter(l => !isImage(l))
  const state = {shown: 0, other: images.length > 1 ? 1 : 0, mode: 'one', turn: false, split: .5, cross: false, opacity: .6}
  const id = 'v' + [...document.querySelectorAll('.viewer')].indexOf(root)

  const make = (tag, attributes, ...children) => {
    const element = document.createElement(tag)
    for (const [name, value] of Object.entries(attributes || {}))
      if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
      else if (name in element && name !== 'list') element[name] = value
      else element.setAttribute(name, value)
    element.append(...children)
    return element
  }

  /* ---- voxels ---- */
  const {size} = data, bright = 255 / (data.greys - 1)
  const planes = [['Axial', 0, 1, 2], ['Coronal', 0, 2, 1], ['Sagittal', 1, 2, 0]].map(([name, across, down, normal]) => ({
    name, across, down, normal, count: size[normal], at: data.start[normal],
    shape: size[across] * data.edge[across] / (size[down] * data.edge[down])}))

  /* A row of slices at a time, as a canvas of all may be more than a phone has. */
  const read = (layer, picture) => {
    const [nx, ny, nz] = layer.size, {columns} = layer, parts = layer.look === 'colour' ? 3 : 1, wide = layer.labels && layer.labels.length > 254
    const canvas = make('canvas', {width: columns * nx, height: ny}), pen = canvas.getContext('2d', {willReadFrequently: true})
    const voxels = new (wide ? Uint16Array : Uint8Array)(nx * ny * nz * parts)
    for (let z = 0, to = 0; z < nz; z++) {
      if (z % columns === 0) pen.drawImage(picture, 0, -z / columns * ny)
      const d = pen.getImageData(z % columns * nx, 0, nx, ny).data
      for (let i = 0; i < d.length; i += 4) {
        voxels[to++] = wide ? d[i] | d[i + 1] << 8 : d[i]
        if (parts > 1) { voxels[to++] = d[i + 1]; voxels[to++] = d[i + 2] }
      }
    }
    layer.voxels = voxels
  }
  for (const layer of data.layers) {
    layer.on = !layer.hidden
    const picture = new Image()
    picture.onload = () => { read(layer, picture); draw() }
    picture.src = 'data:image/png;base64,' + layer.sheet
    layer.sheet = null
  }

  const position = axis => (planes.find(p => p.normal === axis).at + .5) / size[axis] /* from 0 to 1 of what is shown */
  /* A layer's slice in a plane: its width and height, its last voxel, and the steps to the left and down. A layer may have
   * more voxels than another. */
  const slice = (plane, layer) => {
    const n = layer.size, stride = [1, n[0], n[0] * n[1]], left = stride[plane.across], below = stride[plane.down]
    const width = n[plane.across], height = n[plane.down], at = Math.floor((plane.at + .5) / plane.count * n[plane.normal])
    return {width, height, left, below, from: at * stride[plane.normal] + (width - 1) * left + (height - 1) * below}
  }

  /* ---- drawing ---- */
  const sheet = document.createElement('canvas'), sheetPen = sheet.getContext('2d', {willReadFrequently: true})
  const numbers = color => [1, 3, 5].map(at => parseInt(color.slice(at, at + 2), 16))
  const fill = (plane, layer, out) => { /* the pixels of a slice of an image, or of signed values above their threshold */
    const {voxels} = layer, last = layer.colors && layer.colors.length - 1, cut = slice(plane, layer)
    const colors = layer.colors && (layer.table ||= layer.colors.map(numbers))
    for (let y = 0, to = 0; y < cut.height; y++)
      for (let x = 0; x < cut.width; x++, to += 4) {
        const v = cut.from - x * cut.left - y * cut.below, value = voxels[v]
        out[to + 3] = 255
        if (layer.look === 'grey') {
          out[to] = out[to + 1] = out[to + 2] = value * bright
        } else if (layer.look === 'colour') {
          for (let c = 0; c < 3; c++) out[to + c] = voxels[3 * v + c] * bright
        } else if (value && Math.abs(2 * (value - 1) / last - 1) * layer.range >= layer.threshold - layer.range / last) {
          for (let c = 0; c < 3; c++) out[to + c] = colors[value - 1][c]
        } else {
          out[to + 3] = 0
        }
      }
  }
  const cells = (plane, layer, width, height) => { /* which label is at each point; of a contour 1 inside */
    const out = new Uint16Array(width * height), smooth = layer.look === 'contour', {voxels} = layer, cut = slice(plane, layer)
    const along = (n, pixels, step) => Array.from({length: pixels}, (_, i) => {
      const at = Math.min(Math.max((i + .5) / pixels * n - .5, 0), n - 1), low = smooth ? Math.floor(at) : Math.round(at)
      return [-low * step, -Math.min(low + 1, n - 1) * step, at - low]
    })
    const across = along(cut.width, width, cut.left), down = along(cut.height, height, cut.below), base = cut.from
    for (let row = 0, i = 0; row < height; row++) {
      const [y, below, v] = down[row], at = base + y, next = base + below
      for (let column = 0; column < width; column++, i++) {
        const [x, right, u] = across[column]
        out[i] = !smooth ? voxels[at + x] : (voxels[at + x] * (1 - u) + voxels[at + right] * u) * (1 - v) +
          (voxels[next + x] * (1 - u) + voxels[next + right] * u) * v < 127.5
      }
    }
    return out
  }
  /* Names of what is outlined at a share of the slice from its left and from its top. */
  const namesAt = (plane, x, y) => {
    const pixel = (share, n) => Math.min(Math.max(Math.floor(share * n), 0), n - 1)
    return over.filter(l => l.on && l.voxels && isOutline(l)).map(l => {
      const cut = slice(plane, l), value = l.voxels[cut.from - pixel(x, cut.width) * cut.left - pixel(y, cut.height) * cut.below]
      return l.labels[l.look === 'contour' ? +(value >= 128) : value - 1]
    }).filter(Boolean).map(label => label[0]).join(', ')
  }
  const outline = (plane, layer, width, height, out) => { /* a line in the colour of the larger label */
    const cell = cells(plane, layer, width, height), wide = Math.max(1, Math.round(devicePixelRatio || 1))
    layer.table ||= layer.labels.map(label => numbers(label[1]))
    for (let y = 0, i = 0; y < height; y++)
      for (let x = 0; x < width; x++, i++) {
        const here = cell[i], right = x + wide < width ? cell[i + wide] : here, below = y + wide < height ? cell[i + wide * width] : here
        const beyond = right !== here ? right : below
        if (beyond !== here) out.set([...layer.table[Math.max(here, beyond) - 1] || [200, 200, 200], 255], 4 * i)
      }
  }

  const drawLayer = (plane, layer, clip) => {
    const {canvas} = plane, to = canvas.getContext('2d')
    if (!layer.voxels || !canvas.width) return
    sheet.width = isOutline(layer) ? canvas.width : layer.size[plane.across]
    sheet.height = isOutline(layer) ? canvas.height : layer.size[plane.down]
    const pixels = new ImageData(sheet.width, sheet.height)
    if (isOutline(layer)) outline(plane, layer, sheet.width, sheet.height, pixels.data)
    else fill(plane, layer, pixels.data)
    sheetPen.putImageData(pixels, 0, 0)
    to.save()
    if (clip) {
      to.beginPath()
      to.rect(clip[0] * canvas.width, 0, (clip[1] - clip[0]) * canvas.width, canvas.height)
      to.clip()
    }
    if (layer.look === 'signed') to.globalAlpha = state.opacity
    to.imageSmoothingQuality = 'high'
    to.drawImage(sheet, 0, 0, canvas.width, canvas.height)
    to.restore()
  }

  const letters = [['R', 'L'], ['A', 'P'], ['S', 'I']]
  const mark = (plane, to) => {
    const {canvas} = plane, {width, height} = canvas, size = Math.max(11, 13 * (devicePixelRatio || 1))
    if (state.mode === 'swipe') {
      to.fillStyle = '#ffbe28'
      to.fillRect(state.split * width - 1, 0, 2, height)
    }
    if (state.cross) {
      to.fillStyle = 'rgba(80, 220, 255, .8)'
      to.fillRect((1 - position(plane.across)) * width - .5, 0, 1, height)
      to.fillRect(0, (1 - position(plane.down)) * height - .5, width, 1)
    }
    to.font = '600 ' + size + 'px system-ui, sans-serif'
    to.fillStyle = '#fff'
    to.strokeStyle = '#000'
    to.lineWidth = size / 5
    to.textBaseline = 'middle'
    const put = (text, x, y, align) => {
      to.textAlign = align
      to.strokeText(text, x, y)
      to.fillText(text, x, y)
    }
    put(letters[plane.across][0], 4, height / 2, 'left')
    put(letters[plane.across][1], width - 4, height / 2, 'right')
    put(letters[plane.down][0], width / 2, size * .8, 'center')
    put(letters[plane.down][1], width / 2, height - size * .7, 'center')
    if (state.mode === 'swipe') {
      put(images[state.shown].name, 4, size * .8, 'left')
      put(images[state.other].name, width - 4, size * .8, 'right')
    } else if (state.mode === 'flicker') {
      put(images[state.turn ? state.other : state.shown].name, 4, size * .8, 'left')
    }
  }

  const draw = () => {
    for (const plane of planes) {
      const {canvas} = plane, ratio = devicePixelRatio || 1, width = Math.round(canvas.clientWidth * ratio)
      if (width > 0 && canvas.width !== width) {
        canvas.width = width
        canvas.height = Math.max(1, Math.round(width / plane.shape))
      }
      const to = canvas.getContext('2d')
      to.fillStyle = '#000'
      to.fillRect(0, 0, canvas.width, canvas.height)
      if (state.mode === 'swipe') {
        drawLayer(plane, images[state.shown], [0, state.split])
        drawLayer(plane, images[state.other], [state.split, 1])
      } else {
        drawLayer(plane, images[state.mode === 'flicker' && state.turn ? state.other : state.shown])
      }
      for (const line of [false, true])
        for (const layer of over)
          if (layer.on && isOutline(layer) === line) drawLayer(plane, layer)
      mark(plane, to)
      const mm = (data.first[plane.normal] + plane.at * data.step[plane.normal]).toFixed(1).replace('-0.0', '0.0')
      plane.text.textContent = plane.name + ', ' + 'xyz'[plane.normal] + ' ' + mm + ' mm'
      plane.slider.value = plane.at
      plane.slider.setAttribute('aria-valuetext', plane.text.textContent)
      canvas.setAttribute('aria-label', plane.text.textContent)
    }
    const [axial] = planes, named = namesAt(axial, 1 - position(axial.across), 1 - position(axial.down))
    here.textContent = named ? 'Where the planes meet: ' + (named > 0 ? 'label ' : '') + named : ''
    for (const input of root.querySelectorAll('input[data-show]')) input.checked = +input.dataset.show === state.shown
    for (const input of root.querySelectorAll('input[data-mode]')) input.checked = input.dataset.mode === state.mode
    for (const input of root.querySelectorAll('input[data-over]')) input.checked = over[+input.dataset.over].on
    for (const input of root.querySelectorAll('input[data-cross]')) input.checked = state.cross
    for (const select of root.querySelectorAll('select')) select.value = state.other
  }

  /* ---- what the reader does ---- */
  let timer = 0
  const setMode = mode => {
    state.mode = mode
    state.turn = false
    clearInterval(timer)
    if (mode === 'flicker') timer = setInterval(() => { state.turn = !state.turn; draw() }, 700)
    draw()
  }
  const show = which => {
    if (which >= images.length) return
    if (which === state.other) state.other = images.length > 1 && state.shown !== which ? state.shown : (which + 1) % images.length
    state.shown = which
    draw()
  }
  const leaf = (plane, to) => {
    plane.at = Math.min(Math.max(Math.round(to), 0), plane.count - 1)
    draw()
  }
  const pass = (plane, event) => { /* the other planes follow to where the pointer is */
    const box = plane.canvas.getBoundingClientRect()
    const share = {[plane.across]: 1 - (event.clientX - box.left) / box.width, [plane.down]: 1 - (event.clientY - box.top) / box.height}
    for (const other of planes)
      if (other !== plane) leaf(other, share[other.normal] * other.count - .5)
  }
  const point = (plane, event) => {
    const box = plane.canvas.getBoundingClientRect()
    if (state.mode !== 'swipe') return pass(plane, event)
    state.split = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1)
    draw()
  }
  const hover = (plane, event) => {
    const box = plane.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top
    plane.tip.textContent = namesAt(plane, x / box.width, y / box.height)
    plane.tip.hidden = !plane.tip.textContent
    plane.tip.style.top = y + 'px'
    plane.tip.style[x < box.width / 2 ? 'left' : 'right'] = (x < box.width / 2 ? x : box.width - x) + 14 + 'px'
    plane.tip.style[x < box.width / 2 ? 'right' : 'left'] = 'auto'
  }
  const onKey = (plane, event) => {
    const steps = {ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 5, PageDown: -5, Home: -1e4, End: 1e4}
    const step = steps[event.key]
    if (!step) return
    if (state.mode === 'swipe' && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) {
      state.split = Math.min(Math.max(state.split + step * .05, 0), 1)
      draw()
    } else {
      leaf(plane, plane.at + step)
    }
    event.preventDefault()
  }
  root.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === 'SELECT') return
    const key = event.key.toLowerCase(), toggle = which => over.filter(which).forEach(l => { l.on = !l.on })
    if (key >= '1' && key <= '9') show(+key - 1)
    else if (key === 's' && images.length > 1) setMode(state.mode === 'swipe' ? 'one' : 'swipe')
    else if (key === 'f' && images.length > 1) setMode(state.mode === 'flicker' ? 'one' : 'flicker')
    else if (key === 'o') toggle(isOutline)
    else if (key === 'j') toggle(l => l.look === 'signed')
    else if (key === 'c') state.cross = !state.cross
    else return
    draw()
  })

  /* ---- the element ---- */
  const choice = (of, attributes) => { /* text, or a layer, of one colour or of several */
    const mark = make('span', {className: 'swatch', hidden: !of.labels || of.labels.length !== 1})
    if (!mark.hidden) mark.style.background = of.labels[0][1]
    return make('label', null, make('input', attributes), ' ', mark, of.name || of)
  }
  const group = (name, ...children) => make('fieldset', null, make('legend', null, name), ...children)
  const radio = (group, name, value, action) => ({type: 'radio', name: id + group, ['data-' + name]: value, onchange: action})
  const controls = make('div', {className: 'controls'})
  controls.append(group('Image', ...images.map((l, i) => choice(l.name, radio('a', 'show', i, () => show(i))))))
  if (images.length > 1) {
    const others = make('select', {onchange: event => { state.other = +event.target.value; draw() }},
      ...images.map((l, i) => make('option', {value: i}, l.name)))
    controls.append(group('Compare', ...[['one', 'off'], ['swipe', 'swipe'], ['flicker', 'flicker']].map(([mode, text]) =>
      choice(text, radio('m', 'mode', mode, () => setMode(mode)))), ...images.length > 2 ? [make('label', null, 'with ', others)] : []))
  }
  const overlays = over.map((l, i) => choice(l, {type: 'checkbox', 'data-over': i, onchange: () => { l.on = !l.on; draw() }}))
  overlays.push(choice('cross', {type: 'checkbox', 'data-cross': 1, onchange: () => { state.cross = !state.cross; draw() }}))
  controls.append(group('Overlays', ...overlays))
  for (const layer of over.filter(l => l.look === 'signed')) {
    const bar = make('span', {className: 'colors', role: 'img', 'aria-label': 'colours from -' + layer.range + ' to ' + layer.range})
    bar.style.background = 'linear-gradient(to right,' + layer.colors.join(',') + ')'
    const shown = make('span', null, String(+layer.threshold.toPrecision(3)))
    controls.append(group(layer.name, make('span', {className: 'scale'}, '-' + layer.range, bar, '+' + layer.range),
      make('label', null, 'opacity ', make('input', {type: 'range', min: 0, max: 1, step: .05, value: state.opacity,
        oninput: event => { state.opacity = +event.target.value; draw() }})),
      make('label', null, 'from \u00b1 ', make('input', {type: 'range', min: 0, max: layer.range, step: layer.range / 100,
        value: layer.threshold, 'data-threshold': 1, 'aria-label': 'hide values of ' + layer.name + ' below', oninput: event => {
          layer.threshold = +event.target.value
          shown.textContent = String(+layer.threshold.toPrecision(3))
          layer.on = true
          draw()
        }}), ' ', shown)))
  }
  const here = make('output', {className: 'here'})
  const row = make('div', {className: 'planes'})
  for (const plane of planes) {
    plane.canvas = make('canvas', {tabIndex: 0, role: 'img', width: size[plane.across], height: size[plane.down],
      onkeydown: event => onKey(plane, event)})
    plane.text = make('output', {htmlFor: id + plane.name})
    plane.slider = make('input', {type: 'range', id: id + plane.name, min: 0, max: plane.count - 1, step: 1, value: plane.at,
      'aria-label': plane.name + ' slice', oninput: event => leaf(plane, +event.target.value)})
    plane.canvas.addEventListener('pointerdown', event => { plane.canvas.setPointerCapture(event.pointerId); point(plane, event) })
    plane.tip = make('div', {className: 'tip', hidden: true})
    plane.canvas.addEventListener('pointermove', event => { if (event.buttons) point(plane, event); hover(plane, event) })
    plane.canvas.addEventListener('pointerleave', () => { plane.tip.hidden = true })
    plane.canvas.addEventListener('wheel', event => {
      if (document.activeElement !== plane.canvas || event.ctrlKey) return
      event.preventDefault()
      leaf(plane, plane.at - Math.sign(event.deltaY))
    }, {passive: false})
    const box = make('div', {className: 'plane'}, plane.canvas, plane.tip, plane.slider, plane.text)
    box.style.flexGrow = size[plane.across] * data.edge[plane.across] /* a millimetre is as long in all planes */
    row.append(box)
  }
  const stage = make('div', {className: 'stage'}, controls, row, ...over.some(isOutline) ? [here] : [], make('p', {className: 'light keys'},
    'Keys, after a click or Tab into the images: arrows for slices' + (images.length > 1 ? ', 1 and 2 for images, s swipe, f flicker' : '') +
    (over.some(isOutline) ? ', o outlines' : '') + (over.some(l => l.look === 'signed') ? ', j colours' : '') +
    ', c cross. A click moves the other planes there. The patient\u2019s left is on the right.'))
  root.append(stage)
  root.classList.add('live')
  new ResizeObserver(() => draw()).observe(row)
  draw()
}
for (const button of document.querySelectorAll('.command button')) {
  button.hidden = false
  button.addEventListener('click', async () => {
    const code = button.parentElement.querySelector('code')
    getSelection().selectAllChildren(code)
    try { await navigator.clipboard.writeText(code.textContent) } catch { document.execCommand('copy') }
    button.textContent = 'Copied'
  })
}
