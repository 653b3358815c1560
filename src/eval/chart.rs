//! Charts as SVG by plotters: points with their intervals.
//!
//! Colours are attributes of the elements; a page's style replaces them where the page is dark.

use crate::error::{MootError, Result};
use crate::eval::stats::Estimate;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use std::ops::Range;
use std::path::Path;

/// Width and height of a chart in a page.
const SIZE: (u32, u32) = (440, 290);
/// Width and height of a picture, and the width of the legend in it.
const PICTURE: (u32, u32) = (640, 380);
const LEGEND: u32 = 190;
const GRID: RGBColor = RGBColor(0xe4, 0xe4, 0xe0);
const AXIS: RGBColor = RGBColor(0x8a, 0x8a, 0x84);
const TEXT: RGBColor = RGBColor(0x55, 0x55, 0x50);
/// One a series; the ninth series has the first one's again, with another marker.
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Its position on the x axis.
    pub x: f64,
    /// Its position on the y axis.
    pub y: Estimate,
}

/// A line of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Chooses the colour and the marker.
    pub index: usize,
    /// From left to right; joined by a line where there are several.
    pub points: Vec<Point>,
}

/// The x axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Whole numbers; intervals at one of them are drawn beside each other.
    Levels,
    /// Any numbers.
    Linear,
    /// Positive numbers.
    Logarithmic,
}

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Label of the x axis.
    pub x: String,
    /// Label of the y axis.
    pub y: String,
    /// The x axis. Unless it is logarithmic, its labels are at the points' values.
    pub scale: Scale,
    /// The end of the y axis, which begins at 0; `None` for shares: at least 0.2, at most 1.
    pub top: Option<f64>,
    /// Whether the line is drawn on which y is x in percent.
    pub diagonal: bool,
    /// Each drawn above the one before.
    pub series: Vec<Series>,
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

    /// The chart as an element of a page, without the legend.
    ///
    /// # Errors
    /// [`MootError::Io`] where plotters cannot draw (a bug).
    pub fn svg(&self) -> Result<String> {
        let text = drawn(SIZE, |root| self.draw(root, None))?;
        // Hidden from screen readers: the page around it has the numbers as a table.
        let size = format!("width=\"{}\" height=\"{}\" ", SIZE.0, SIZE.1);
        Ok(text.replacen(&size, "aria-hidden=\"true\" focusable=\"false\" ", 1))
    }

    /// The chart as a file of its own, with a title and a legend of `names`, one a series.
    ///
    /// # Errors
    /// As [`Self::svg`].
    pub fn picture(&self, title: &str, names: &[&str]) -> Result<String> {
        drawn(PICTURE, |root| {
            root.fill(&WHITE)?;
            for (number, (series, name)) in self.series.iter().zip(names).enumerate() {
                let (x, y) = ((PICTURE.0 - LEGEND + 16) as i32, 60 + 24 * number as i32);
                mark(root, (x, y), series.index)?;
                root.draw(&Text::new(*name, (x + 14, y - 8), font(16)))?;
            }
            self.draw(root, Some(title))
        })
    }

    /// Draws axes and series; with a title, room for a legend stays free on the right.
    fn draw<'a>(&self, root: &Area<'a>, title: Option<&str>) -> Drawn<'a> {
        let levels = self.levels();
        let (first, last) = (levels.first().copied().unwrap_or(0.0), levels.last().copied().unwrap_or(1.0));
        let ends = self.at(last) - self.at(first);
        let margin = match self.scale {
            Scale::Levels => 0.35,
            Scale::Linear => 0.04 * ends,
            // Room for two labels at least: they are at most 0.4 apart.
            Scale::Logarithmic => f64::max(0.12, (0.9 - ends) / 2.0),
        };
        let (left, right) = (self.at(first) - margin, self.at(last) + margin);
        let logarithmic = self.scale == Scale::Logarithmic;
        let ticks: Vec<f64> = if logarithmic { decimal_ticks(left, right) } else { thinned(&levels, 9) };
        let top = self.top();
        let mut builder = ChartBuilder::on(root);
        builder.margin_top(12).margin_right(14).margin_left(6).x_label_area_size(50).y_label_area_size(54);
        if let Some(title) = title {
            builder.caption(title, font(18)).margin_right(LEGEND);
        }
        let mut context = builder.build_cartesian_2d(Axis { inner: (left..right).into(), ticks }, 0.0..top)?;
        context
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(AXIS)
            .label_style(font(18))
            .axis_desc_style(font(18))
            .x_desc(&self.x)
            .y_desc(&self.y)
            .y_labels(6)
            .x_label_formatter(&|x| if logarithmic { short(10f64.powf(*x)) } else { short(*x) })
            .y_label_formatter(&|y| format!("{y:.1}"))
            .draw()?;
        if self.diagonal {
            let ends = [left.max(0.0), right.min(100.0)].map(|x| (x, x / 100.0));
            context.draw_series(LineSeries::new(ends, AXIS.stroke_width(1)))?;
        }
        for (number, series) in self.series.iter().enumerate() {
            self.series(root, &mut context, number, series)?;
        }
        Ok(())
    }

    /// Draws the line, the intervals and the markers of one series.
    fn series<'a>(&self, root: &Area<'a>, context: &mut Context<'_, 'a>, number: usize, series: &Series) -> Drawn<'a> {
        let count = self.series.len() as f64;
        let aside = (number as f64 - (count - 1.0) / 2.0) * (0.4 / count.max(4.0));
        let across = |x: f64| if self.scale == Scale::Levels { x + aside } else { self.at(x) };
        let colour = COLOURS[series.index % COLOURS.len()];
        let points: Vec<(f64, Estimate)> = series.points.iter().map(|p| (across(p.x), p.y)).collect();
        context.draw_series(LineSeries::new(points.iter().map(|(x, y)| (*x, y.mean)), colour.stroke_width(2)))?;
        context.draw_series(points.iter().map(|(x, y)| {
            ErrorBar::new_vertical(*x, y.low, y.mean.clamp(y.low, y.high), y.high, colour.stroke_width(1), 6)
        }))?;
        points.iter().try_for_each(|(x, y)| mark(root, context.backend_coord(&(*x, y.mean)), series.index))
    }

    /// A value's position on the x axis.
    fn at(&self, x: f64) -> f64 {
        if self.scale == Scale::Logarithmic { x.max(1.0).log10() } else { x }
    }

    /// The end of the y axis.
    fn top(&self) -> f64 {
        let highest =
            self.series.iter().flat_map(|series| &series.points).map(|point| point.y.high).fold(0.2, f64::max);
        self.top.unwrap_or_else(|| ((highest * 5.0).ceil() / 5.0).clamp(0.2, 1.0))
    }
}

