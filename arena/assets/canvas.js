// Draws boards of many cells on a canvas. The server sends cells and marks as text: its modules
// `raster` and `canvas` describe the formats. A frame has the cells that changed since the frame before.
"use strict";

class CellBoard {
  // A canvas with a first frame in its data.
  constructor(canvas) {
    this.canvas = canvas;
    this.columns = Number(canvas.dataset.columns);
    this.rows = Number(canvas.dataset.rows);
    // Character codes, row by row from the top.
    this.cells = new Uint8Array(this.columns * this.rows).fill(".".charCodeAt(0));
    // Cells that changed since the last drawing.
    this.changed = [];
    // The board without marks.
    this.layer = document.createElement("canvas");
    canvas.hidden = false;
    this.apply(canvas.dataset.board);
    this.marks = canvas.dataset.marks;
    this.redraw();
    addEventListener("resize", () => this.redraw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  // Changes cells without drawing them.
  apply(text) {
    let cell = 0;
    for (const [, count, mark] of text.matchAll(/(\d*)(\D)/g)) {
      const end = cell + Number(count || 1);
      for (; mark !== " " && cell < end; cell++) {
        this.cells[cell] = mark.charCodeAt(0);
        this.changed.push(cell);
      }
      cell = end;
    }
  }

  // Draws the changed cells, and marks over the board.
  draw(marks) {
    this.marks = marks;
    this.paint(this.changed);
    this.changed = [];
    const context = this.canvas.getContext("2d");
    context.drawImage(this.layer, 0, 0);
    const { scale, ratio, colours } = this;
    // Marks of small cells are larger than a cell, and a border sets them off.
    const radius = Math.max(0.36 * scale, 3.5 * ratio);
    const border = scale < 8 ? 2.5 * ratio : 0;
    context.lineWidth = Math.max(0.14 * scale, 1.5 * ratio);
    context.strokeStyle = colours.ink;
    for (const [, cell, letter] of marks.matchAll(/(\d+)(\D)/g)) {
      const x = cell % this.columns, y = Math.floor(cell / this.columns);
      const seat = letter === letter.toUpperCase() ? 0 : 1;
      const circle = (size) => {
        context.beginPath();
        context.arc((x + 0.5) * scale, (y + 0.5) * scale, size, 0, 2 * Math.PI);
      };
      circle(radius + border);
      context.fillStyle = colours.line;
      if (border) context.fill();
      circle(radius);
      context.fillStyle = letter.toUpperCase() === "H" ? colours.seats[seat] : colours.board;
      context.fill();
      context.stroke();
    }
  }

  // Draws everything, in the size and the colours that the page has now.
  redraw() {
    const { canvas, layer, columns, rows } = this;
    const style = getComputedStyle(canvas);
    const colour = (name) => style.getPropertyValue(name).trim();
    this.colours = {
      board: colour("--board"), line: colour("--card"), wall: colour("--quiet"), ink: colour("--ink"),
      seats: [colour("--c0"), colour("--c1")],
    };
    // A cell has a whole number of pixels of the screen. It has three, which show how bodies run,
    // even if the board is then higher than the window.
    this.ratio = devicePixelRatio;
    const wide = Math.floor(canvas.parentElement.clientWidth * this.ratio / columns);
    const high = Math.floor(0.8 * innerHeight * this.ratio / rows);
    this.scale = Math.max(1, Math.min(wide, Math.max(3, high)));
    for (const element of [canvas, layer]) {
      element.width = columns * this.scale;
      element.height = rows * this.scale;
    }
    canvas.style.width = `${columns * this.scale / this.ratio}px`;
    // A board wider than the page is shrunk.
    canvas.style.imageRendering = wide < 1 ? "auto" : "pixelated";
    this.changed = [...this.cells.keys()];
    this.draw(this.marks);
  }

  // Paints cells on the layer: first the cells, then the links of bodies across the gaps between them.
  paint(list) {
    const { cells, columns, scale, colours } = this;
    const context = this.layer.getContext("2d");
    const gap = scale < 3 ? 0 : Math.max(1, Math.round(scale / 5));
    const low = Math.floor(gap / 2), high = gap - low, width = scale - gap;
    const lined = scale < 6 ? 0 : 1;
    const fill = (colour, ...rectangle) => {
      context.fillStyle = colour;
      context.fillRect(...rectangle);
    };
    for (const cell of list) {
      const x = cell % columns * scale, y = Math.floor(cell / columns) * scale;
      const mark = String.fromCharCode(cells[cell]);
      if (mark === "#") {
        fill(colours.wall, x, y, scale, scale);
        continue;
      }
      if (lined) fill(colours.line, x, y, scale, scale);
      fill(colours.board, x, y, scale - lined, scale - lined);
      if (mark !== ".") fill(colours.seats[mark < "a" ? 0 : 1], x + low, y + low, width, width);
    }
    for (const cell of gap ? list : []) {
      const mark = String.fromCharCode(cells[cell]);
      const side = "ABCDE".indexOf(mark.toUpperCase());
      if (side < 1) continue;
      const x = cell % columns * scale, y = Math.floor(cell / columns) * scale;
      const colour = colours.seats[mark < "a" ? 0 : 1];
      // B to E: the body came from above, from the right, from below, from the left.
      if (side === 1) fill(colour, x + low, y - high, width, gap);
      if (side === 2) fill(colour, x + scale - high, y + low, gap, width);
      if (side === 3) fill(colour, x + low, y + scale - high, width, gap);
      if (side === 4) fill(colour, x - high, y + low, gap, width);
    }
  }
}
