/// The highest median that a row may have.
enum Bound: Sendable {
  /// So many times its floor.
  case times(Double)
  /// So many times its floor, and a fixed time.
  case timesPlus(Double, nanoseconds: Double)
  case seconds(Double)
  case bytes(Double)

  var limit: Double {
    switch self {
    case .times(let limit), .timesPlus(let limit, _), .seconds(let limit), .bytes(let limit): limit
    }
  }

  var unit: String {
    switch self {
    case .times: "×"
    case .timesPlus(_, let nanoseconds): "× + \(Int(nanoseconds)) ns"
    case .seconds: "s"
    case .bytes: "B"
    }
  }

  /// What is compared with the limit: with a fixed time, the ratio of what is beyond that.
  func value(of sample: Sample) -> Double {
    if case .timesPlus(_, let nanoseconds) = self, let floor = sample.floor {
      return max(0, sample.subject - nanoseconds) / floor
    }
    return sample.value
  }
}
