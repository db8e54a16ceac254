import BenchmarkSupport
import Foundation

/// The page that shows the figures, and the plots beside it.
struct Page {
  private static let begin = "<!-- plots: begin -->"
  private static let end = "<!-- plots: end -->"

  private let file: URL
  private let plots: URL

  init(folder: String) {
    let folder = URL(fileURLWithPath: folder, isDirectory: true)
    file = folder.appendingPathComponent("Benchmarks.md")
    plots = folder.appendingPathComponent("benchmarks", isDirectory: true)
  }

  /// Whether the results could be written.
  func check() throws(PageError) {
    _ = try parts()
    do {
      try FileManager.default.createDirectory(at: plots, withIntermediateDirectories: true)
    } catch {
      throw PageError("can't make '\(plots.relativePath)': \(error.localizedDescription)")
    }
  }

  /// Replaces the plots, and the text between the page's comments.
  func write(
    _ results: [ModeResult], _ comparisons: [ComparisonResult], options: Options
  ) throws(PageError) {
    // Scaled to the medians, so that one disturbed round, which a band may show, does not flatten all curves.
    let times = Scale.decades(
      around: results.flatMap(\.latencies).flatMap { [$0.p50.median, $0.p999.median] })
    for result in results {
      let file = plots.appendingPathComponent("\(result.mode.fileName).svg")
      try write(Figure(result, times: times).file, to: file)
    }
    for result in comparisons {
      let file = plots.appendingPathComponent("\(result.comparison.fileName).svg")
      try write(ComparisonFigure(result).file, to: file)
    }
    let (before, after) = try parts()
    let tables = Tables(results, comparisons, options: options).text
    try write(before + Self.begin + "\n\n" + tables + "\n" + Self.end + after, to: file)
  }

  /// The page's text before and after the part that is replaced; empty without a page.
  private func parts() throws(PageError) -> (before: Substring, after: Substring) {
    guard FileManager.default.fileExists(atPath: file.path) else { return ("", "\n") }
    guard let text = try? String(contentsOf: file, encoding: .utf8) else {
      throw PageError("can't read '\(file.relativePath)'")
    }
    guard let begin = text.range(of: Self.begin),
      let end = text.range(of: Self.end, range: begin.upperBound..<text.endIndex)
    else {
      throw PageError("'\(file.relativePath)' lacks '\(Self.begin)' and then '\(Self.end)'")
    }
    return (text[..<begin.lowerBound], text[end.upperBound...])
  }

  private func write(_ text: String, to file: URL) throws(PageError) {
    do {
      try Data(text.utf8).write(to: file, options: .atomic)
    } catch {
      throw PageError("can't write '\(file.relativePath)': \(error.localizedDescription)")
    }
  }
}
