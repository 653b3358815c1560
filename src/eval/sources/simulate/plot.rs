//! Line charts as SVG: no font but the viewer's own, no script, the same bytes for the same numbers.

use std::fmt::Write;

/// A line of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// As the legend names it.
    pub name: String,
    /// Points from left to right.
    pub points: Vec<(f64, f64)>,
}

/// A chart of lines over a common x axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Above the plot.
    pub title: String,
    /// Below the x axis.
    pub x: String,
    /// Beside the y axis.
    pub y: String,
    /// The y axis begins and ends here.
    pub range: (f64, f64),
    /// At most [`COLOURS`] of them.
    pub series: Vec<Series>,
}

/// Width and height of the picture; the plot's left, top, right and bottom edges in it.
const SIZE: (f64, f64) = (640.0, 380.0);
const EDGES: (f64, f64, f64, f64) = (60.0, 40.0, 455.0, 325.0);
/// One a series: distinguished by colour, by the marker's shape and by the dashes.
const STYLES: [(&str, &str); 6] = [
    ("#0b5fa5", ""),
    ("#c1440e", "6 3"),
    ("#2e7d32", "2 2"),
    ("#6a1b9a", "8 3 2 3"),
    ("#795548", "1 3"),
    ("#111111", "10 4"),
];
/// Most series that a chart can show.
pub const COLOURS: usize = STYLES.len();
/// Steps of the y axis.
const STEPS: usize = 5;

impl Chart {
    /// The chart as an SVG document.
    #[must_use]
    pub fn svg(&self) -> String {
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"13\" \
             role=\"img\" aria-label=\"{}\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
            SIZE.0,
            SIZE.1,
            escaped(&self.title)
        );
        let (left, top, right, bottom) = EDGES;
        self.label(&mut text, (left, 22.0), "start", &self.title, " font-weight=\"bold\"");
        self.label(&mut text, ((left + right) / 2.0, SIZE.1 - 14.0), "middle", &self.x, "");
        let turned = format!(" transform=\"rotate(-90 18 {0})\"", (top + bottom) / 2.0);
        self.label(&mut text, (18.0, (top + bottom) / 2.0), "middle", &self.y, &turned);
        for step in 0..=STEPS {
            let value = self.range.0 + (self.range.1 - self.range.0) * step as f64 / STEPS as f64;
            let y = self.down(value);
            line(&mut text, (left, y), (right, y), "#dddddd");
            self.label(&mut text, (left - 8.0, y + 4.0), "end", &format!("{value:.2}"), "");
        }
        for x in self.ticks() {
            let at = self.across(x);
            line(&mut text, (at, bottom), (at, bottom + 5.0), "#333333");
            let shown = if x.fract() == 0.0 { format!("{x:.0}") } else { format!("{x:.2}") };
            self.label(&mut text, (at, bottom + 20.0), "middle", &shown, "");
        }
        line(&mut text, (left, bottom), (right, bottom), "#333333");
        for (index, series) in self.series.iter().enumerate() {
            self.draw(&mut text, series, index);
        }
        text + "</svg>\n"
    }

    /// Every x that any series has, in order.
    fn ticks(&self) -> Vec<f64> {
        let mut all: Vec<f64> =
            self.series.iter().flat_map(|series| series.points.iter().map(|point| point.0)).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    }

    fn across(&self, x: f64) -> f64 {
        let ticks = self.ticks();
        let (first, last) = (ticks.first().copied().unwrap_or(0.0), ticks.last().copied().unwrap_or(1.0));
        let share = if last > first { (x - first) / (last - first) } else { 0.5 };
        EDGES.0 + 12.0 + share * (EDGES.2 - EDGES.0 - 24.0)
    }

    fn down(&self, y: f64) -> f64 {
        let share = (y.clamp(self.range.0, self.range.1) - self.range.0) / (self.range.1 - self.range.0);
        EDGES.3 - share * (EDGES.3 - EDGES.1)
    }

    fn draw(&self, text: &mut String, series: &Series, index: usize) {
        let (colour, dashes) = STYLES[index % COLOURS];
        let points: Vec<(f64, f64)> = series.points.iter().map(|&(x, y)| (self.across(x), self.down(y))).collect();
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let style = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"");
        push(text, format_args!("<polyline points=\"{}\" {style}/>\n", path.join(" ")));
        let legend = (EDGES.2 + 20.0, EDGES.1 + 14.0 + 24.0 * index as f64);
        points.iter().for_each(|&at| marker(text, at, index, colour));
        push(
            text,
            format_args!(
                "<line x1=\"{0:.1}\" y1=\"{2:.1}\" x2=\"{1:.1}\" y2=\"{2:.1}\" {style}/>\n",
                legend.0,
                legend.0 + 26.0,
                legend.1
            ),
        );
        marker(text, (legend.0 + 13.0, legend.1), index, colour);
        self.label(text, (legend.0 + 33.0, legend.1 + 4.0), "start", &series.name, "");
    }

    fn label(&self, text: &mut String, at: (f64, f64), anchor: &str, words: &str, more: &str) {
        push(
            text,
            format_args!(
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\"{more}>{}</text>\n",
                at.0,
                at.1,
                escaped(words)
            ),
        );
    }
}

fn marker(text: &mut String, (x, y): (f64, f64), index: usize, colour: &str) {
    match index % 3 {
        0 => push(text, format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>\n")),
        1 => push(
            text,
            format_args!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"6.4\" height=\"6.4\" fill=\"{colour}\"/>\n",
                x - 3.2,
                y - 3.2
            ),
        ),
        _ => push(text, format_args!("<path d=\"M{:.1} {:.1}l4.2 7.4h-8.4z\" fill=\"{colour}\"/>\n", x, y - 4.6)),
    }
}

fn line(text: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    push(
        text,
        format_args!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>\n",
            from.0, from.1, to.0, to.1
        ),
    );
}

fn push(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a string takes all that is written (bug)");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
