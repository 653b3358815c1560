() => {
  // Relative luminance and contrast as WCAG 2.2 defines them; grounds that let others through are laid over each other.
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const parse = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = ([r, g, b]) => {
    const linear = [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const ground = (element) => (element ? over(parse(getComputedStyle(element).backgroundColor), ground(element.parentElement)) : [255, 255, 255, 1]);
  const texts = [...document.querySelectorAll("body *")].filter(
    (one) => one.checkVisibility({ opacityProperty: true }) && !one.closest("svg, .unseen, .skip, script, option") && [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()),
  );
  return texts.flatMap((one) => {
    const below = ground(one);
    const [a, b] = [light(over(parse(getComputedStyle(one).color), below)), light(below)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    return ratio < 4.5 ? [`${ratio.toFixed(2)} ${one.tagName}.${one.className} ${one.textContent.slice(0, 40)}`] : [];
  });
};
