//! Charts as SVG by plotters: points with intervals over levels or over a logarithmic scale.
//!
//! Colours are attributes of the elements; the page's style replaces them where the page is dark. The only texts inside are
//! numbers and labels of axes written here; the names of records stand in the legend beside the chart.

use crate::error::{MootError, Result};
use crate::eval::stats::Estimate;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use std::ops::Range;
use std::path::Path;

/// Width and height of a chart.
const SIZE: (u32, u32) = (440, 290);
const GRID: RGBColor = RGBColor(0xe4, 0xe4, 0xe0);
const AXIS: RGBColor = RGBColor(0x8a, 0x8a, 0x84);
const TEXT: RGBColor = RGBColor(0x55, 0x55, 0x50);
/// One a record; the ninth record has the first one's again, with another marker.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x0b, 0x5f, 0xa5),
    RGBColor(0xc1, 0x44, 0x0e),
    RGBColor(0x1b, 0x7f, 0x5c),
    RGBColor(0x8e, 0x44, 0xad),
    RGBColor(0x9a, 0x6b, 0x00),
    RGBColor(0xc2, 0x18, 0x5b),
    RGBColor(0x45, 0x5a, 0x64),
    RGBColor(0x00, 0x78, 0x82),
];

/// A point with its interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: Estimate,
}

/// The points of one record.
#[derive(Debug, Clone)]
pub(super) struct Series {
    /// Chooses the colour and the marker.
    pub(super) index: usize,
    /// From left to right; joined by a line where there are several.
    pub(super) points: Vec<Point>,
}

/// A chart of shares.
#[derive(Debug, Clone)]
pub(super) struct Chart {
    pub(super) x: String,
    pub(super) y: String,
    /// The x axis is logarithmic; else it has the points' own values as levels.
    pub(super) logarithmic: bool,
    /// Whether the line is drawn on which y is x in percent.
    pub(super) diagonal: bool,
    pub(super) series: Vec<Series>,
}

impl Chart {
    /// The levels that any series has, in order.
    fn levels(&self) -> Vec<f64> {
        let mut all: Vec<f64> =
            self.series.iter().flat_map(|series| series.points.iter().map(|point| point.x)).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    }

    /// The chart as an SVG element.
    ///
    /// # Errors
    /// [`MootError::Io`] where plotters cannot draw (a bug).
    pub(super) fn svg(&self) -> Result<String> {
        let mut text = String::new();
        self.draw(SVGBackend::with_string(&mut text, SIZE))
            .map_err(|e| MootError::io(Path::new("a chart"), "draw", std::io::Error::other(e)))?;
        // The file is one element of a page that says what it shows.
        let size = format!("width=\"{}\" height=\"{}\" ", SIZE.0, SIZE.1);
        Ok(text.replacen(&size, "aria-hidden=\"true\" focusable=\"false\" ", 1))
    }

    fn draw(&self, backend: SVGBackend<'_>) -> std::result::Result<(), String> {
        let wrong = |e: &dyn std::fmt::Display| e.to_string();
        let levels = self.levels();
        let (first, last) = (levels.first().copied().unwrap_or(0.0), levels.last().copied().unwrap_or(1.0));
        let ends = self.at(last) - self.at(first);
        // A logarithmic axis has room for two labels at least: they are at most 0.4 apart.
        let margin = if self.logarithmic { f64::max(0.12, (0.9 - ends) / 2.0) } else { 0.35 };
        let (left, right) = (self.at(first) - margin, self.at(last) + margin);
        let ticks: Vec<f64> = if self.logarithmic { decimal_ticks(left, right) } else { thinned(&levels, 9) };
        let top = self.top();
        let area = backend.into_drawing_area();
        let mut context = ChartBuilder::on(&area)
            .margin_top(12)
            .margin_right(14)
            .x_label_area_size(50)
            .y_label_area_size(54)
            .build_cartesian_2d(Axis { inner: (left..right).into(), ticks }, 0.0..top)
            .map_err(|e| wrong(&e))?;
        let font = ("sans-serif", 18).into_font().color(&TEXT);
        context
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(AXIS)
            .label_style(font.clone())
            .axis_desc_style(font)
            .x_desc(&self.x)
            .y_desc(&self.y)
            .y_labels(6)
            .x_label_formatter(&|x| if self.logarithmic { short(10f64.powf(*x)) } else { short(*x) })
            .y_label_formatter(&|y| format!("{y:.1}"))
            .draw()
            .map_err(|e| wrong(&e))?;
        if self.diagonal {
            let ends = [left.max(0.0), right.min(100.0)].map(|x| (x, x / 100.0));
            context.draw_series(LineSeries::new(ends, AXIS.stroke_width(1))).map_err(|e| wrong(&e))?;
        }
        for (number, series) in self.series.iter().enumerate() {
            self.series(&mut context, number, series).map_err(|e| wrong(&e))?;
        }
        area.present().map_err(|e| wrong(&e))
    }

