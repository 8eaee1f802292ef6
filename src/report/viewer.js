/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the images of a page live: slices, one image against another, what is laid over them. Each element has its data
 * beside it: the slices of a layer in a plane are one PNG, in rows of `columns`. */
'use strict'
for (const root of document.querySelectorAll('.viewer')) {
  const data = JSON.parse(root.querySelector('script').textContent)
  const images = data.layers.filter(l => l.look === 'image'), over = data.layers.filter(l => l.look !== 'image')
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

  /* ---- drawing ---- */
  for (const layer of data.layers) {
    layer.on = !layer.hidden
    layer.pictures = layer.sheets.map(sheet => {
      const picture = new Image()
      picture.onload = () => draw()
      picture.src = 'data:image/png;base64,' + sheet
      return picture
    })
    layer.sheets = null
  }

  const position = axis => { /* along R, A or S, from 0 to 1 of what is shown */
    const plane = data.planes.find(p => p.normal === axis)
    return plane.share[0] + plane.at * plane.share[1]
  }

  /* The slice of a signed layer without the colours of values below its threshold. */
  const scratch = document.createElement('canvas'), pen = scratch.getContext('2d', {willReadFrequently: true})
  const aboveThreshold = (layer, picture, left, top, width, height) => {
    const last = layer.colors.length - 1
    layer.sizes ||= new Map(layer.colors.map((color, k) => [parseInt(color.slice(1), 16), Math.abs(2 * k / last - 1) * layer.range]))
    scratch.width = width
    scratch.height = height
    pen.drawImage(picture, left, top, width, height, 0, 0, width, height)
    const pixels = pen.getImageData(0, 0, width, height), d = pixels.data
    for (let i = 0; i < d.length; i += 4)
      if (d[i + 3] && layer.sizes.get(d[i] << 16 | d[i + 1] << 8 | d[i + 2]) < layer.threshold - layer.range / last) d[i + 3] = 0
    pen.putImageData(pixels, 0, 0)
    return scratch
  }

  const drawLayer = (plane, layer, clip) => {
    const picture = layer.pictures[data.planes.indexOf(plane)], canvas = plane.canvas, to = canvas.getContext('2d')
    if (!picture.complete || !picture.naturalWidth) return
    const fine = picture.naturalWidth / (plane.width * plane.columns), width = plane.width * fine, height = plane.height * fine
    to.save()
    if (clip) {
      to.beginPath()
      to.rect(clip[0] * canvas.width, 0, (clip[1] - clip[0]) * canvas.width, canvas.height)
      to.clip()
    }
    if (layer.look === 'signed') to.globalAlpha = state.opacity
    to.imageSmoothingQuality = 'high'
    const left = plane.at % plane.columns * width, top = Math.floor(plane.at / plane.columns) * height
    if (layer.threshold > 0)
      to.drawImage(aboveThreshold(layer, picture, left, top, width, height), 0, 0, canvas.width, canvas.height)
    else
      to.drawImage(picture, left, top, width, height, 0, 0, canvas.width, canvas.height)
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
    for (const plane of data.planes) {
      const {canvas} = plane, ratio = devicePixelRatio || 1, width = Math.round(canvas.clientWidth * ratio)
      if (width > 0 && canvas.width !== width) {
        canvas.width = width
        canvas.height = Math.round(width * plane.height / plane.width)
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
      for (const look of ['signed', 'outlines'])
        for (const layer of over)
          if (layer.on && layer.look === look) drawLayer(plane, layer)
      mark(plane, to)
      const mm = (plane.mm[0] + plane.at * plane.mm[1]).toFixed(1).replace('-0.0', '0.0')
      plane.text.textContent = plane.name + ', ' + 'xyz'[plane.normal] + ' ' + mm + ' mm'
      plane.slider.value = plane.at
      plane.slider.setAttribute('aria-valuetext', plane.text.textContent)
      canvas.setAttribute('aria-label', plane.text.textContent)
    }
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
    for (const other of data.planes)
      if (other !== plane) leaf(other, (share[other.normal] - other.share[0]) / other.share[1])
  }
  const point = (plane, event) => {
    const box = plane.canvas.getBoundingClientRect()
    if (state.mode !== 'swipe') return pass(plane, event)
    state.split = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1)
    draw()
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
    const key = event.key.toLowerCase(), toggle = look => over.filter(l => l.look === look).forEach(l => { l.on = !l.on })
    if (key >= '1' && key <= '9') show(+key - 1)
    else if (key === 's' && images.length > 1) setMode(state.mode === 'swipe' ? 'one' : 'swipe')
    else if (key === 'f' && images.length > 1) setMode(state.mode === 'flicker' ? 'one' : 'flicker')
    else if (key === 'o') toggle('outlines')
    else if (key === 'j') toggle('signed')
    else if (key === 'c') state.cross = !state.cross
    else return
    draw()
  })

  /* ---- the element ---- */
  const choice = (text, attributes) => make('label', null, make('input', attributes), ' ' + text)
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
  const overlays = over.map((l, i) => choice(l.name, {type: 'checkbox', 'data-over': i, onchange: () => { l.on = !l.on; draw() }}))
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
  const planes = make('div', {className: 'planes'})
  for (const plane of data.planes) {
    plane.at = plane.start
    plane.canvas = make('canvas', {tabIndex: 0, role: 'img', width: plane.width, height: plane.height,
      onkeydown: event => onKey(plane, event)})
    plane.text = make('output', {htmlFor: id + plane.name})
    plane.slider = make('input', {type: 'range', id: id + plane.name, min: 0, max: plane.count - 1, step: 1, value: plane.at,
      'aria-label': plane.name + ' slice', oninput: event => leaf(plane, +event.target.value)})
    plane.canvas.addEventListener('pointerdown', event => { plane.canvas.setPointerCapture(event.pointerId); point(plane, event) })
    plane.canvas.addEventListener('pointermove', event => { if (event.buttons) point(plane, event) })
    plane.canvas.addEventListener('wheel', event => {
      if (document.activeElement !== plane.canvas || event.ctrlKey) return
      event.preventDefault()
      leaf(plane, plane.at - Math.sign(event.deltaY))
    }, {passive: false})
    const box = make('div', {className: 'plane'}, plane.canvas, plane.slider, plane.text)
    box.style.flexGrow = plane.width /* a millimetre is as long in all planes */
    planes.append(box)
  }
  const stage = make('div', {className: 'stage'}, controls, planes, make('p', {className: 'light keys'},
    'Keys, after a click or Tab into the images: arrows for slices' + (images.length > 1 ? ', 1 and 2 for images, s swipe, f flicker' : '') +
    (over.some(l => l.look === 'outlines') ? ', o outlines' : '') + (over.some(l => l.look === 'signed') ? ', j colours' : '') +
    ', c cross. A click moves the other planes there. The patient\u2019s left is on the right.'))
  root.append(stage)
  root.classList.add('live')
  new ResizeObserver(() => draw()).observe(planes)
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
