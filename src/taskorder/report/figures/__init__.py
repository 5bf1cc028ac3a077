"""Charts as SVG text: numbers and a width in, markup out. Colors are classes, so that the page's style decides them."""
