import BenchmarkSupport

/// The result of a row's rounds, as printed.
struct Finding: Sendable {
  let path: String
  let floor: String
  let unit: String
  let bound: Double
  let median: Double
  let firstQuartile: Double
  let thirdQuartile: Double
  let met: Bool
  /// The medians, in nanoseconds per action; nil where the bound is absolute.
  let subjectNanoseconds: Double?
  let floorNanoseconds: Double?

  init(_ row: Row, _ samples: [Sample]) {
    let quartiles = Quartiles(samples.map(row.bound.value(of:)))
    path = row.path
    floor = row.floor
    unit = row.bound.unit
    bound = row.bound.limit
    median = quartiles.median
    firstQuartile = quartiles.first
    thirdQuartile = quartiles.third
    met = quartiles.median <= row.bound.limit
    let floors = samples.compactMap(\.floor)
    let hasFloor = !floors.isEmpty
    subjectNanoseconds = hasFloor ? Quartiles(samples.map(\.subject)).median : nil
    floorNanoseconds = hasFloor ? Quartiles(floors).median : nil
  }
}