    /// Draws the line, the intervals and the markers of one record.
    fn series<'a>(&self, context: &mut Context<'_, 'a>, number: usize, series: &Series) -> Drawn<'a> {
        let count = self.series.len() as f64;
        // Intervals at one level stand beside each other.
        let aside = (number as f64 - (count - 1.0) / 2.0) * (0.4 / count.max(4.0));
        let across = |x: f64| if self.logarithmic { self.at(x) } else { x + aside };
        let colour = COLOURS[series.index % COLOURS.len()];
        let points: Vec<(f64, Estimate)> = series.points.iter().map(|p| (across(p.x), p.y)).collect();
        context.draw_series(LineSeries::new(points.iter().map(|(x, y)| (*x, y.mean)), colour.stroke_width(2)))?;
        context.draw_series(points.iter().map(|(x, y)| {
            ErrorBar::new_vertical(*x, y.low, y.mean.clamp(y.low, y.high), y.high, colour.stroke_width(1), 6)
        }))?;
        let at = points.iter().map(|(x, y)| (*x, y.mean));
        // The marker distinguishes records too, for readers who cannot tell the colours apart.
        match shape(series.index) {
            0 => context.draw_series(at.map(|at| Circle::new(at, 5, colour.filled()))).map(drop),
            1 => {
                let square = || Rectangle::new([(-4, -4), (4, 4)], colour.filled());
                context.draw_series(at.map(|at| EmptyElement::at(at) + square())).map(drop)
            }
            2 => context.draw_series(at.map(|at| TriangleMarker::new(at, 6, colour.filled()))).map(drop),
            _ => context.draw_series(at.map(|at| Cross::new(at, 5, colour.stroke_width(3)))).map(drop),
        }
    }

    /// A value's position on the x axis.
    fn at(&self, x: f64) -> f64 {
        if self.logarithmic { x.max(1.0).log10() } else { x }
    }

    /// The end of the y axis: at least 0.2, at most 1.
    fn top(&self) -> f64 {
        let highest =
            self.series.iter().flat_map(|series| &series.points).map(|point| point.y.high).fold(0.2, f64::max);
        ((highest * 5.0).ceil() / 5.0).clamp(0.2, 1.0)
    }
}

/// Which of the four markers a record has.
fn shape(index: usize) -> usize {
    (index + index / COLOURS.len()) % 4
}

type Context<'c, 'a> = ChartContext<'c, SVGBackend<'a>, Cartesian2d<Axis, RangedCoordf64>>;
type Drawn<'a> = std::result::Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// A linear axis with labels at chosen values.
struct Axis {
    inner: RangedCoordf64,
    ticks: Vec<f64>,
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.inner.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.inner.range()
    }
}

/// 1, 2 and 5 times powers of ten between two logarithms; the powers alone over more than three of them.
fn decimal_ticks(left: f64, right: f64) -> Vec<f64> {
    let factors: &[f64] = if right - left > 2.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let powers = left.floor() as i32..=right.ceil() as i32;
    let all = powers.flat_map(|power| factors.iter().map(move |factor| factor.log10() + f64::from(power)));
    all.filter(|tick| (left..=right).contains(tick)).collect()
}

/// Every n-th level, so that at most `most` have a label.
fn thinned(levels: &[f64], most: usize) -> Vec<f64> {
    levels.iter().step_by(levels.len().div_ceil(most).max(1)).copied().collect()
}

/// "12", "1.5k", "20k".
pub(super) fn short(number: f64) -> String {
    let plain = |number: f64| {
        if (number - number.round()).abs() < 0.05 { format!("{number:.0}") } else { format!("{number:.1}") }
    };
    if number >= 999.5 { format!("{}k", plain(number / 1000.0)) } else { plain(number) }
}

/// The marker of a record as an SVG element, for legends.
pub(super) fn legend(index: usize) -> String {
    let RGBColor(r, g, b) = COLOURS[index % COLOURS.len()];
    let colour = format!("#{r:02X}{g:02X}{b:02X}");
    let shape = match shape(index) {
        0 => format!("<circle cx=\"8\" cy=\"8\" r=\"5\" fill=\"{colour}\"/>"),
        1 => format!("<rect x=\"3.5\" y=\"3.5\" width=\"9\" height=\"9\" fill=\"{colour}\"/>"),
        2 => format!("<polygon points=\"8,2 14,13 2,13\" fill=\"{colour}\"/>"),
        _ => format!("<path d=\"M4 4l8 8M12 4l-8 8\" stroke-width=\"3\" fill=\"none\" stroke=\"{colour}\"/>"),
    };
    format!("<svg class=\"key\" viewBox=\"0 0 16 16\" aria-hidden=\"true\" focusable=\"false\">{shape}</svg>")
}
