//! Figures of the papers, drawn from our numbers.

use super::beside::Beside;
use super::table::{Column, Figure, PaperTable};
use crate::eval::chart::{Chart, Point, Scale, Series};
use crate::eval::metrics::{Metric, Unit};
use crate::eval::stats::Estimate;

/// A chart with the names of its lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// The end of the file's name: "-ramdocs-f1", or nothing where a figure is one chart.
    pub suffix: String,
    /// What it shows.
    pub title: String,
    /// The chart; shares are from 0 to 1.
    pub chart: Chart,
    /// One name a line.
    pub names: Vec<&'static str>,
}

/// The charts of `table` from our numbers in `all`; none where it has no figure or nothing is measured.
#[must_use]
pub fn drawn(table: &PaperTable, all: &[Beside]) -> Vec<Drawn> {
    let charts = match &table.figure {
        None => Vec::new(),
        Some(Figure::Rows { x, lines }) => {
            table.columns.iter().map(|column| of_rows(table, all, x, lines, column)).collect()
        }
        Some(Figure::Columns { x, y, at }) => vec![of_columns(table, all, x, y, at)],
        Some(Figure::Pair) => match table.columns {
            [across, upwards, ..] => vec![pair(table, all, across, upwards)],
            _ => Vec::new(),
        },
    };
    charts.into_iter().filter(|drawn| !drawn.names.is_empty()).collect()
}

/// Our number of a row and a column, on the chart's scale.
fn found(all: &[Beside], row: &str, column: &Column) -> Option<Estimate> {
    let ours = all.iter().find(|one| one.name == row && one.column == column.label)?.ours?;
    let scale = if is_share(column) { column.scale } else { 1.0 };
    Some(Estimate { mean: ours.mean / scale, low: ours.low / scale, high: ours.high / scale, ..ours })
}

fn is_share(column: &Column) -> bool {
    Metric::named(column.metric).is_some_and(|metric| metric.unit == Unit::Share)
}

/// Lines with their points, without those that have none.
fn with_points(lines: impl Iterator<Item = (&'static str, Vec<Point>)>) -> (Vec<&'static str>, Vec<Series>) {
    let lines = lines.filter(|(_, points)| !points.is_empty()).enumerate();
    lines.map(|(index, (name, points))| (name, Series { index, points })).unzip()
}

/// The end of the y axis: none for shares, above the largest value for counts.
fn top(columns: &[Column], series: &[Series]) -> Option<f64> {
    let highest = series.iter().flat_map(|series| &series.points).map(|point| point.y.high).fold(0.0, f64::max);
    (!columns.iter().all(is_share)).then(|| (highest * 1.1).max(1.0))
}

fn of_rows(
    table: &PaperTable,
    all: &[Beside],
    x: &str,
    lines: &'static [(&'static str, &'static [(f64, &'static str)])],
    column: &'static Column,
) -> Drawn {
    let points = |rows: &[(f64, &str)]| {
        rows.iter().filter_map(|(x, row)| Some(Point { x: *x, y: found(all, row, column)? })).collect()
    };
    let (names, series) = with_points(lines.iter().map(|(name, rows)| (*name, points(rows))));
    let top = top(std::slice::from_ref(column), &series);
    Drawn {
        suffix: format!("-{}", slug(column.label)),
        title: table.about.to_owned(),
        chart: Chart {
            x: x.to_owned(),
            y: column.label.to_owned(),
            scale: Scale::Levels,
            top,
            diagonal: false,
            series,
        },
        names,
    }
}

fn of_columns(table: &PaperTable, all: &[Beside], x: &str, y: &str, at: &[f64]) -> Drawn {
    let points = |row: &str| {
        let columns = at.iter().zip(table.columns);
        columns.filter_map(|(x, column)| Some(Point { x: *x, y: found(all, row, column)? })).collect()
    };
    let (names, series) = with_points(table.rows.iter().map(|row| (row.label, points(row.name))));
    let top = top(table.columns, &series);
    Drawn {
        suffix: String::new(),
        title: table.about.to_owned(),
        chart: Chart { x: x.to_owned(), y: y.to_owned(), scale: Scale::Levels, top, diagonal: false, series },
        names,
    }
}

fn pair(table: &PaperTable, all: &[Beside], across: &'static Column, upwards: &'static Column) -> Drawn {
    let point = |row: &str| Some(Point { x: found(all, row, across)?.mean, y: found(all, row, upwards)? });
    let (names, series) =
        with_points(table.rows.iter().map(|row| (row.label, point(row.name).into_iter().collect::<Vec<_>>())));
    let top = top(std::slice::from_ref(upwards), &series);
    Drawn {
        suffix: String::new(),
        title: table.about.to_owned(),
        chart: Chart {
            x: across.label.to_owned(),
            y: upwards.label.to_owned(),
            scale: Scale::Linear,
            top,
            diagonal: false,
            series,
        },
        names,
    }
}

/// A label as a part of a file's name: "RAMDocs Acc." is "ramdocs-acc".
fn slug(label: &str) -> String {
    let words = label.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}
