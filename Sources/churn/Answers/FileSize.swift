/// How big a file is.
enum FileSize: Equatable, Sendable {
  case lines(Int)
  /// Some change of it was binary, so that its lines are not known.
  case binary
}

extension FileSize: CustomStringConvertible {
  var description: String {
    switch self {
    case .lines(let count): "\(count)"
    case .binary: "binary"
    }
  }
}

extension FileSize {
  /// The number of lines; null where they are not known.
  var json: JSONValue {
    switch self {
    case .lines(let count): .int(count)
    case .binary: .null
    }
  }
}
