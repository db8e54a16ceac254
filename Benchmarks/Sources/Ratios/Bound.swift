/// The highest median that a row may have.
enum Bound: Sendable {
  /// So many times its floor.
  case times(Double)
  case seconds(Double)
  case bytes(Double)

  var limit: Double {
    switch self {
    case .times(let limit), .seconds(let limit), .bytes(let limit): limit
    }
  }

  var unit: String {
    switch self {
    case .times: "×"
    case .seconds: "s"
    case .bytes: "B"
    }
  }
}