/// The picture of this size that `draw` draws, as SVG.
fn drawn(size: (u32, u32), draw: impl for<'a> FnOnce(&Area<'a>) -> Drawn<'a>) -> Result<String> {
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
    let done = draw(&root).and_then(|()| root.present());
    done.map_err(|e| MootError::io(Path::new("a chart"), "draw", std::io::Error::other(e.to_string())))?;
    drop(root);
    Ok(text)
}

fn font(size: i32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&TEXT)
}

/// Draws the marker of a series, which distinguishes it for readers who cannot tell the colours apart.
fn mark<'a>(root: &Area<'a>, at: (i32, i32), index: usize) -> Drawn<'a> {
    let colour = COLOURS[index % COLOURS.len()];
    match shape(index) {
        0 => root.draw(&Circle::new(at, 5, colour.filled())),
        1 => root.draw(&(EmptyElement::at(at) + Rectangle::new([(-4, -4), (4, 4)], colour.filled()))),
        2 => root.draw(&TriangleMarker::new(at, 6, colour.filled())),
        _ => root.draw(&Cross::new(at, 5, colour.stroke_width(3))),
    }
}

/// Which of the four markers a series has.
fn shape(index: usize) -> usize {
    // Eight colours are a multiple of four markers: without the shift a colour would always have the same one.
    (index + index / COLOURS.len()) % 4
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
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

/// "12", "0.25", "1.5k", "20k".
pub(crate) fn short(number: f64) -> String {
    let plain = |number: f64| {
        if (number - number.round()).abs() < 0.05 { format!("{number:.0}") } else { format!("{number:.1}") }
    };
    match number {
        0.0..0.95 => format!("{}", (number * 100.0).round() / 100.0),
        999.5.. => format!("{}k", plain(number / 1000.0)),
        _ => plain(number),
    }
}

/// The marker of a series as an SVG element, for legends of a page.
pub(crate) fn legend(index: usize) -> String {
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
